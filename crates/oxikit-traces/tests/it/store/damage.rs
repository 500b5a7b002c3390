//! Files of which a page cannot be read.

use oxikit_sql::{OpenError, SavedPart};
use oxikit_traces::{LogQuery, TraceError, TraceStore};
use rusqlite::Connection;
use serde_json::json;

use super::{child, file, folder, get, list, open, open_with, put, query, span};
use oxikit_testing::pages::{PAGE, bytes_of, damaged};

const TRACES: usize = 300;

/// A root with some text, and now and then a child that takes pages of its own.
async fn fill(store: &TraceStore) {
    for number in 0..TRACES {
        let trace = format!("t{number:03}");
        let attributes = json!({"env": "dev", "said": format!("lighthouse {number}")});
        put(store, &span(&trace, "root", 1500.0, attributes)).await;
        if number % 50 == 0 {
            put(store, &child(&trace, "long", 1500.0, json!({"x": "lighthouse ".repeat(900)})))
                .await;
        }
    }
}

fn searched() -> oxikit_traces::TraceQuery {
    query(|query| {
        query.text = Some("lighthouse".into());
        query.limit = 1000;
    })
}

/// Every damaged part is named.
#[track_caller]
fn named<T>(page: usize, outcome: Result<T, TraceError>) -> Option<T> {
    match outcome {
        Ok(found) => Some(found),
        Err(TraceError::Damaged(text)) => {
            assert!(text.contains("oxikit doctor --repair"), "{text}");
            None
        }
        Err(error) => panic!("page {page}: {error:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_page_harms_what_is_on_it() {
    let origin = folder();
    let store = open(&origin);
    fill(&store).await;
    assert_eq!(list(&store, &searched()).await.len(), TRACES);
    drop(store);
    let whole = bytes_of(&file(&origin));
    let pages = whole.len() / PAGE;
    let mut unopened = 0;
    // The first pages are those that others hang on. Of the rest some, as each takes a
    // second; `OXIKIT_ALL_PAGES` is set to try all of them.
    let is_tried = |page: &usize| {
        std::env::var_os("OXIKIT_ALL_PAGES").is_some() || *page < 12 || page.is_multiple_of(9)
    };
    for page in (0..pages).filter(is_tried) {
        let folder = folder();
        std::fs::write(file(&folder), damaged(&whole, page)).unwrap();
        match TraceStore::open(file(&folder)) {
            Ok(store) => use_damaged(&store, page).await,
            Err(error) => {
                let is_named = matches!(error, OpenError::Damaged(_) | OpenError::NotADatabase);
                assert!(is_named, "page {page}: {error:?}");
                unopened += 1;
            }
        }
        if page.is_multiple_of(27) || page < 6 {
            // In a folder of its own: the store that was used may still be closing its file.
            let folder = self::folder();
            std::fs::write(file(&folder), damaged(&whole, page)).unwrap();
            repair(&folder, page).await;
        }
    }
    assert!((1..=6).contains(&unopened), "{unopened} of {pages}");
}

async fn use_damaged(store: &TraceStore, page: usize) {
    let all = query(|query| query.limit = 1000);
    let found = store.list(&all).await.unwrap();
    let lost = found.damage.clone().unwrap_or_default();
    let count = found.traces.len() + lost.count;
    assert!(count >= TRACES || lost.may_be_more, "page {page}: {count}, {lost:?}");
    if let Some(damage) = &found.damage {
        assert!(damage.warning().contains("oxikit doctor --repair"), "{}", damage.warning());
    }
    for number in (0..TRACES).step_by(9) {
        let trace = format!("t{number:03}");
        let json = named(page, store.get(&trace).await);
        let spans = named(page, store.spans(&trace).await);
        let summary = named(page, store.summary(&trace).await);
        for is_there in [json.map(|json| json.is_some()), summary.map(|found| found.is_some())] {
            assert_ne!(is_there, Some(false), "page {page}: {trace} was never there?");
        }
        assert!(spans.is_none_or(|spans| !spans.is_empty()), "page {page}: {trace}");
    }
    let by_label = query(|query| query.labels = vec![("env".into(), "dev".into())]);
    named(page, store.list(&by_label).await);
    named(page, store.logs(&LogQuery::default()).await);
    named(page, store.list(&searched()).await);
    // All acknowledged writes are stored.
    let post = json!({"traceId": "new", "spans": {"s": span("new", "s", 1500.0, json!({}))}});
    if named(page, store.ingest(post.to_string().as_bytes()).await).is_some() {
        assert_eq!(get(store, "new").await["spans"]["s"]["displayName"], "work", "page {page}");
    }
    named(page, store.delete("t000").await);
    named(page, store.prune().await);
}

async fn repair(folder: &tempfile::TempDir, page: usize) {
    let repaired = TraceStore::repair(file(folder)).unwrap();
    assert!(repaired.copy.exists());
    let part = |name: &str| repaired.parts.iter().find(|part| part.name == name).unwrap();
    let SavedPart { saved, lost, .. } = part("traces");
    assert!(saved + lost >= TRACES as u64, "page {page}: {:?}", repaired.parts);
    // A page of spans holds a dozen of them; a page above others leads to more.
    assert!(*saved >= 250 || page < 30, "page {page}: {:?}", repaired.parts);
    assert_eq!(TraceStore::check(file(folder)).unwrap(), [""; 0], "page {page}");
    let store = open(folder);
    assert_eq!(list(&store, &query(|query| query.limit = 1000)).await.len() as u64, *saved);
    // A trace whose spans are lost is listed, and not found by their words.
    let found = list(&store, &searched()).await.len() as u64;
    assert!(found <= *saved && found + part("spans").lost >= *saved, "page {page}: {found}");
    put(&store, &span("after", "s", 1500.0, json!({}))).await;
}

#[tokio::test]
async fn posts_go_on_while_the_index_of_words_is_damaged() {
    for damage in [
        "UPDATE words_data SET block = X'00ff00ff00ff00ff' WHERE id > 1",
        "DELETE FROM words_data WHERE id > 1",
        "UPDATE words_docsize SET sz = X''",
        "UPDATE words_data SET block = zeroblob(length(block))",
    ] {
        let folder = folder();
        let store = open(&folder);
        fill(&store).await;
        list(&store, &searched()).await;
        drop(store);
        let database = Connection::open(file(&folder)).unwrap();
        database.busy_timeout(std::time::Duration::from_secs(10)).unwrap();
        database.execute_batch(damage).unwrap();
        drop(database);
        let store = open_with(&folder, |options| options.max_traces = TRACES);
        let mut is_off = false;
        for number in 0..40 {
            put(&store, &span(&format!("new{number}"), "s", 1500.0, json!({"said": "more"}))).await;
            let found = named(0, store.list(&searched()).await);
            is_off |= found.is_none();
            assert!(!is_off || found.is_none(), "{damage}: it comes back by itself");
            store.prune().await.unwrap();
        }
        assert_eq!(list(&store, &query(|query| query.limit = 1000)).await.len(), TRACES);
        drop(store);
        bytes_of(&file(&folder));
        TraceStore::repair(file(&folder)).unwrap();
        let store = open(&folder);
        let more = query(|query| {
            query.text = Some("more".into());
            query.limit = 1000;
        });
        assert_eq!(list(&store, &more).await.len(), 40, "{damage}");
    }
}

#[test]
fn a_foreign_file_is_not_repaired() {
    let folder = folder();
    let other = Connection::open(file(&folder)).unwrap();
    other.execute_batch("CREATE TABLE accounts (id)").unwrap();
    drop(other);
    let before = std::fs::read(file(&folder)).unwrap();
    assert!(TraceStore::repair(file(&folder)).is_err());
    assert_eq!(std::fs::read(file(&folder)).unwrap(), before);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
}
