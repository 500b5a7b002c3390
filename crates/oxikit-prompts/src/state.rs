//! What all parts of an open library share: options, store, index, registry and the feed of changes.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use oxikit_core::ports::{Revision, RevisionStore, StoreError};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::changes::ChangeFeed;
use crate::directories::Registry;
use crate::index::Index;
use crate::options::PromptsOptions;
use crate::requests::RevisionName;

/// Size of the front matter in bytes that a file may have beside its content.
const MAX_FRONT_MATTER: usize = 64 << 10;

/// The shared state of an open library. Its locks are held for moments only.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) options: PromptsOptions,
    pub(crate) store: Arc<dyn RevisionStore>,
    pub(crate) changes: ChangeFeed,
    /// Cancelled when the library is closed.
    pub(crate) stop: CancellationToken,
    /// All tasks of the library.
    pub(crate) tracker: TaskTracker,
    index: RwLock<Arc<Index>>,
    registry: RwLock<Arc<Registry>>,
    /// Held while the registry and its file are changed.
    registry_change: Mutex<()>,
    /// The keys of documents whose files were not written yet when the process before was killed.
    unwritten: Mutex<BTreeSet<String>>,
}

impl State {
    pub(crate) fn new(
        options: PromptsOptions,
        store: Arc<dyn RevisionStore>,
        registry: Registry,
    ) -> Self {
        Self {
            options,
            store,
            changes: ChangeFeed::new(),
            stop: CancellationToken::new(),
            tracker: TaskTracker::new(),
            index: RwLock::default(),
            registry: RwLock::new(Arc::new(registry)),
            registry_change: Mutex::default(),
            unwritten: Mutex::default(),
        }
    }

    /// All documents as they are now.
    pub(crate) fn index(&self) -> Arc<Index> {
        self.index.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Changes the index.
    pub(crate) fn change_index<T>(&self, change: impl FnOnce(&mut Index) -> T) -> T {
        let mut index = self.index.write().unwrap_or_else(PoisonError::into_inner);
        change(Arc::make_mut(&mut index))
    }

    /// The revision that a number or a label names.
    pub(crate) async fn revision(
        &self,
        key: &str,
        name: &RevisionName,
    ) -> Result<Option<Revision>, StoreError> {
        let number = match name {
            RevisionName::Number(number) => Some(*number),
            RevisionName::Label(label) => self.store.labels(key).await?.get(label).copied(),
        };
        match number {
            Some(number) => self.store.revision(key, number).await,
            None => Ok(None),
        }
    }

    /// The registered directories as they are now.
    pub(crate) fn registry(&self) -> Arc<Registry> {
        self.registry.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Changes the registered directories, unless `change` fails. It may write the registry file, so
    /// that two changes at the same time do not overwrite each other; callers are on a thread for
    /// such work.
    pub(crate) fn change_registry<T, E>(
        &self,
        change: impl FnOnce(&mut Registry) -> Result<T, E>,
    ) -> Result<T, E> {
        let _alone = self.registry_change.lock().unwrap_or_else(PoisonError::into_inner);
        let mut changed = Registry::clone(&self.registry());
        let result = change(&mut changed)?;
        *self.registry.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(changed);
        Ok(result)
    }

    /// The keys of documents whose files were not written yet.
    pub(crate) fn unwritten(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.unwritten.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Maximum size of a file in bytes.
    pub(crate) fn max_file(&self) -> usize {
        self.options.max_content.saturating_add(MAX_FRONT_MATTER)
    }
}
