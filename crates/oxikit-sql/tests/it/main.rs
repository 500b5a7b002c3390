//! The stores against the contracts of their ports, and what only a database can
//! get wrong.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "sqlite")]
mod sqlite;
#[cfg(feature = "sqlite")]
mod traces;
