//! Where a document is: its directory and its path.

use std::sync::Arc;

use oxikit_core::ports::RevisionInfo;

use crate::directories::{Directory, Registry};
use crate::document::{Document, kind_of, source_of};
use crate::error::PromptsError;
use crate::files::Root;
use crate::source::Source;

/// The place of a document, whether it exists or not.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) key: String,
    /// The path of the file below the directory.
    pub(crate) path: String,
    pub(crate) directory: Directory,
}

impl Place {
    /// The place of a path in a directory.
    pub(crate) fn new(directory: Directory, path: &str) -> Self {
        Self { key: format!("{}/{path}", directory.key), path: path.to_owned(), directory }
    }

    /// The place of a key.
    ///
    /// # Errors
    ///
    /// If there is no such directory, or it is disabled.
    pub(crate) fn of(key: &str, registry: &Registry) -> Result<Self, PromptsError> {
        let found = registry.split_key(key).filter(|(directory, _)| directory.enabled);
        let (directory, path) = found.ok_or_else(|| PromptsError::not_found(key, None))?;
        Ok(Self { key: key.to_owned(), path: path.to_owned(), directory: directory.clone() })
    }

    pub(crate) fn root(&self) -> Root {
        self.directory.root()
    }

    /// The text of a file here.
    pub(crate) fn source(&self, text: &str) -> Source {
        source_of(&self.path, text)
    }

    /// The document here at a revision. Its id is that of the key; the index assigns the final one.
    pub(crate) fn document(
        &self,
        source: Source,
        info: &RevisionInfo,
        created_at: i64,
    ) -> Document {
        let empty = Document {
            id: self.key.clone(),
            key: self.key.clone(),
            kind: kind_of(&self.path),
            path: self.path.clone(),
            directory: self.directory.path.clone(),
            directory_name: self.directory.name.clone(),
            source: Arc::new(source_of(&self.path, "")),
            rev: 0,
            hash: String::new(),
            created_at,
            updated_at: info.at,
            author: info.author.clone(),
            problem: None,
            inclusions: Arc::default(),
        };
        empty.with_text(source, info.number, info.hash.clone())
    }

    /// What is wrong with the file here, for people.
    pub(crate) fn problem(&self, error: &dyn std::fmt::Display) -> String {
        format!("the file `{}` of `{}` cannot be used: {error}", self.path, self.directory.name)
    }
}
