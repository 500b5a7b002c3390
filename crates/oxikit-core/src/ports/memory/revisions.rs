//! The revision logs of documents in memory.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;

use super::lock;
use crate::ports::{
    DocumentHead, LocalNotifier, NewRevision, Notifier, Revision, RevisionInfo, RevisionStore,
    StoreError, all_revisions_topic, check_revision_name, revision_topic,
};

/// A [`RevisionStore`] inside of the process, for tests: its logs are lost when the process ends.
pub struct MemoryRevisions {
    logs: Mutex<BTreeMap<String, Log>>,
    notifier: Arc<dyn Notifier>,
}

/// The log of a document.
#[derive(Default)]
struct Log {
    /// The revision with number `n` is at `n - 1`.
    revisions: Vec<Revision>,
    labels: BTreeMap<String, u64>,
}

impl Log {
    fn newest(&self) -> u64 {
        self.revisions.len() as u64
    }

    /// The newest applied revision. `NewRevision::number_all` lets no log begin without one.
    fn current(&self) -> Option<&Revision> {
        self.revisions.iter().rev().find(|revision| revision.info.is_applied)
    }

    fn revision(&self, number: u64) -> Option<&Revision> {
        let place = usize::try_from(number.checked_sub(1)?).ok()?;
        self.revisions.get(place)
    }
}

impl MemoryRevisions {
    /// An empty store that publishes changes by this notifier.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use oxikit_core::ports::LocalNotifier;
    /// use oxikit_core::ports::memory::MemoryRevisions;
    ///
    /// let store = MemoryRevisions::with_notifier(Arc::new(LocalNotifier::default()));
    /// ```
    pub fn with_notifier(notifier: Arc<dyn Notifier>) -> Self {
        Self { logs: Mutex::default(), notifier }
    }

    /// Reads the log of a document, if there is one.
    fn with<T>(&self, document: &str, read: impl FnOnce(&Log) -> T) -> Option<T> {
        lock(&self.logs).get(document).map(read)
    }

    /// Publishes changes of these documents. Called without the lock.
    fn publish(&self, documents: &[&str]) {
        documents.iter().for_each(|document| self.notifier.publish(revision_topic(document)));
        self.notifier.publish(all_revisions_topic());
    }
}

impl Default for MemoryRevisions {
    fn default() -> Self {
        Self::with_notifier(Arc::new(LocalNotifier::default()))
    }
}

#[async_trait]
impl RevisionStore for MemoryRevisions {
    async fn append(
        &self,
        document: &str,
        expected: u64,
        revisions: Vec<NewRevision>,
    ) -> Result<Vec<RevisionInfo>, StoreError> {
        check_revision_name(document)?;
        let revisions = NewRevision::number_all(expected, revisions)?;
        let infos = revisions.iter().map(|revision| revision.info.clone()).collect();
        {
            let mut logs = lock(&self.logs);
            if logs.get(document).map_or(0, Log::newest) != expected {
                return Err(StoreError::Conflict(document.to_owned()));
            }
            logs.entry(document.to_owned()).or_default().revisions.extend(revisions);
        }
        self.publish(&[document]);
        Ok(infos)
    }

    async fn head(&self, document: &str) -> Result<Option<(u64, Revision)>, StoreError> {
        let head = self.with(document, |log| Some((log.newest(), log.current()?.clone())));
        Ok(head.flatten())
    }

    async fn revision(&self, document: &str, number: u64) -> Result<Option<Revision>, StoreError> {
        Ok(self.with(document, |log| log.revision(number).cloned()).flatten())
    }

    async fn log(
        &self,
        document: &str,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Vec<RevisionInfo>, StoreError> {
        let page = self.with(document, |log| {
            let infos = log.revisions.iter().rev().map(|revision| &revision.info);
            let earlier = infos.filter(|info| before.is_none_or(|before| info.number < before));
            earlier.take(limit).cloned().collect()
        });
        Ok(page.unwrap_or_default())
    }

    async fn find_op(
        &self,
        document: &str,
        op: &str,
        since: i64,
    ) -> Result<Option<RevisionInfo>, StoreError> {
        let found = self.with(document, |log| {
            let mut infos = log.revisions.iter().rev().map(|revision| &revision.info);
            infos.find(|info| info.op.as_deref() == Some(op)).cloned()
        });
        Ok(found.flatten().filter(|info| info.at >= since))
    }

    async fn documents(&self) -> Result<Vec<DocumentHead>, StoreError> {
        let head = |(document, log): (&String, &Log)| {
            let current = log.current()?.info.clone();
            Some(DocumentHead { document: document.clone(), newest: log.newest(), current })
        };
        Ok(lock(&self.logs).iter().filter_map(head).collect())
    }

    async fn rename(
        &self,
        from: &str,
        to: &str,
        expected: u64,
        revision: NewRevision,
    ) -> Result<RevisionInfo, StoreError> {
        check_revision_name(to)?;
        let mut revisions = NewRevision::number_all(expected, vec![revision])?;
        let info = revisions[0].info.clone();
        {
            let mut logs = lock(&self.logs);
            let log = logs.get(from).ok_or_else(|| StoreError::NotFound(from.to_owned()))?;
            if log.newest() != expected {
                return Err(StoreError::Conflict(from.to_owned()));
            }
            if logs.contains_key(to) {
                return Err(StoreError::Exists(to.to_owned()));
            }
            if let Some(mut log) = logs.remove(from) {
                log.revisions.append(&mut revisions);
                logs.insert(to.to_owned(), log);
            }
        }
        self.publish(&[from, to]);
        Ok(info)
    }

    async fn set_label(
        &self,
        document: &str,
        label: &str,
        number: Option<u64>,
    ) -> Result<(), StoreError> {
        check_revision_name(label)?;
        let is_changed = {
            let mut logs = lock(&self.logs);
            let log = logs.get_mut(document);
            match (number, log) {
                (None, log) => log.is_some_and(|log| log.labels.remove(label).is_some()),
                (Some(number), Some(log)) if log.revision(number).is_some() => {
                    log.labels.insert(label.to_owned(), number);
                    true
                }
                (Some(number), _) => {
                    return Err(StoreError::NotFound(format!("{document}@{number}")));
                }
            }
        };
        if is_changed {
            self.publish(&[document]);
        }
        Ok(())
    }

    async fn labels(&self, document: &str) -> Result<BTreeMap<String, u64>, StoreError> {
        Ok(self.with(document, |log| log.labels.clone()).unwrap_or_default())
    }

    fn notifier(&self) -> &dyn Notifier {
        &*self.notifier
    }
}

impl fmt::Debug for MemoryRevisions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryRevisions").field("documents", &lock(&self.logs).len()).finish()
    }
}
