//! The SQLite store.

mod contract;
