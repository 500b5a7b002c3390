//! Paths at which a store does not find its own file: each is refused with the reason, or used.

use std::fs;
use std::path::Path;

use oxikit_sql::{OpenError, SqliteProject, SqliteStore};
use oxikit_traces::TraceStore;
use rusqlite::Connection;
use tempfile::TempDir;

type Make = fn(&Path);
/// Which error, or `""` if the file is used.
type Expected = &'static str;

const FILES: [(&str, Make, Expected); 14] = [
    ("nothing", |_| (), ""),
    ("an empty file", |path| fs::write(path, "").unwrap(), ""),
    ("a text", |path| fs::write(path, "no database".repeat(900)).unwrap(), "NotADatabase"),
    ("a short text", |path| fs::write(path, "x").unwrap(), "NotADatabase"),
    ("zeros", |path| fs::write(path, [0; 8192]).unwrap(), "NotADatabase"),
    ("a folder", |path| fs::create_dir(path).unwrap(), "NotAFile"),
    ("a pipe", make_pipe, "NotAFile"),
    ("tables of another program", |path| foreign(path, 0, 0), "Foreign"),
    ("those with a version", |path| foreign(path, 0, 1), "Foreign"),
    ("those with a mark", |path| foreign(path, 77, 0), "Foreign"),
    ("those with a mark and a version", |path| foreign(path, 77, 1), "Foreign"),
    ("a mark of another program without tables", |path| marked(path, 77), "Foreign"),
    ("an own file and a log of noise", with_noise_beside, ""),
    ("a file that was cut", cut, "Damaged"),
];

fn make_pipe(path: &Path) {
    let made = std::process::Command::new("mkfifo").arg(path).status().unwrap();
    assert!(made.success());
}

fn foreign(path: &Path, application: i32, version: i32) {
    let connection = Connection::open(path).unwrap();
    connection
        .execute_batch("CREATE TABLE accounts (id); INSERT INTO accounts VALUES (1)")
        .unwrap();
    connection.pragma_update(None, "application_id", application).unwrap();
    connection.pragma_update(None, "user_version", version).unwrap();
}

fn marked(path: &Path, application: i32) {
    let connection = Connection::open(path).unwrap();
    connection.pragma_update(None, "application_id", application).unwrap();
}

fn beside(path: &Path, ending: &str) -> std::path::PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

fn with_noise_beside(path: &Path) {
    for ending in ["-wal", "-shm"] {
        let mut noise = vec![0; 20_000];
        fastrand::Rng::with_seed(7).fill(&mut noise);
        fs::write(beside(path, ending), noise).unwrap();
    }
}

/// The first page says that there are more.
fn cut(path: &Path) {
    let connection = Connection::open(path).unwrap();
    for table in 0..100 {
        connection.execute(&format!("CREATE TABLE documents{table} (a, b, c)"), []).unwrap();
    }
    drop(connection);
    fs::File::options().write(true).open(path).unwrap().set_len(4096).unwrap();
}

fn check(open: impl Fn(&Path) -> Result<(), OpenError>) {
    for (name, make, expected) in FILES {
        let folder = TempDir::new_in("/dev/shm").or_else(|_| TempDir::new()).unwrap();
        let path = folder.path().join("store.db");
        make(&path);
        let before = (expected == "Foreign").then(|| fs::read(&path).unwrap());
        let found = match open(&path) {
            Ok(()) => String::new(),
            Err(error) => {
                assert!(error.to_string().len() > 20, "{name}: {error}");
                format!("{error:?}")
            }
        };
        let is_expected = match expected {
            "" => found.is_empty(),
            expected => found.starts_with(expected),
        };
        assert!(is_expected, "{name}: {found} instead of {expected}");
        if before.is_some() {
            assert_eq!(fs::read(&path).ok(), before, "{name}: another's file is not changed");
            assert!(!beside(&path, "-wal").exists(), "{name}");
        }
    }
}

#[test]
fn a_trace_store_takes_its_own_files_only() {
    check(|path| TraceStore::open(path).map(drop));
}

#[test]
fn a_project_store_takes_its_own_files_only() {
    check(|path| SqliteProject::open(path).map(drop));
}

#[test]
fn a_session_store_takes_its_own_files_only() {
    check(|path| SqliteStore::open(path).map(drop));
}

#[test]
fn stores_do_not_take_each_others_files() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name);
    drop(TraceStore::open(path("traces")).unwrap());
    drop(SqliteProject::open(path("project")).unwrap());
    drop(SqliteStore::open(path("sessions")).unwrap());
    for other in ["project", "sessions"] {
        assert!(matches!(TraceStore::open(path(other)), Err(OpenError::Foreign)), "{other}");
    }
    for other in ["traces", "sessions"] {
        assert!(matches!(SqliteProject::open(path(other)), Err(OpenError::Foreign)), "{other}");
    }
    for other in ["project", "traces"] {
        assert!(matches!(SqliteStore::open(path(other)), Err(OpenError::Foreign)), "{other}");
    }
}

#[test]
fn own_files_from_before_files_were_marked_are_known_by_their_tables() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("app.db");
    drop(SqliteStore::open(&path).unwrap());
    let mark = |value: Option<i32>| {
        let connection = Connection::open(&path).unwrap();
        connection.busy_timeout(std::time::Duration::from_secs(10)).unwrap();
        if let Some(value) = value {
            connection.pragma_update(None, "application_id", value).unwrap();
        }
        connection.pragma_query_value(None, "application_id", |row| row.get::<_, i32>(0)).unwrap()
    };
    let own = mark(None);
    assert_ne!(own, 0);
    mark(Some(0));
    drop(SqliteStore::open(&path).unwrap());
    assert_eq!(mark(None), own, "it is marked now");
}
