//! The manager, with scripted runtimes.

mod discovery;
mod hostile;
pub(crate) mod kit;
mod recordings;
mod registration;
mod runs;
