//! The manager, with scripted runtimes.

mod hostile;
mod kit;
mod registration;
mod runs;
