//! Integration tests of `Action`, `Run`, `Status`, `Registry` and the ports.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod bidi;
mod calls;
mod cancellation;
mod chat;
mod json_patch;
mod memory_sessions;
mod memory_tasks;
mod nesting;
mod panics;
mod payloads;
mod ports;
mod proven;
mod recorder;
mod refusals;
mod registry;
mod schemas;
mod spans;
mod status;
mod stream_readers;
mod streams;
mod toy_agent;
