//! The `oxikit` command, as a process of its own.

mod kit;
mod start;
mod usage;
mod watch;
