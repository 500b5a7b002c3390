//! Files of which a page with revisions cannot be read.

use oxikit_core::ports::{NewRevision, RevisionStore, StoreError};
use oxikit_sql::{OpenError, SqliteProject};

use super::{file, folder, open, wait_until_closed};
use crate::revisions::edit;
use oxikit_testing::pages::{PAGE, bytes_of, damaged};

const DOCUMENTS: u64 = 25;
const REVISIONS: u64 = 4;

fn name(document: u64) -> String {
    format!("prompts/{document}.md")
}

/// Mostly about a page, and some of several pages.
fn text(document: u64, number: u64) -> String {
    let length = if document.is_multiple_of(5) { 9000 } else { 2500 };
    format!("{document} {number} {}", "x".repeat(length))
}

fn revision(document: u64, number: u64) -> NewRevision {
    let op = Some(format!("op-{number}"));
    NewRevision { op, ..edit(number - 1, &text(document, number)) }
}

async fn fill() -> Vec<u8> {
    let folder = folder();
    let store = open(&folder);
    for number in 1..=REVISIONS {
        for document in 0..DOCUMENTS {
            let revisions = vec![revision(document, number)];
            store.append(&name(document), number - 1, revisions).await.unwrap();
        }
    }
    for document in 0..DOCUMENTS {
        store.set_label(&name(document), "production", Some(2)).await.unwrap();
    }
    drop(store);
    bytes_of(&file(&folder))
}

/// The answer, or `None` if it is an error about damage that says what to do.
#[track_caller]
fn read<T>(answer: Result<T, StoreError>) -> Option<T> {
    match answer {
        Ok(answer) => Some(answer),
        Err(error @ StoreError::Damaged(..)) => {
            let source = std::error::Error::source(&error).unwrap().to_string();
            assert!(source.contains("oxikit doctor --repair"), "{source}");
            None
        }
        Err(error) => panic!("{error:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_page_harms_the_revisions_on_it() {
    let whole = fill().await;
    let is_tried = |page: &usize| {
        std::env::var_os("OXIKIT_ALL_PAGES").is_some() || *page < 20 || page.is_multiple_of(12)
    };
    let (mut tried, mut unreadable) = (0, 0);
    for page in (0..whole.len() / PAGE).filter(is_tried) {
        let folder = folder();
        let path = file(&folder);
        std::fs::write(&path, damaged(&whole, page)).unwrap();
        match SqliteProject::open(&path) {
            Ok(store) => {
                let harmed = use_damaged(&store, page).await;
                // Some pages lead to many others.
                unreadable += usize::from(harmed > 4);
                drop(store);
            }
            Err(OpenError::Damaged(_) | OpenError::NotADatabase) => assert_eq!(page, 0),
            Err(error) => panic!("page {page}: {error:?}"),
        }
        repair(&folder, page).await;
        tried += 1;
    }
    assert!(tried > 20 && unreadable <= 4, "{unreadable} of {tried} pages");
}

/// What can be read is as it was written, and nothing is said not to exist. Returns the number of
/// documents whose current text cannot be read.
async fn use_damaged(store: &SqliteProject, page: usize) -> u64 {
    let listed = read(RevisionStore::documents(store).await).unwrap_or_default();
    let mut harmed = 0;
    for document in 0..DOCUMENTS {
        let name = name(document);
        match read(store.head(&name).await) {
            Some(head) => {
                let (newest, current) = head.unwrap_or_else(|| panic!("page {page}: {name}"));
                assert_eq!(newest, REVISIONS, "page {page}");
                assert!(
                    *current.text.unwrap() == *text(document, REVISIONS),
                    "page {page}: {name}"
                );
                let listed = listed.iter().find(|head| head.document == name);
                assert_eq!(listed.unwrap().current, current.info, "page {page}");
            }
            None => harmed += 1,
        }
        for number in 1..=REVISIONS {
            if let Some(found) = read(store.revision(&name, number).await) {
                let found = found.unwrap_or_else(|| panic!("page {page}: {name} {number}"));
                assert!(*found.text.unwrap() == *text(document, number), "page {page}: {name}");
            }
            if let Some(found) = read(store.find_op(&name, &format!("op-{number}"), 0).await) {
                assert_eq!(found.unwrap().number, number, "page {page}: {name}");
            }
        }
        let log = read(store.log(&name, None, 100).await).unwrap_or_default();
        let numbers: Vec<_> = log.iter().map(|info| info.number).collect();
        assert!(numbers.is_sorted_by(|one, other| one > other), "page {page}: {numbers:?}");
        if let Some(labels) = read(store.labels(&name).await) {
            assert_eq!(labels["production"], 2, "page {page}: {name}");
        }
        // An append is stored or refused as damaged, and never taken for one of another writer.
        let next = vec![revision(document, REVISIONS + 1)];
        if read(store.append(&name, REVISIONS, next).await).is_some() {
            let head = read(store.head(&name).await).unwrap().unwrap();
            assert!(*head.1.text.unwrap() == *text(document, REVISIONS + 1), "page {page}");
        }
    }
    harmed
}

/// All that could be read is in the new file, which works.
async fn repair(folder: &tempfile::TempDir, page: usize) {
    let path = file(folder);
    wait_until_closed(&path);
    let repaired = SqliteProject::repair(&path).unwrap();
    let part = repaired.parts.iter().find(|part| part.name == "revisions").unwrap();
    let known = part.saved + part.lost;
    assert!(known >= DOCUMENTS * REVISIONS || part.may_be_more, "page {page}: {part:?}");
    assert_eq!(SqliteProject::check(&path).unwrap(), [""; 0], "page {page}");
    let store = open(folder);
    let mut found = 0;
    for head in RevisionStore::documents(&store).await.unwrap() {
        let (newest, current) = store.head(&head.document).await.unwrap().unwrap();
        let content = current.text.unwrap();
        let document = content.split(' ').next().unwrap().parse().unwrap();
        assert!(*content == *text(document, current.info.number), "page {page}");
        let log = store.log(&head.document, None, 100).await.unwrap();
        found += log.len() as u64;
        let labels = store.labels(&head.document).await.unwrap();
        for number in labels.values() {
            assert!(log.iter().any(|info| info.number == *number), "page {page}: {labels:?}");
        }
        let next = store.append(&head.document, newest, vec![edit(0, "after")]).await.unwrap();
        assert_eq!(next[0].number, newest + 1);
    }
    assert_eq!(found, part.saved, "page {page}: every saved revision belongs to a document");
}
