//! Test helpers of several crates: managers and developer tools on free ports, and runtimes
//! whose messages are written by the test.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(missing_docs, missing_debug_implementations, reason = "for tests only")]

mod agents;
pub mod manager;
pub mod pages;
pub mod tools;
