//! The manager, with scripted runtimes.

mod discovery;
mod hostile;
pub(crate) mod kit;
mod pair;
pub(crate) mod recordings;
mod registration;
mod runs;
