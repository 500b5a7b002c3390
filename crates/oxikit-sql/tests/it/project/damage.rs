//! Files of which a page cannot be read.

use oxikit_core::ports::{ProjectError, ProjectStore};
use oxikit_sql::{Damage, OpenError, SqliteProject};

use super::{file, folder, ids, open, wait_until_closed};
use oxikit_testing::pages::{PAGE, bytes_of, damaged};

const DOCUMENTS: usize = 100;

/// About a page each, so that a page is a document.
fn json(number: usize) -> String {
    format!(r#"{{"number":{number},"text":"{}"}}"#, "x".repeat(3000))
}

async fn fill() -> Vec<u8> {
    let folder = folder();
    let store = open(&folder);
    for number in 0..DOCUMENTS {
        store.put_document("dataset", &format!("d{number}"), json(number), None).await.unwrap();
    }
    drop(store);
    bytes_of(&file(&folder))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_page_harms_what_is_on_it() {
    let whole = fill().await;
    let (mut repaired, mut led_to_all) = (0, 0);
    // Each page costs two seconds of syncing: some of them, with `OXIKIT_ALL_PAGES` all.
    let is_tried = |page: &usize| {
        std::env::var_os("OXIKIT_ALL_PAGES").is_some() || *page < 8 || page.is_multiple_of(10)
    };
    for page in (0..whole.len() / PAGE).filter(is_tried) {
        let folder = folder();
        let path = file(&folder);
        std::fs::write(&path, damaged(&whole, page)).unwrap();
        match SqliteProject::open(&path) {
            Ok(store) => use_damaged(&store, page).await,
            Err(error) => {
                assert!(
                    matches!(error, OpenError::Damaged(_) | OpenError::NotADatabase),
                    "page {page}: {error:?}"
                );
                assert_eq!(page, 0, "only the first page is needed to open the file");
            }
        }
        // All writers are gone: the file can be repaired.
        wait_until_closed(&path);
        let part = SqliteProject::repair(&path).unwrap().parts.remove(0);
        // One of the pages leads to all others of the table.
        led_to_all += usize::from(part.saved < 98);
        assert!(part.saved + part.lost >= DOCUMENTS as u64, "page {page}: {part:?}");
        assert_eq!(SqliteProject::check(&path).unwrap(), [""; 0], "page {page}");
        let store = SqliteProject::open(&path).unwrap();
        let list = store.documents("dataset").await.unwrap();
        assert_eq!(Damage::of_documents(&list), None);
        store.put_document("dataset", "after", "[]".to_owned(), Some(0)).await.unwrap();
        assert_eq!(ids(&store, "dataset").await.len() as u64, part.saved + 1);
        repaired += 1;
    }
    assert!(repaired > DOCUMENTS / 10 && led_to_all <= 1, "{led_to_all} of {repaired} pages");
}

/// 99 are served and one is named, whichever page it is.
async fn use_damaged(store: &SqliteProject, page: usize) {
    let list = store.documents("dataset").await.unwrap();
    let damage = Damage::of_documents(&list);
    let lost = damage.as_ref().map_or(0, |damage| damage.count);
    assert!(list.documents.len() + lost >= DOCUMENTS, "page {page}: {lost} {damage:?}");
    if let Some(damage) = &damage {
        let warning = damage.warning();
        assert!(warning.contains("oxikit doctor --repair"), "{warning}");
        assert!(damage.names.iter().all(|name| warning.contains(name)), "{warning}");
    }
    let whole = list.documents.iter().all(|document| {
        let number = document.id.trim_start_matches('d').parse().unwrap();
        document.json == json(number)
    });
    assert!(whole, "page {page}: a document is not as it was written");
    for number in 0..DOCUMENTS {
        match store.document("dataset", &format!("d{number}")).await {
            Ok(Some(document)) => assert_eq!(document.json, json(number), "page {page}"),
            Ok(None) => panic!("page {page}: d{number} is damaged, and not: was never there"),
            Err(error) => assert!(matches!(error, ProjectError::Damaged(_)), "{error:?}"),
        }
    }
    // All acknowledged writes are stored.
    match store.put_document("dataset", "new", "[1]".to_owned(), None).await {
        Ok(_) => {
            let document = store.document("dataset", "new").await.unwrap();
            assert_eq!(document.unwrap().json, "[1]", "page {page}");
        }
        Err(error) => assert!(matches!(error, ProjectError::Damaged(_)), "{page}: {error:?}"),
    }
}

#[tokio::test]
async fn a_file_that_is_gone_takes_no_documents() {
    let folder = folder();
    let below = folder.path().join(".oxikit");
    let store = SqliteProject::open(below.join("project.db")).unwrap();
    store.put_document("dataset", "a", "[]".to_owned(), None).await.unwrap();
    std::fs::remove_dir_all(&below).unwrap();
    let error = store.put_document("dataset", "b", "[]".to_owned(), None).await.unwrap_err();
    assert!(matches!(error, ProjectError::Gone(_)), "{error:?}");
    assert!(error.to_string().contains("deleted or replaced"), "{error}");
}
