//! The exporters, against servers that listen.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod application;
mod away;
mod batches;
mod collector;
mod logs;
#[cfg(feature = "otlp")]
mod otlp;
mod raw_server;
mod shapes;
