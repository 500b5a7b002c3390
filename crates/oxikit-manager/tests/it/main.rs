//! The manager, with scripted runtimes.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "these are no tools")]

mod discovery;
mod hostile;
pub(crate) mod pair;
pub(crate) mod recordings;
mod registration;
mod runs;
