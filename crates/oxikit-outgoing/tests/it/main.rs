//! The client against servers of this machine: a canary that no request may reach, and servers
//! that may be reached.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod dns;
mod exceptions;
mod forms;
mod limits;
mod peer;
mod proxy;
mod redirects;
mod url_forms;
