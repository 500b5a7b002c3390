//! One suite a port: a list of promises by name, the same list for every
//! implementation. A broken promise is a panic that names it.
//!
//! ```no_run
//! # async fn example() {
//! use std::sync::Arc;
//! use oxikit_core::ports::contract::{self, STREAM_STORE};
//! use oxikit_core::ports::memory::MemoryStreams;
//!
//! // All promises on one store,
//! contract::stream_store(Arc::new(MemoryStreams::default())).await;
//! // or each on a store of its own, with a line such as
//! // `memory  a_write_may_be_made_again  ok`.
//! contract::each("memory", STREAM_STORE, async || Arc::new(MemoryStreams::default()) as _).await;
//! # }
//! ```

mod bus;
mod sessions;
mod streams;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::{EventBus, Retention, SessionStore, StoreError, StreamStore};

pub use bus::EVENT_BUS;
pub use sessions::SESSION_STORE;
pub use streams::STREAM_STORE;

/// A promise of a port. It is checked on a store that is empty, or that has been
/// used by other cases, one after another.
#[derive(Debug)]
pub struct Case<Port: ?Sized> {
    name: &'static str,
    check: fn(Arc<Port>) -> BoxFuture<'static, ()>,
}

impl<Port: ?Sized> Case<Port> {
    /// What is promised.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Checks it.
    ///
    /// # Panics
    ///
    /// If the promise is broken.
    pub async fn check(&self, implementation: Arc<Port>) {
        (self.check)(implementation).await;
    }
}

/// The functions as a list of cases of the same names.
macro_rules! cases {
    ($($function:path),+ $(,)?) => {
        &[$($crate::ports::contract::Case {
            name: $crate::ports::contract::last_name(stringify!($function)),
            check: |implementation| Box::pin($function(implementation)),
        }),+]
    };
}
use cases;

/// What follows the last colon of a path.
const fn last_name(path: &'static str) -> &'static str {
    let mut from = path.len();
    while from > 0 && path.as_bytes()[from - 1] != b':' {
        from -= 1;
    }
    path.split_at(from).1.trim_ascii()
}

/// Checks all of [`EVENT_BUS`] on one bus. Subjects used begin with `contract.`.
///
/// # Panics
///
/// If a promise is broken.
pub async fn event_bus(bus: Arc<dyn EventBus>) {
    for case in EVENT_BUS {
        case.check(bus.clone()).await;
    }
}

/// Checks all of [`SESSION_STORE`] on one store. It should be empty, as what it
/// has may be pruned.
///
/// # Panics
///
/// If a promise is broken.
pub async fn session_store(store: Arc<dyn SessionStore>) {
    for case in SESSION_STORE {
        case.check(store.clone()).await;
    }
}

/// Checks that a session store prunes itself while it is open, and leaves alone what is
/// in use. `open` makes an empty store with this retention among its options.
///
/// # Panics
///
/// If a promise is broken.
pub async fn retention_in_background(open: impl AsyncFn(Retention) -> Arc<dyn SessionStore>) {
    sessions::retention::in_background(open).await;
}

/// Checks that a session store prunes itself after a restart, without a write, and goes on
/// when another process that did so ends. `open` opens the same sessions every time; at
/// first there are none.
///
/// # Panics
///
/// If a promise is broken.
pub async fn retention_after_restart(open: impl AsyncFn(Retention) -> Arc<dyn SessionStore>) {
    sessions::retention::after_restart(open).await;
}

/// Checks all of [`STREAM_STORE`] on one store. Ids used begin with `contract-`.
///
/// # Panics
///
/// If a promise is broken.
pub async fn stream_store(store: Arc<dyn StreamStore>) {
    for case in STREAM_STORE {
        case.check(store.clone()).await;
    }
}

/// Checks each case on what `make` makes for it, and prints a line for each. Those
/// of one name are run by filtering the list.
///
/// # Panics
///
/// After the last case, with the names of the promises that are broken.
#[expect(clippy::print_stdout, reason = "the list is for whoever runs the tests")]
pub async fn each<'a, Port: ?Sized + 'static>(
    kind: &str,
    cases: impl IntoIterator<Item = &'a Case<Port>>,
    make: impl AsyncFn() -> Arc<Port>,
) {
    let mut broken = Vec::new();
    for case in cases {
        let check = AssertUnwindSafe(case.check(make().await));
        let is_kept = check.catch_unwind().await.is_ok();
        println!("{kind}  {}  {}", case.name, if is_kept { "ok" } else { "BROKEN" });
        if !is_kept {
            broken.push(case.name);
        }
    }
    assert!(broken.is_empty(), "{kind} breaks {}", broken.join(", "));
}

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
