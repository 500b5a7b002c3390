//! Integration tests of the library.

mod evaluate;
mod generate;
mod middleware;
mod offline;
mod operation;
mod prompt;
mod resource;
mod retrieval;
