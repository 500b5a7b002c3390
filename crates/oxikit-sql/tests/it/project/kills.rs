//! Processes that are killed: this test program again, whose environment names the role to play.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use oxikit_core::ports::ProjectStore;
use oxikit_sql::SqliteProject;
use rusqlite::Connection;

use super::{file, folder, ids, make_old_traces};

const ROLE: &str = "OXIKIT_SQL_PROJECT_ROLE";
const FILE: &str = "OXIKIT_SQL_PROJECT_FILE";
/// The beginning of a line for the parent; the test harness prints other lines.
const MARK: &str = "child: ";

fn start(role: &str, file: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "project::kills::play", "--nocapture"])
        .env(ROLE, role)
        .env(FILE, file)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Plays the role of the environment; without one there is nothing to test.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn play() {
    let (Ok(role), Ok(file)) = (std::env::var(ROLE), std::env::var(FILE)) else { return };
    let path = Path::new(&file);
    if role == "move" {
        println!("{MARK}begins");
        let store = SqliteProject::open_beside(path, &path.with_file_name("traces.db")).unwrap();
        println!("{MARK}{}", ids(&store, "dataset").await.len());
        return;
    }
    let store = SqliteProject::open(path).unwrap();
    for number in 0.. {
        let id = format!("d{number}");
        store.put_document("dataset", &id, format!("[{number}]"), Some(0)).await.unwrap();
        println!("{MARK}{id}");
    }
}

#[tokio::test]
async fn what_was_acknowledged_outlives_a_kill() {
    let folder = folder();
    let mut child = start("write", &file(&folder));
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let mut acknowledged = Vec::new();
    while acknowledged.len() < 50 {
        let line = lines.next().unwrap();
        acknowledged.extend(line.split_once(MARK).map(|(_, id)| id.to_owned()));
    }
    child.kill().unwrap();
    acknowledged.extend(lines.filter_map(|line| Some(line.split_once(MARK)?.1.to_owned())));
    child.wait().unwrap();
    let found = ids(&SqliteProject::open(file(&folder)).unwrap(), "dataset").await;
    assert!(
        acknowledged.iter().all(|id| found.contains(id)),
        "{} of {}",
        found.len(),
        acknowledged.len()
    );
}

#[tokio::test]
async fn a_kill_in_the_middle_of_the_move_loses_nothing() {
    const DOCUMENTS: u32 = 400;
    let folder = folder();
    let old = folder.path().join("traces.db");
    let connection = make_old_traces(&old);
    connection.execute_batch("BEGIN").unwrap();
    for number in 0..DOCUMENTS {
        connection
            .execute(
                "INSERT INTO documents (kind, id, version, created_at, updated_at, json)
                 VALUES ('dataset', ?1, 1, 1000, 2000, ?2)",
                (format!("d{number}"), format!("[\"{}\"]", "x".repeat(20_000))),
            )
            .unwrap();
    }
    connection.execute_batch("COMMIT").unwrap();
    drop(connection);
    // Killed a little later each time, until one is not killed any more.
    for step in 0.. {
        let mut child = start("move", &file(&folder));
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        lines.find(|line| line.contains(MARK)).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(step * 7));
        child.kill().unwrap();
        child.wait().unwrap();
        let store = SqliteProject::open(file(&folder)).unwrap();
        let (new, old) = (ids(&store, "dataset").await.len() as u32, left(&old));
        assert!(new == 0 && old == DOCUMENTS || new == DOCUMENTS, "step {step}: {new} and {old}");
        if old == 0 {
            break;
        }
    }
}

fn left(path: &Path) -> u32 {
    let old = Connection::open(path).unwrap();
    old.query_row("SELECT COUNT(*) FROM documents", [], |row| row.get(0)).unwrap()
}
