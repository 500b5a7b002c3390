//! Integration tests of the library.

mod generate;
