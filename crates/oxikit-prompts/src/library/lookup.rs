//! Finds the documents that are included, also in old revisions.
//!
//! Expansion does not wait, and old revisions are in the store. So an expansion is tried first, the
//! revisions that it has missed are read, and it is repeated until nothing is missing.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::document::{Document, Kind, source_of};
use crate::error::PromptsError;
use crate::expand::{Found, Lookup};
use crate::index::Index;
use crate::requests::RevisionName;
use crate::state::State;

/// Maximum number of old revisions that one expansion reads. More are not found.
const MAX_PINNED: usize = 1000;

/// The documents of the index, and old revisions that were read.
#[derive(Debug)]
pub(super) struct IndexLookup {
    index: Arc<Index>,
    /// The label whose revisions are taken where nothing else is asked for, if they exist.
    label: Option<String>,
    read: Mutex<Read>,
}

#[derive(Debug, Default)]
struct Read {
    /// The bodies of current documents, by key.
    bodies: HashMap<String, Arc<str>>,
    /// Old revisions by key and name; `None` if there is none.
    pinned: HashMap<(String, String), Option<OldBody>>,
    /// Old revisions that have to be read.
    missing: Vec<(String, String)>,
}

/// The number and the body of an old revision.
type OldBody = (u64, Arc<str>);

impl IndexLookup {
    pub(super) fn new(index: Arc<Index>) -> Self {
        Self::at_label(index, None)
    }

    /// Finds documents that have this label at its revision, unless another one is asked for.
    pub(super) fn at_label(index: Arc<Index>, label: Option<&str>) -> Self {
        Self { index, label: label.map(str::to_owned), read: Mutex::default() }
    }

    /// Reads the revisions that were missing. Answers whether there were any.
    pub(super) async fn read_missing(&self, state: &State) -> Result<bool, PromptsError> {
        let missing = std::mem::take(&mut self.lock().missing);
        if missing.is_empty() {
            return Ok(false);
        }
        for (key, pin) in missing {
            let found = read(state, &key, &pin).await?;
            self.lock().pinned.insert((key, pin), found);
        }
        Ok(true)
    }

    /// The document that `{{> name}}` means in the document with the id `from`: a fragment if there is
    /// one.
    pub(super) fn partial(&self, name: &str, from: &str) -> Option<Arc<Document>> {
        let fragment = self.index.find(name, Some(Kind::Fragment)).ok();
        let from = self.index.find(from, None).ok();
        fragment.or_else(|| Some(self.index.resolve(name, from.as_deref())?.document))
    }

    fn pinned(&self, key: &str, pin: &str) -> Option<(u64, Arc<str>)> {
        let mut read = self.lock();
        let name = (key.to_owned(), pin.to_owned());
        if let Some(found) = read.pinned.get(&name) {
            return found.clone();
        }
        if read.pinned.len() + read.missing.len() < MAX_PINNED && !read.missing.contains(&name) {
            read.missing.push(name);
        }
        None
    }

    fn newest(&self, document: &Document) -> (u64, Arc<str>) {
        let mut read = self.lock();
        let body = read.bodies.entry(document.key.clone());
        (document.rev, body.or_insert_with(|| document.body().into()).clone())
    }

    fn lock(&self) -> MutexGuard<'_, Read> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lookup for IndexLookup {
    fn find(&self, name: &str, pin: Option<&str>, from: Option<&str>) -> Found {
        let from = from.and_then(|id| self.index.find(id, None).ok());
        let Some(resolved) = self.index.resolve(name, from.as_deref()) else {
            return Found::Missing;
        };
        let (document, ambiguous) = (resolved.document, resolved.candidates);
        let found = match pin {
            Some(pin) => self.pinned(&document.key, pin),
            None => {
                let label = self.label.as_deref();
                let labelled = label.and_then(|label| self.pinned(&document.key, label));
                Some(labelled.unwrap_or_else(|| self.newest(&document)))
            }
        };
        match found {
            Some((rev, body)) => Found::Document { id: document.id.clone(), rev, body, ambiguous },
            None => Found::Missing,
        }
    }
}

/// Reads the body of an old revision; `None` if there is none.
async fn read(
    state: &State,
    key: &str,
    pin: &str,
) -> Result<Option<(u64, Arc<str>)>, PromptsError> {
    let found = read_text(state, key, pin).await?;
    Ok(found.map(|(number, text)| (number, source_of(key, &text).body().into())))
}

/// Reads the number and the whole text of a revision, by its number or label; `None` if there is
/// none.
pub(super) async fn read_text(
    state: &State,
    key: &str,
    pin: &str,
) -> Result<Option<(u64, Arc<str>)>, PromptsError> {
    let number = match RevisionName::parse(pin) {
        RevisionName::Number(number) => Some(number),
        RevisionName::Label(label) => state.store.labels(key).await?.get(&label).copied(),
    };
    let Some(number) = number else { return Ok(None) };
    let revision = state.store.revision(key, number).await?;
    Ok(revision.and_then(|revision| revision.text).map(|text| (number, text)))
}
