//! Processes that are killed: this test program again, told what to do by its environment.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use oxikit_sql::{ProjectStore, TraceStore};
use rusqlite::Connection;

use super::{file, folder, ids};

const ROLE: &str = "OXIKIT_SQL_PROJECT_ROLE";
const FILE: &str = "OXIKIT_SQL_PROJECT_FILE";
/// What a line for the parent begins with; the test harness prints others.
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
        let store = ProjectStore::open_beside(path, &path.with_file_name("traces.db")).unwrap();
        println!("{MARK}{}", ids(&store, "dataset").await.len());
        return;
    }
    let store = ProjectStore::open(path).unwrap();
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
    let mut heard = Vec::new();
    while heard.len() < 50 {
        let line = lines.next().unwrap();
        heard.extend(line.split_once(MARK).map(|(_, id)| id.to_owned()));
    }
    child.kill().unwrap();
    heard.extend(lines.filter_map(|line| Some(line.split_once(MARK)?.1.to_owned())));
    child.wait().unwrap();
    let found = ids(&ProjectStore::open(file(&folder)).unwrap(), "dataset").await;
    assert!(heard.iter().all(|id| found.contains(id)), "{} of {}", found.len(), heard.len());
}

#[tokio::test]
async fn a_kill_in_the_middle_of_the_move_loses_nothing() {
    const DOCUMENTS: u32 = 400;
    let folder = folder();
    let old = folder.path().join("traces.db");
    drop(TraceStore::open(&old).unwrap());
    let connection = Connection::open(&old).unwrap();
    connection.busy_timeout(std::time::Duration::from_secs(10)).unwrap();
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
        let store = ProjectStore::open(file(&folder)).unwrap();
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
