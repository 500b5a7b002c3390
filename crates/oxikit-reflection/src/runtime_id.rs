//! Ids of runtimes that are unique in this process, which may contain several applications.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The ids of all runtimes of this process. Managers identify a runtime by its id, so two with
/// the same one would replace each other.
static TAKEN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// An id that no other runtime of this process gets until this is dropped.
#[derive(Debug)]
pub(super) struct RuntimeId(String);

impl RuntimeId {
    /// Reserves the id `wanted`, or `<wanted>-<n>` if it is in use.
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
