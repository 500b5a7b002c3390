//! The manager, with scripted runtimes.

mod discovery;
mod hostile;
mod kit;
mod recordings;
mod registration;
mod runs;
