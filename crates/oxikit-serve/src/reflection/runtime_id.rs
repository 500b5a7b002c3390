//! Ids of runtimes: one process may hold several applications.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

static TAKEN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// An id that no other runtime of this process has while this is kept.
#[derive(Debug)]
pub(super) struct RuntimeId(String);

impl RuntimeId {
    /// The id that is wanted, or `<wanted>-<n>` if there is one by that name.
    pub(super) fn claim(wanted: &str) -> Self {
        let mut taken = taken();
        let numbered = (1..).map(|n| format!("{wanted}-{n}"));
        let mut ids = std::iter::once(wanted.to_owned()).chain(numbered);
        let free = ids.find(|id| !taken.contains(id)).expect("not all numbers are taken");
        taken.insert(free.clone());
        Self(free)
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl Drop for RuntimeId {
    fn drop(&mut self) {
        taken().remove(&self.0);
    }
}

fn taken() -> MutexGuard<'static, BTreeSet<String>> {
    TAKEN.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_numbered_and_free_again() {
        let first = RuntimeId::claim("unit-test");
        let second = RuntimeId::claim("unit-test");
        let third = RuntimeId::claim("unit-test");
        let ids = [&first, &second, &third].map(RuntimeId::as_str);
        assert_eq!(ids, ["unit-test", "unit-test-1", "unit-test-2"]);
        drop(second);
        assert_eq!(RuntimeId::claim("unit-test").as_str(), "unit-test-1");
        drop(first);
        assert_eq!(RuntimeId::claim("unit-test").as_str(), "unit-test");
    }
}
