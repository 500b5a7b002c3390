//! Stores and a bus inside of the process, for tests and development. What they
//! keep is gone with the process; everything is bounded.

mod bus;
mod sessions;
mod streams;

pub use bus::MemoryBus;
pub use sessions::{MemorySessionOptions, MemorySessions};
pub use streams::{MemoryStreamOptions, MemoryStreams};

/// Locks plain data that is whole after every statement, so that a panic
/// elsewhere does not spoil it.
fn lock<T>(mutex: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
