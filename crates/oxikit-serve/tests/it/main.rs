//! Integration tests of the server.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod a2a;
mod agents;
mod agents_api;
mod durable;
mod exact_values;
mod failures;
mod faults;
mod foreign_ids;
mod gates;
mod hostile;
#[cfg(feature = "jwt")]
mod jwt;
mod keys;
mod kit;
mod load;
mod log;
mod openapi;
mod operations;
mod protocol;
#[cfg(feature = "dev-tools")]
mod reflection_v1;
#[cfg(feature = "dev-tools")]
mod reflection_v2;
mod smuggling;
mod stream_positions;
