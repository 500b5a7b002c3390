//! The server of the developer tools, over HTTP.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "tests may print and read files"
)]

mod a2a;
mod agents;
mod attacks;
mod bridge;
mod evaluations;
mod events;
mod large_lists;
mod openapi;
mod ports;
mod recordings;
mod resume;
mod runs;
mod senders;
mod sessions;
mod sign_in;
mod smuggling;
mod storage;
mod trpc;
mod trpc_evaluations;
