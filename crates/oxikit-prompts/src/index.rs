//! All documents in memory, by key, id and name.
//!
//! The index answers questions; it changes only by [`Index::put`] and its neighbours, which the
//! document tasks call after a change is durable. Ids are assigned in `ids`, references between
//! documents in `graph`.

mod graph;
mod ids;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};

use crate::directories::Directory;
use crate::document::{Document, Kind, MARKDOWN, kind_of, stem, without_extension};
use crate::error::PromptsError;
use crate::requests::{Problem, Reference};
use graph::Graph;

/// All documents. Cheap to read; a clone is made when somebody still reads an older version.
#[derive(Debug, Clone, Default)]
pub(crate) struct Index {
    documents: BTreeMap<String, Arc<Document>>,
    /// Keys by id.
    by_id: HashMap<String, String>,
    /// Keys by every name under which a document may be asked for.
    by_name: HashMap<String, Vec<String>>,
    deleted: BTreeMap<String, Deleted>,
    /// What is wrong with files, by key.
    problems: BTreeMap<String, String>,
    /// Which documents include which others, computed at the first request after a change.
    graph: Arc<OnceLock<Graph>>,
}

/// A document that was deleted. Its history is in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Deleted {
    pub(crate) key: String,
    /// The revision that deleted it.
    pub(crate) rev: u64,
    /// When it was deleted, in milliseconds since 1970.
    pub(crate) at: i64,
}

/// A document whose id has changed because of another document.
#[derive(Debug, Clone)]
pub(crate) struct NewId {
    pub(crate) old_id: String,
    pub(crate) document: Arc<Document>,
}

/// The document that an inclusion means.
#[derive(Debug, Clone)]
pub(crate) struct Resolved {
    pub(crate) document: Arc<Document>,
    /// The ids of all documents of this name, if there are several.
    pub(crate) candidates: Vec<String>,
}

impl Index {
    /// All documents, in the order of their keys.
    pub(crate) fn documents(&self) -> impl Iterator<Item = &Arc<Document>> {
        self.documents.values()
    }

    /// The document of this key.
    pub(crate) fn document(&self, key: &str) -> Option<&Arc<Document>> {
        self.documents.get(key)
    }

    /// The deleted document of this key.
    pub(crate) fn deleted(&self, key: &str) -> Option<&Deleted> {
        self.deleted.get(key)
    }

    /// The revision of this document, also if it is deleted.
    pub(crate) fn rev(&self, key: &str) -> Option<u64> {
        let document = self.documents.get(key).map(|document| document.rev);
        document.or_else(|| self.deleted.get(key).map(|deleted| deleted.rev))
    }

    /// The document with this id, or the only one of this name.
    pub(crate) fn find(&self, id: &str, kind: Option<Kind>) -> Result<Arc<Document>, PromptsError> {
        self.find_where(id, kind, |_| true)
    }

    /// As [`find`](Self::find), among the documents for which `is_wanted` is true.
    pub(crate) fn find_where(
        &self,
        id: &str,
        kind: Option<Kind>,
        is_wanted: impl Fn(&Document) -> bool,
    ) -> Result<Arc<Document>, PromptsError> {
        let fits = |document: &&Arc<Document>| {
            kind.is_none_or(|kind| kind == document.kind) && is_wanted(document)
        };
        if let Some(document) = self.by_exact_id(id).filter(fits) {
            return Ok(document.clone());
        }
        let named: Vec<_> = self.named(id).filter(fits).collect();
        match named.as_slice() {
            [] => Err(PromptsError::not_found(id, kind)),
            [document] => Ok((*document).clone()),
            several => {
                let candidates = several.iter().map(|document| document.id.clone()).collect();
                Err(PromptsError::Ambiguous { id: id.to_owned(), candidates })
            }
        }
    }

    /// Whether a document of this kind has exactly this id, with or without the folder of fragments.
    pub(crate) fn has_id(&self, id: &str, kind: Kind) -> bool {
        self.by_exact_id(id).is_some_and(|document| document.kind == kind)
    }

    /// The deleted document that was asked for by this name, the last one that was deleted.
    pub(crate) fn find_deleted(&self, id: &str, kind: Option<Kind>) -> Option<&Deleted> {
        let name = id.strip_suffix(MARKDOWN).unwrap_or(id);
        let fits = |deleted: &&Deleted| {
            let path = deleted.key.split_once('/').map_or("", |(_, path)| path);
            kind.is_none_or(|kind| kind == kind_of(path))
                && ids::names(&deleted.key, path).iter().any(|known| known == name || known == id)
        };
        self.deleted.values().filter(fits).max_by_key(|deleted| deleted.at)
    }

    /// The document that `[[name]]` means in the document `from`: one in the same folder, else any,
    /// prompts first.
    pub(crate) fn resolve(&self, name: &str, from: Option<&Document>) -> Option<Resolved> {
        let name = name.trim();
        if let Some(document) = from.and_then(|from| self.beside(from, name)) {
            return Some(Resolved { document: document.clone(), candidates: Vec::new() });
        }
        let exact = self.by_exact_id(name);
        if let Some(document) = exact.filter(|_| name.contains('/')) {
            return Some(Resolved { document: document.clone(), candidates: Vec::new() });
        }
        let mut named: Vec<_> = self.named(name).collect();
        named.sort_by_key(|document| (document.kind, &document.key));
        let document = exact.or(named.first().copied())?.clone();
        let is_ambiguous = named.len() > 1;
        let ids = named.iter().map(|document| document.id.clone());
        let candidates = if is_ambiguous { ids.collect() } else { Vec::new() };
        Some(Resolved { document, candidates })
    }

    /// The names that a document includes, and what they mean.
    pub(crate) fn references(&self, document: &Document) -> Vec<Reference> {
        let reference = |name: &String| {
            let resolved = self.resolve(name, Some(document));
            Reference { name: name.clone(), document: resolved.map(|found| found.document) }
        };
        document.inclusions.iter().map(reference).collect()
    }

    /// The documents that include this one, directly or through others, in the order of their keys.
    pub(crate) fn referenced_by(&self, key: &str) -> Vec<Arc<Document>> {
        let keys = self.graph().users(key);
        keys.iter().filter_map(|key| self.documents.get(*key).cloned()).collect()
    }

    /// The documents whose text names this one.
    pub(crate) fn directly_referenced_by(&self, key: &str) -> Vec<Arc<Document>> {
        let keys = self.graph().direct_users(key);
        keys.iter().filter_map(|key| self.documents.get(key).cloned()).collect()
    }

    /// Whether any document includes this one.
    pub(crate) fn is_referenced(&self, key: &str) -> bool {
        !self.graph().direct_users(key).is_empty()
    }

    /// The files that cannot be served.
    pub(crate) fn problems(&self) -> Vec<Problem> {
        let problem = |(key, message): (&String, &String)| Problem {
            key: key.clone(),
            message: message.clone(),
        };
        let of_documents = self.documents.values().filter_map(|document| {
            let message = document.problem.clone()?;
            Some(Problem { key: document.key.clone(), message })
        });
        self.problems.iter().map(problem).chain(of_documents).collect()
    }

    /// The paths of the documents of a directory whose files cannot be used.
    pub(crate) fn broken_in(&self, directory: &Directory) -> Vec<String> {
        let broken = self.documents.values().filter(|document| document.problem.is_some());
        let own = broken.filter(|document| document.directory == directory.path);
        own.map(|document| document.path.clone()).collect()
    }

    /// Adds or replaces a document. Its id is assigned here. Returns it, and the other documents that
    /// got another id.
    pub(crate) fn put(&mut self, mut document: Document) -> (Arc<Document>, Vec<NewId>) {
        let key = document.key.clone();
        self.problems.remove(&key);
        self.deleted.remove(&key);
        let Some(old) = self.documents.get(&key) else {
            self.documents.insert(key.clone(), Arc::new(document));
            let changed = self.assign_ids(&key);
            return (self.documents[&key].clone(), changed);
        };
        if old.inclusions != document.inclusions {
            self.graph = Arc::default();
        }
        document.id.clone_from(&old.id);
        let document = Arc::new(document);
        self.documents.insert(key, document.clone());
        (document, Vec::new())
    }

    /// Adds many documents and deleted documents at once.
    pub(crate) fn put_all(
        &mut self,
        documents: impl IntoIterator<Item = Document>,
        deleted: impl IntoIterator<Item = Deleted>,
    ) {
        for document in documents {
            self.documents.insert(document.key.clone(), Arc::new(document));
        }
        self.deleted.extend(deleted.into_iter().map(|deleted| (deleted.key.clone(), deleted)));
        self.assign_ids("");
    }

    /// Removes a document; with `deleted` it can be found again as a deleted one. Returns the other
    /// documents that got another id.
    pub(crate) fn remove(&mut self, key: &str, deleted: Option<Deleted>) -> Vec<NewId> {
        self.problems.remove(key);
        if let Some(deleted) = deleted {
            self.deleted.insert(key.to_owned(), deleted);
        }
        match self.documents.remove(key) {
            Some(_) => self.assign_ids(key),
            None => Vec::new(),
        }
    }

    /// Forgets everything about the documents of a directory.
    pub(crate) fn remove_directory(&mut self, directory_key: &str) {
        let prefix = format!("{directory_key}/");
        let is_other = |key: &String| !key.starts_with(&prefix);
        self.documents.retain(|key, _| is_other(key));
        self.deleted.retain(|key, _| is_other(key));
        self.problems.retain(|key, _| is_other(key) && key != directory_key);
        self.assign_ids("");
    }

    /// The documents of a directory show its new name.
    pub(crate) fn rename_directory(&mut self, directory: &Directory) {
        for document in self.documents.values_mut() {
            if document.directory == directory.path {
                Arc::make_mut(document).directory_name = directory.name.clone();
            }
        }
    }

    /// Records what is wrong with a file that is not served; `None` if it is in order again.
    pub(crate) fn set_problem(&mut self, key: &str, message: Option<String>) {
        match message {
            Some(message) => _ = self.problems.insert(key.to_owned(), message),
            None => _ = self.problems.remove(key),
        }
    }

    fn by_exact_id(&self, id: &str) -> Option<&Arc<Document>> {
        self.documents.get(self.by_id.get(id)?)
    }

    /// The documents of this name, in the order of their keys.
    fn named(&self, name: &str) -> impl Iterator<Item = &Arc<Document>> {
        let short = name.strip_suffix(MARKDOWN).unwrap_or(name);
        let keys = self.by_name.get(name).or_else(|| self.by_name.get(short));
        keys.into_iter().flatten().filter_map(|key| self.documents.get(key))
    }

    /// The document of this name in the folder of another one.
    fn beside(&self, from: &Document, name: &str) -> Option<&Arc<Document>> {
        if name.contains('/') {
            return None;
        }
        let name = without_extension(name);
        let folder = from.key.rsplit_once('/').map_or("", |(folder, _)| folder);
        let paths = ["", "_"].into_iter().flat_map(|prefix| {
            [".md", ".prompt"].map(|extension| format!("{folder}/{prefix}{name}{extension}"))
        });
        paths.into_iter().find_map(|key| self.documents.get(&key))
    }

    fn graph(&self) -> &Graph {
        self.graph.get_or_init(|| Graph::of(self))
    }

    /// Assigns the ids of all documents again. Returns those that got another id, without that of
    /// `own_key`.
    fn assign_ids(&mut self, own_key: &str) -> Vec<NewId> {
        self.graph = Arc::default();
        self.by_id = ids::assign(self.documents.values());
        self.by_name.clear();
        for (key, document) in &self.documents {
            for name in ids::names(key, &document.path) {
                self.by_name.entry(name).or_default().push(key.clone());
            }
        }
        let mut changed = Vec::new();
        for (id, key) in &self.by_id {
            if let Some(document) = self.documents.get_mut(key).filter(|known| known.id != *id) {
                let old_id = std::mem::replace(&mut Arc::make_mut(document).id, id.clone());
                if key != own_key {
                    changed.push(NewId { old_id, document: document.clone() });
                }
            }
        }
        changed
    }
}

/// The names of a document that completion after `[[` compares with what was typed.
pub(crate) fn matches(document: &Document, query: &str) -> Option<bool> {
    let (id, name) = (document.id.to_lowercase(), stem(&document.path).to_lowercase());
    let begins = id.starts_with(query) || name.starts_with(query);
    (begins || id.contains(query)).then_some(begins)
}

#[cfg(test)]
pub(crate) mod tests;
