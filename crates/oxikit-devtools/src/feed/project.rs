//! The store of the project, with an event of the feed for each change.

use std::sync::Arc;

use async_trait::async_trait;
use oxikit_core::ports::{DocumentList, ProjectError, ProjectStore, StoredDocument};
use serde_json::json;

use super::Feed;

/// A store that announces its changes.
#[derive(Debug)]
pub(crate) struct WatchedProject {
    store: Arc<dyn ProjectStore>,
    feed: Feed,
}

impl WatchedProject {
    pub(crate) fn new(store: Arc<dyn ProjectStore>, feed: Feed) -> Self {
        Self { store, feed }
    }

    /// Adds the event for a kind of document that a page shows.
    fn announce(&self, kind: &str, id: &str) {
        let name = match kind {
            "dataset" | "samples" => "datasets",
            "evalRun" => "evaluations",
            _ => return,
        };
        self.feed.add(name, &json!({"id": id}));
    }
}

#[async_trait]
impl ProjectStore for WatchedProject {
    async fn put_document(
        &self,
        kind: &str,
        id: &str,
        json: String,
        expected: Option<u32>,
    ) -> Result<u32, ProjectError> {
        let version = self.store.put_document(kind, id, json, expected).await?;
        self.announce(kind, id);
        Ok(version)
    }

    async fn document(&self, kind: &str, id: &str) -> Result<Option<StoredDocument>, ProjectError> {
        self.store.document(kind, id).await
    }

    async fn documents(&self, kind: &str) -> Result<DocumentList, ProjectError> {
        self.store.documents(kind).await
    }

    async fn delete_document(&self, kind: &str, id: &str) -> Result<bool, ProjectError> {
        let is_deleted = self.store.delete_document(kind, id).await?;
        if is_deleted {
            self.announce(kind, id);
        }
        Ok(is_deleted)
    }
}
