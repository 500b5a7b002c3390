//! [`RevisionStore`] for PostgreSQL.
//!
//! A log is a short row with its newest number, and a row per revision. A write locks the row of
//! its log and is refused if the newest number is not the one that its caller has seen; the
//! database's function `append_revisions` does it in one round trip.

mod read;
mod seen;
mod write;

use std::collections::BTreeMap;

use async_trait::async_trait;
use oxikit_core::ports::{
    DocumentHead, NewRevision, Notifier, Revision, RevisionInfo, RevisionStore, StoreError,
    all_revisions_topic, check_revision_name, revision_topic,
};

use super::PostgresStore;

pub(super) use seen::SeenRevisions;

#[async_trait]
impl RevisionStore for PostgresStore {
    async fn append(
        &self,
        document: &str,
        expected: u64,
        revisions: Vec<NewRevision>,
    ) -> Result<Vec<RevisionInfo>, StoreError> {
        check_revision_name(document)?;
        let revisions = NewRevision::number_all(expected, revisions)?;
        self.append_revisions(document, None, expected, &revisions).await?;
        self.publish_revisions(&[document]);
        Ok(revisions.into_iter().map(|revision| revision.info).collect())
    }

    async fn head(&self, document: &str) -> Result<Option<(u64, Revision)>, StoreError> {
        self.read_head(document).await
    }

    async fn revision(&self, document: &str, number: u64) -> Result<Option<Revision>, StoreError> {
        self.read_revision(document, number).await
    }

    async fn log(
        &self,
        document: &str,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Vec<RevisionInfo>, StoreError> {
        self.read_log(document, before, limit).await
    }

    async fn find_op(
        &self,
        document: &str,
        op: &str,
        since: i64,
    ) -> Result<Option<RevisionInfo>, StoreError> {
        Ok(self.newest_with_op(document, op).await?.filter(|info| info.at >= since))
    }

    async fn documents(&self) -> Result<Vec<DocumentHead>, StoreError> {
        self.document_heads().await
    }

    async fn rename(
        &self,
        from: &str,
        to: &str,
        expected: u64,
        revision: NewRevision,
    ) -> Result<RevisionInfo, StoreError> {
        check_revision_name(to)?;
        let revisions = NewRevision::number_all(expected, vec![revision])?;
        self.append_revisions(from, Some(to), expected, &revisions).await?;
        self.publish_revisions(&[from, to]);
        Ok(revisions[0].info.clone())
    }

    async fn set_label(
        &self,
        document: &str,
        label: &str,
        number: Option<u64>,
    ) -> Result<(), StoreError> {
        check_revision_name(label)?;
        let is_changed = match number {
            Some(number) => self.put_label(document, label, number).await?,
            None => self.remove_label(document, label).await?,
        };
        match number {
            _ if is_changed => self.publish_revisions(&[document]),
            Some(number) => return Err(StoreError::NotFound(format!("{document}@{number}"))),
            None => {}
        }
        Ok(())
    }

    async fn labels(&self, document: &str) -> Result<BTreeMap<String, u64>, StoreError> {
        self.read_labels(document).await
    }

    fn notifier(&self) -> &dyn Notifier {
        &*self.0.notifier
    }
}

impl PostgresStore {
    /// Publishes that these documents have changed.
    fn publish_revisions(&self, documents: &[&str]) {
        documents.iter().for_each(|document| self.0.notifier.publish(revision_topic(document)));
        self.0.notifier.publish(all_revisions_topic());
    }
}
