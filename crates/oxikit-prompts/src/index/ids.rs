//! The ids of documents: short where they are unique.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use oxikit_wire::prompts::is_reserved;

use crate::document::{Document, stem, without_extension};

/// The ids of all documents, and their keys.
///
/// A document gets the first of its possible ids that no other document without an id has: the
/// name of its file, the path below its directory, the path with extension, and both with the key
/// of the directory in front. The last one, the document's key, is unique.
pub(super) fn assign<'d>(
    documents: impl Iterator<Item = &'d Arc<Document>>,
) -> HashMap<String, String> {
    let mut open: Vec<&Document> = documents.map(|document| &**document).collect();
    let mut ids: HashMap<String, String> = HashMap::new();
    for level in 0..LEVELS {
        let mut counts: HashMap<String, usize> = HashMap::new();
        for document in &open {
            *counts.entry(possible_id(document, level)).or_default() += 1;
        }
        open.retain(|document| {
            let id = possible_id(document, level);
            let is_free = counts.get(&id) == Some(&1) && !ids.contains_key(&id);
            let is_usable = level == LEVELS - 1 || id.contains('/') || !is_reserved(&id);
            if is_free && is_usable {
                ids.insert(id, document.key.clone());
                return false;
            }
            true
        });
    }
    ids
}

const LEVELS: usize = 5;

fn possible_id(document: &Document, level: usize) -> String {
    let id = match level {
        0 => document.name(),
        1 => document.path_without_extension(),
        2 => &document.path,
        3 => without_extension(&document.key),
        _ => &document.key,
    };
    id.to_owned()
}

/// All names under which a document may be asked for.
pub(super) fn names(key: &str, path: &str) -> BTreeSet<String> {
    let name = stem(path);
    let partial = name.strip_prefix('_').filter(|name| !name.is_empty()).unwrap_or(name);
    let all = [name, partial, without_extension(path), path, without_extension(key), key];
    all.map(str::to_owned).into()
}
