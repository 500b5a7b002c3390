//! The stores against the contracts of their ports, and what only a database can
//! get wrong.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod model;
#[cfg(feature = "sqlite")]
mod odd_files;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod player;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "sqlite")]
mod project;
mod revisions;
#[cfg(feature = "sqlite")]
mod sqlite;
mod tasks;
