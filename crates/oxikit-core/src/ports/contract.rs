//! One suite a port. An implementation makes an empty store and passes it; a
//! broken promise is a panic that names it.
//!
//! ```no_run
//! # async fn example() {
//! use std::sync::Arc;
//! use oxikit_core::ports::{contract, memory::MemoryStreams};
//!
//! contract::stream_store(Arc::new(MemoryStreams::default())).await;
//! # }
//! ```

mod bus;
mod sessions;
mod streams;

pub use bus::event_bus;
pub use sessions::session_store;
pub use streams::stream_store;

use super::StoreError;

/// Unwraps with the promise that was broken.
#[track_caller]
fn kept<T>(promise: &str, result: Result<T, StoreError>) -> T {
    result.unwrap_or_else(|error| panic!("broken promise: {promise}: {error}"))
}

/// The failure, or a panic with the promise that was broken.
#[track_caller]
fn failed<T>(promise: &str, result: Result<T, StoreError>) -> StoreError {
    match result {
        Ok(_) => panic!("broken promise: {promise}"),
        Err(error) => error,
    }
}
