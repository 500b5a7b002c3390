//! Integration tests of the gRPC binding.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod hostile;
mod recordings;
