//! `oxikit doctor --repair`.

use std::fs::{self, File};
use std::path::Path;

use oxikit_core::ports::ProjectStore;
use oxikit_sql::SqliteProject;
use serde_json::Value;

use super::kit::run;

const PAGE: usize = 4096;

/// A project whose database of datasets has a damaged page.
async fn damaged_project(root: &Path) {
    fs::write(root.join("go.mod"), "").unwrap();
    let path = root.join(".oxikit/project.db");
    let store = SqliteProject::open(&path).unwrap();
    for number in 0..50 {
        let json = format!("[\"sample {number}\",\"{}\"]", "x".repeat(3000));
        store.put_document("dataset.samples", &format!("d{number}"), json, None).await.unwrap();
    }
    drop(store);
    while path.with_file_name("project.db-wal").exists() {
        tokio::task::yield_now().await;
    }
    let mut bytes = fs::read(&path).unwrap();
    let mark = b"sample 17";
    let place = bytes.windows(mark.len()).position(|window| window == mark).unwrap();
    bytes[place / PAGE * PAGE..][..PAGE].fill(0xff);
    fs::write(&path, bytes).unwrap();
}

/// The finding about the project database.
fn finding(found: &Value) -> (String, String) {
    let found = found.as_array().unwrap().iter();
    let found = found.filter(|finding| finding["check"] == "project database");
    let text = |finding: &Value, name: &str| finding[name].as_str().unwrap().to_owned();
    found.map(|finding| (text(finding, "verdict"), text(finding, "detail"))).next().unwrap()
}

#[tokio::test]
async fn a_damaged_database_is_found_and_repaired() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    damaged_project(root).await;
    let (verdict, detail) = finding(&run(root, &["doctor", "--json"]).json());
    assert_eq!(verdict, "bad", "{detail}");

    // A repair is rejected while the developer tools have it open.
    let lock = File::create(root.join(".oxikit/manager.lock")).unwrap();
    lock.lock().unwrap();
    let refused = run(root, &["doctor", "--repair"]);
    assert_eq!(refused.code, 3, "{refused:?}");
    assert!(refused.stderr.contains("end them"), "{refused:?}");
    drop(lock);

    let repaired = run(root, &["doctor", "--repair", "--json"]);
    assert_eq!(repaired.code, 0, "{repaired:?}");
    let (verdict, detail) = finding(&repaired.json());
    assert_eq!(verdict, "good");
    assert!(detail.contains("49 documents saved, 1 lost"), "{detail}");
    let kept = fs::read_dir(root.join(".oxikit")).unwrap().flatten();
    let kept = kept.filter(|file| file.file_name().to_string_lossy().contains(".damaged-"));
    assert_eq!(kept.count(), 1, "the damaged file is kept");
    let (verdict, detail) = finding(&run(root, &["doctor", "--json"]).json());
    assert_eq!((&*verdict, &*detail), ("good", "whole"));
    let again = run(root, &["doctor", "--repair"]);
    assert!(again.stdout.contains("project database: whole"), "{again:?}");
    let store = SqliteProject::open(root.join(".oxikit/project.db")).unwrap();
    assert_eq!(store.documents("dataset.samples").await.unwrap().documents.len(), 49);
}
