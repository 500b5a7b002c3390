//! Which ids are files, and that nothing outside of the directory is.

use std::fs;
use std::path::Path;
use std::time::Duration;

use oxikit::FileSessions;
use oxikit::wire::StatusCode;
use oxikit_core::Status;
use oxikit_core::ports::{Owner, SessionStore, SnapshotWrite, StoreError, Term};
use tempfile::TempDir;

use super::{files_in, latest, open, put, snapshot};

/// Everything that takes the id refuses it.
async fn check_refused(store: &FileSessions, id: &str) {
    let (nobody, term) = (Owner::nobody(), Term::of(Duration::from_secs(1)));
    let refusals = [
        put(store, id, &snapshot("plain", None, 1)).await.err(),
        store.latest(&nobody, id).await.err(),
        store.tree(&nobody, id).await.err(),
        store.lease(&nobody, id, term).await.err(),
        store.delete(&nobody, id).await.err(),
        put(store, "plain", &snapshot(id, None, 1)).await.err(),
        store.get(&nobody, id).await.err(),
        store.changed(&nobody, id, 0).await.err(),
    ];
    for refusal in refusals {
        let refusal = refusal.unwrap_or_else(|| panic!("{id:?} is taken"));
        assert!(matches!(refusal, StoreError::Invalid(_)), "{id:?}: {refusal}");
        assert_eq!(Status::from(refusal).code(), StatusCode::InvalidArgument);
    }
}

#[tokio::test]
async fn an_id_is_a_plain_file_name() {
    let root = TempDir::new().unwrap();
    let store = FileSessions::open(root.path().join("store")).unwrap();
    let before = files_in(root.path());
    let long = "x".repeat(251);
    let many = ["a", "..", ".", "%2e%2e", "x.json"].map(|part| {
        ["/", "\\", "//", "/./", "/../", "\\..\\", "\0"].map(|between| {
            [format!("{part}{between}x"), format!("{between}{part}"), between.into()]
        })
    });
    let many = many.as_flattened().iter().flatten().map(String::as_str);
    for id in ["", " ", "\t", ".", "..", &long].into_iter().chain(many) {
        check_refused(&store, id).await;
    }
    assert_eq!(files_in(root.path()), before, "nothing is written");
}

#[tokio::test]
async fn odd_names_are_names() {
    let directory = TempDir::new().unwrap();
    let store = open(&directory);
    let long = "x".repeat(250);
    let ids = ["...", "..x", "%2e%2e", "a b", "-rf", "~", "é🦀", ".pointers", ".oxikit", "s.json"];
    for (second, id) in (0..).zip(ids.into_iter().chain([long.as_str()])) {
        put(&store, id, &snapshot(id, None, second)).await.unwrap();
        assert_eq!(latest(&store, id).await.as_deref(), Some(id));
    }
    let ours = |path: &Path| path.starts_with(".oxikit");
    assert!(files_in(directory.path()).iter().all(|path| path.starts_with("global") || ours(path)));
}

#[tokio::test]
async fn owners_cannot_leave_their_folder() {
    let directory = TempDir::new().unwrap();
    let store = open(&directory);
    let names = ["..", "../global", "global", "a/b", "", "A", "a", ".", "u-a", "a.u-b", "é\0"];
    let alone = names.map(Owner::principal);
    let in_tenant = names.map(|name| Owner::principal("a").of_tenant(name));
    for owner in alone.iter().chain(&in_tenant) {
        assert_eq!(store.get(owner, "row").await.unwrap(), None, "{owner:?} has its own");
        let write = SnapshotWrite::new(owner, "helper", "s", "row");
        store.save(write, &|_| Ok(Some(snapshot("row", None, 1)))).await.unwrap();
    }
    let folders = fs::read_dir(directory.path()).unwrap().count();
    assert_eq!(folders, alone.len() + in_tenant.len() + 1);
    let long = Owner::principal("x".repeat(300));
    let refused = store.get(&long, "row").await.unwrap_err();
    assert!(matches!(refused, StoreError::Invalid(_)), "{refused}");
}

#[cfg(unix)]
#[tokio::test]
async fn links_are_not_followed() {
    use std::os::unix::fs::symlink;

    let root = TempDir::new().unwrap();
    let outside = root.path().join("outside");
    fs::create_dir(&outside).unwrap();
    let mut secret = snapshot("link", None, 1);
    secret.session_id = Some("s".to_owned());
    let secret = serde_json::to_string(&secret).unwrap();
    fs::write(outside.join("link.json"), &secret).unwrap();
    let directory = root.path().join("store");
    let store = FileSessions::open(&directory).unwrap();
    put(&store, "s", &snapshot("a", None, 0)).await.unwrap();

    symlink(outside.join("link.json"), directory.join("global/link.json")).unwrap();
    let read = store.get(&Owner::nobody(), "link").await;
    assert!(matches!(read, Err(StoreError::Damaged(..))), "{read:?}");
    let written = put(&store, "s", &snapshot("link", None, 2)).await;
    assert!(matches!(written, Err(StoreError::Damaged(..))), "{written:?}");
    let tree = store.tree(&Owner::nobody(), "s").await.unwrap();
    assert_eq!(tree.len(), 1, "it is in no session: {tree:?}");

    symlink(&outside, directory.join("u-eve")).unwrap();
    let eve = Owner::principal("eve");
    let read = store.get(&eve, "link").await;
    assert!(matches!(read, Err(StoreError::Unavailable(_))), "{read:?}");
    let write = SnapshotWrite::new(&eve, "helper", "s", "new");
    let written = store.save(write, &|_| Ok(Some(snapshot("new", None, 1)))).await;
    assert!(matches!(written, Err(StoreError::Unavailable(_))), "{written:?}");
    assert_eq!(fs::read_to_string(outside.join("link.json")).unwrap(), secret);
    assert_eq!(files_in(&outside).len(), 1);
}

#[cfg(unix)]
#[tokio::test]
async fn files_are_for_their_user_only() {
    use std::os::unix::fs::PermissionsExt;

    let root = TempDir::new().unwrap();
    let directory = root.path().join("new/store");
    let store = FileSessions::open(&directory).unwrap();
    put(&store, "s", &snapshot("a", None, 1)).await.unwrap();
    let lease = store.lease(&Owner::nobody(), "s", Term::of(Duration::from_secs(1))).await.unwrap();
    store.release(&Owner::nobody(), lease).await.unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for file in files_in(root.path()) {
        let file = root.path().join(file);
        assert_eq!(mode(&file), 0o600, "{}", file.display());
        let folders = file.ancestors().skip(1).take_while(|folder| *folder != root.path());
        for folder in folders {
            assert_eq!(mode(folder), 0o700, "{}", folder.display());
        }
    }
}
