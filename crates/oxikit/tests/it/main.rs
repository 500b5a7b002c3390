//! Integration tests of the library.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod agents;
mod evaluate;
mod file_sessions;
mod generate;
mod middleware;
mod mistakes;
mod notices;
mod offline;
mod operation;
mod prompt;
mod resource;
mod retrieval;
