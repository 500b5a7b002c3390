//! The manager, with scripted runtimes.

mod kit;
mod registration;
mod runs;
