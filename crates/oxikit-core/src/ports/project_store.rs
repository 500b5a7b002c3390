//! The store for documents that users create in a project: data sets, evaluations. Unlike traces
//! and streams, they are never pruned.

use std::fmt;

use async_trait::async_trait;

use super::StoreError;

/// Keeps the documents of a project: JSON texts, each with a kind, an id and a version.
///
/// They are people's work. A write is answered when it is durable, and nothing is removed
/// unless [`delete_document`](Self::delete_document) is called. A store that does not
/// promise this says so in its name and documentation. The store owns versions and times;
/// it does not read the JSON.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// use oxikit_core::ports::ProjectStore;
/// use oxikit_core::ports::memory::MemoryProject;
///
/// let store = MemoryProject::default();
/// let version = store.put_document("dataset", "greetings", r#"["Ada"]"#.to_owned(), None).await?;
/// assert_eq!(version, 1);
/// // Only if it was not changed since:
/// store.put_document("dataset", "greetings", "[]".to_owned(), Some(version)).await?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[async_trait]
pub trait ProjectStore: fmt::Debug + Send + Sync {
    /// Writes a document and returns its version: 1, or one more than before. With
    /// `expected`, writes only if that is the version in the store; 0 means that there is
    /// no document.
    ///
    /// # Errors
    ///
    /// [`StoreError::Conflict`] if another version is in the store; others if the store
    /// does not work.
    async fn put_document(
        &self,
        kind: &str,
        id: &str,
        json: String,
        expected: Option<u32>,
    ) -> Result<u32, ProjectError>;

    /// The document of this kind and id; `None` if there is none.
    ///
    /// # Errors
    ///
    /// If the document cannot be read, or the store does not work.
    async fn document(&self, kind: &str, id: &str) -> Result<Option<StoredDocument>, ProjectError>;

    /// All documents of a kind, in the order in which they were made.
    ///
    /// # Errors
    ///
    /// If the store does not work. Documents that cannot be read are named in the list.
    async fn documents(&self, kind: &str) -> Result<DocumentList, ProjectError>;

    /// Removes a document; `false` if there is none.
    ///
    /// # Errors
    ///
    /// If the store does not work.
    async fn delete_document(&self, kind: &str, id: &str) -> Result<bool, ProjectError>;
}

/// A document of a [`ProjectStore`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredDocument {
    /// The kind of document, such as `dataset` or `evalRun`.
    pub kind: String,
    /// The id, unique within the kind.
    pub id: String,
    /// 1 when the document is created, one more with every change.
    pub version: u32,
    /// Time of creation, in milliseconds since 1970.
    pub created_at: i64,
    /// Time of the last change, in milliseconds since 1970.
    pub updated_at: i64,
    /// The content: the JSON text that was stored.
    pub json: String,
}

/// The documents of a kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DocumentList {
    /// The readable documents, in the order of their creation.
    pub documents: Vec<StoredDocument>,
    /// Ids of documents that exist and cannot be read, because the store is damaged.
    pub unreadable: Vec<String>,
    /// Whether there may be more documents that cannot be read, whose ids are unknown.
    pub may_be_incomplete: bool,
}

/// The error of an operation of a [`ProjectStore`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProjectError {
    /// A part of the store cannot be read, or not written because of parts that cannot be
    /// read. The text says what is affected and what to do.
    #[error("{0}")]
    Damaged(String),
    /// The storage was deleted or replaced while it was open. Nothing was stored. The text
    /// says what to do.
    #[error("{0}")]
    Gone(&'static str),
    /// Any other failure.
    #[error(transparent)]
    Store(#[from] StoreError),
}
