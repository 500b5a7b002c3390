//! The telemetry port and the traces of the API.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "tests may print and read files"
)]

mod access;
mod api;
mod follow;
mod forms;
mod kit;
mod load;
mod otlp;
mod replay;
mod secrets;
mod store;
