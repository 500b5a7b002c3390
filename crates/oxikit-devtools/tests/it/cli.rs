//! The `oxikit` command, as a process of its own.

mod advice;
mod approvals;
mod demo;
mod eval;
mod hostile;
mod hostile_files;
mod kit;
mod mcp;
mod mcp_kit;
mod planted;
mod repair;
mod sessions;
mod start;
mod unread;
mod usage;
mod watch;
