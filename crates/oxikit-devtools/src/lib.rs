//! The developer tools, as a library: what the `oxikit` command is made of.

pub mod manager;
pub mod server;
