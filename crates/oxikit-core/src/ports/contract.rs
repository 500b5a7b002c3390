//! One test suite for each port: a list of named promises, the same for every
//! implementation. A broken promise is a panic that names it. Only tests use this module.
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

mod early_answers;
mod notifier;
mod project;
mod revisions;
mod sessions;
mod streams;
mod tasks;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::{
    Notifier, ProjectStore, Retention, RevisionStore, SessionStore, StoreError, StreamStore,
    TaskStore,
};

pub use early_answers::EarlyAnswers;
pub use notifier::NOTIFIER;
pub use project::PROJECT_STORE;
pub use revisions::REVISION_STORE;
pub use sessions::SESSION_STORE;
pub use streams::STREAM_STORE;
pub use tasks::TASK_STORE;

/// A promise of a port. It is checked on a store that is empty, or that has been
/// used by other cases, one after another.
#[derive(Debug)]
pub struct Case<Port: ?Sized> {
    name: &'static str,
    check: fn(Arc<Port>) -> BoxFuture<'static, ()>,
}

impl<Port: ?Sized> Case<Port> {
    /// The promise, as the name of its test function.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Checks the promise on this implementation.
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

/// The last segment of a path, such as `c` of `a::b::c`.
const fn last_name(path: &'static str) -> &'static str {
    let mut from = path.len();
    while from > 0 && path.as_bytes()[from - 1] != b':' {
        from -= 1;
    }
    path.split_at(from).1.trim_ascii()
}

/// Checks all of [`NOTIFIER`] on one notifier that has no other subscribers.
///
/// # Panics
///
/// If a promise is broken.
pub async fn notifier(notifier: Arc<dyn Notifier>) {
    for case in NOTIFIER {
        case.check(notifier.clone()).await;
    }
}

/// Checks that each of two notifiers, which stand for two processes, receives what the
/// other one publishes.
///
/// # Panics
///
/// If a promise is broken.
pub async fn connected_notifiers(one: Arc<dyn Notifier>, other: Arc<dyn Notifier>) {
    notifier::connected(one, other).await;
}

/// Checks all of [`PROJECT_STORE`] on one store. Kinds used begin with `contract.`.
///
/// # Panics
///
/// If a promise is broken.
pub async fn project_store(store: Arc<dyn ProjectStore>) {
    for case in PROJECT_STORE {
        case.check(store.clone()).await;
    }
}

/// Checks all of [`REVISION_STORE`] on one store, which has no documents of these tests yet: their
/// names begin with `contract`, are empty or have the maximum length.
///
/// # Panics
///
/// If a promise is broken.
pub async fn revision_store(store: Arc<dyn RevisionStore>) {
    for case in REVISION_STORE {
        case.check(store.clone()).await;
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

/// Checks all of [`TASK_STORE`] on one store. It should be empty, as what it has may be pruned.
///
/// # Panics
///
/// If a promise is broken.
pub async fn task_store(store: Arc<dyn TaskStore>) {
    for case in TASK_STORE {
        case.check(store.clone()).await;
    }
}

/// Compares a task store with a plain model: random work, and every answer, of each of these
/// seeds.
///
/// # Panics
///
/// If an answer is another one, with the seed.
pub async fn task_store_model(store: Arc<dyn TaskStore>, seeds: std::ops::Range<u64>) {
    tasks::model::check_seeds(store, seeds).await;
}

/// Checks each case on a new implementation from `make`, and prints a line for each. To run one
/// case only, filter the list by [`Case::name`].
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
