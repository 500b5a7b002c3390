//! The first reading of a directory, which may have many files.
//!
//! Documents whose file is as in the history need no task; files without a history get their first
//! revision here. All others are left to the tasks of the documents.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::{StreamExt, stream};
use oxikit_core::ports::{
    DocumentHead, NewRevision, RevisionInfo, RevisionKind, StoreError, text_hash,
};

use super::PARALLEL;
use crate::directories::Directory;
use crate::document::Document;
use crate::error::PromptsError;
use crate::files::{FILE_AUTHOR, blocking};
use crate::index::Deleted;
use crate::state::State;
use crate::task::{MovePlan, Place};

/// Reads the files of a directory into the index. Returns the paths of documents that have to be
/// compared by their tasks, also those of documents without a file.
pub(super) async fn load(
    state: &State,
    directory: &Directory,
    paths: Vec<String>,
) -> Result<Vec<String>, PromptsError> {
    let prefix = format!("{}/", directory.key);
    let heads = state.store.documents().await?;
    let of_directory = heads.into_iter().filter_map(|head| {
        let path = head.document.strip_prefix(&prefix)?.to_owned();
        crate::document::is_document(&path).then_some((path, head))
    });
    let mut heads: BTreeMap<String, DocumentHead> = of_directory.collect();
    find_unwritten(state, directory, &paths, &heads).await;
    let paths = finish_moves(state, directory, paths, &heads).await;
    let (mut documents, mut rest) = (Vec::new(), Vec::new());
    let read = stream::iter(paths).map(|path| {
        let head = heads.remove(&path);
        async move { (load_file(state, directory, &path, head).await, path) }
    });
    let read: Vec<_> = read.buffer_unordered(PARALLEL).collect().await;
    for (document, path) in read {
        match document? {
            Some(document) => documents.push(document),
            None => rest.push(path),
        }
    }
    let (deleted, missing): (Vec<_>, Vec<_>) =
        heads.into_iter().partition(|(_, head)| head.current.is_deletion());
    let deleted = deleted.into_iter().map(|(_, head)| Deleted {
        key: head.document,
        rev: head.current.number,
        at: head.current.at,
    });
    rest.extend(missing.into_iter().map(|(path, _)| path));
    state.change_index(|index| index.put_all(documents, deleted));
    state.changes.report_reload();
    Ok(rest)
}

/// Finds the documents that were stored, but not written, because the process was killed: their folder
/// has not changed since. This has to be known before anything is written to the folder.
async fn find_unwritten(
    state: &State,
    directory: &Directory,
    paths: &[String],
    heads: &BTreeMap<String, DocumentHead>,
) {
    let paths: BTreeSet<&String> = paths.iter().collect();
    let missing =
        heads.iter().filter(|(path, head)| !paths.contains(path) && !head.current.is_deletion());
    let missing: Vec<_> = missing
        .map(|(path, head)| (path.clone(), head.document.clone(), head.current.at))
        .collect();
    let root = directory.root();
    let unwritten = blocking(move || {
        let is_unwritten = |path: &str, at| {
            root.folder_changed_at(path).is_some_and(|changed_at| changed_at <= at)
        };
        let found = missing.into_iter().filter(|(path, _, at)| is_unwritten(path, *at));
        Ok(found.map(|(_, key, _)| key).collect::<Vec<_>>())
    });
    // Without an answer the tasks of the documents look at the folder themselves.
    let unwritten = unwritten.await.unwrap_or_default();
    state.unwritten().extend(unwritten);
}

/// Moves the files of documents that were renamed in the store, but not on the disk, because the
/// process was killed. Returns the paths of all files.
async fn finish_moves(
    state: &State,
    directory: &Directory,
    paths: Vec<String>,
    heads: &BTreeMap<String, DocumentHead>,
) -> Vec<String> {
    let mut paths: BTreeSet<String> = paths.into_iter().collect();
    let mut moved = Vec::new();
    let is_missing = |to: &String| !state.options.is_read_only && !paths.contains(to);
    for (to, head) in heads.iter().filter(|(to, _)| is_missing(to)) {
        let from = MovePlan::of(&head.current)
            .and_then(|plan| Some(plan.from.split_once('/')?.1.to_owned()));
        let Some(from) = from.filter(|from| !heads.contains_key(from)) else { continue };
        let (root, old, new) = (directory.root(), from.clone(), to.clone());
        if paths.contains(&from) && blocking(move || root.rename(&old, &new)).await.is_ok() {
            moved.push((from, to.clone()));
        }
    }
    for (from, to) in moved {
        paths.remove(&from);
        paths.insert(to);
    }
    paths.into_iter().collect()
}

/// The document of a file; `None` if its task has to compare it.
async fn load_file(
    state: &State,
    directory: &Directory,
    path: &str,
    head: Option<DocumentHead>,
) -> Result<Option<Document>, PromptsError> {
    let place = Place::new(directory.clone(), path);
    let (root, max, path) = (place.root(), state.max_file(), path.to_owned());
    let Ok(Some(file)) = blocking(move || root.read(&path, max)).await else { return Ok(None) };
    let source = place.source(&file.text);
    let Some(DocumentHead { newest, current, .. }) = head else {
        let first = first_revision(state, &place, &file.text).await?;
        return Ok(first.map(|info| place.document(source, &info, info.at)));
    };
    if current.hash != text_hash(&file.text) {
        return Ok(None);
    }
    let mut created_at = current.at;
    if newest > 1 {
        let first = state.store.log(&place.key, Some(2), 1).await?;
        created_at = first.first().map_or(created_at, |first| first.at);
    }
    Ok(Some(place.document(source, &current, created_at)))
}

/// Stores the first revision of a file; `None` if another process has done so.
async fn first_revision(
    state: &State,
    place: &Place,
    text: &str,
) -> Result<Option<RevisionInfo>, PromptsError> {
    let revision = NewRevision {
        parent: 0,
        kind: RevisionKind::External,
        author: FILE_AUTHOR.to_owned(),
        text: Some(text.into()),
        is_applied: true,
        op: None,
        outcome: None,
    };
    match state.store.append(&place.key, 0, vec![revision]).await {
        Ok(infos) => Ok(infos.into_iter().next()),
        Err(StoreError::Conflict(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
