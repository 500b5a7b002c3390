//! The developer tools, as a library: what the `oxikit` command is made of.

#[cfg(unix)]
mod app;
#[cfg(unix)]
pub mod cli;
#[cfg(unix)]
mod console;
#[cfg(unix)]
mod demo;
mod evaluation;
mod local_url;
pub mod manager;
mod private_file;
#[cfg(unix)]
mod project;
pub mod server;
pub mod telemetry;
#[cfg(unix)]
mod terminal;
mod untrusted_file;
