//! The library and its servers, from the outside.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod crash;
mod external;
mod http_expansion;
mod http_kit;
mod http_rest;
mod http_server;
mod http_socket;
mod kit;
mod limits;
mod live;
mod plain;
mod random;
mod renaming;
mod safety;
mod saving;
mod shared;
