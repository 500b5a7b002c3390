//! The documents of a project in memory.

use std::collections::HashMap;
use std::fmt;
use std::sync::Mutex;

use async_trait::async_trait;

use super::lock;
use crate::ports::{DocumentList, ProjectError, ProjectStore, StoreError, StoredDocument};
use crate::timestamp;

/// A [`ProjectStore`] inside of the process, for tests: its documents are lost when the process
/// ends.
#[derive(Default)]
pub struct MemoryProject(Mutex<Documents>);

#[derive(Default)]
struct Documents {
    /// Number of documents that were ever made, which gives their order.
    made: u64,
    by_name: HashMap<(String, String), (u64, StoredDocument)>,
}

#[async_trait]
impl ProjectStore for MemoryProject {
    async fn put_document(
        &self,
        kind: &str,
        id: &str,
        json: String,
        expected: Option<u32>,
    ) -> Result<u32, ProjectError> {
        let mut documents = lock(&self.0);
        let name = (kind.to_owned(), id.to_owned());
        let previous = documents.by_name.get(&name);
        let version = previous.map_or(0, |(_, document)| document.version);
        if expected.is_some_and(|expected| expected != version) {
            return Err(StoreError::Conflict(id.to_owned()).into());
        }
        let now = timestamp::now_millis();
        let (number, created_at) = previous
            .map_or((documents.made, now), |(number, previous)| (*number, previous.created_at));
        let document = StoredDocument {
            kind: kind.to_owned(),
            id: id.to_owned(),
            version: version + 1,
            created_at,
            updated_at: now,
            json,
        };
        documents.made += 1;
        documents.by_name.insert(name, (number, document));
        Ok(version + 1)
    }

    async fn document(&self, kind: &str, id: &str) -> Result<Option<StoredDocument>, ProjectError> {
        let documents = lock(&self.0);
        let found = documents.by_name.get(&(kind.to_owned(), id.to_owned()));
        Ok(found.map(|(_, document)| document.clone()))
    }

    async fn documents(&self, kind: &str) -> Result<DocumentList, ProjectError> {
        let documents = lock(&self.0);
        let of_kind = documents.by_name.values().filter(|(_, document)| document.kind == kind);
        let mut found: Vec<_> = of_kind.cloned().collect();
        found.sort_by_key(|(number, _)| *number);
        let documents = found.into_iter().map(|(_, document)| document).collect();
        Ok(DocumentList { documents, ..DocumentList::default() })
    }

    async fn delete_document(&self, kind: &str, id: &str) -> Result<bool, ProjectError> {
        Ok(lock(&self.0).by_name.remove(&(kind.to_owned(), id.to_owned())).is_some())
    }
}

impl fmt::Debug for MemoryProject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let documents = lock(&self.0).by_name.len();
        f.debug_struct("MemoryProject").field("documents", &documents).finish()
    }
}
