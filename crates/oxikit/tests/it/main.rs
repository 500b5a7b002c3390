//! Integration tests of the library.

mod generate;
mod evaluate;
mod operation;
mod resource;
mod retrieval;
