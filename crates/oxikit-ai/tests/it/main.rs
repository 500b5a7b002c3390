//! Integration tests of the library.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod agents;
mod build;
mod evaluate;
mod file_sessions;
mod flow;
mod generate;
mod middleware;
mod mistakes;
mod notices;
mod offline;
mod operation;
mod prompt;
mod prompt_source;
mod resource;
mod retrieval;
