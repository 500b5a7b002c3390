//! The least that a history of documents costs: a row an edit in a table without an index, on the disk
//! before it is answered (`synchronous=FULL`), in `$TMPDIR`.
//!
//! A thread of its own writes, as SQLite blocks; edits that wait share a commit.

use std::sync::{OnceLock, mpsc};

use rusqlite::Connection;
use tokio::sync::oneshot;

struct Edit {
    text: String,
    stored: oneshot::Sender<()>,
}

/// Stores a text.
pub async fn store(text: &str) {
    static WRITER: OnceLock<mpsc::Sender<Edit>> = OnceLock::new();
    let (stored, answer) = oneshot::channel();
    let edit = Edit { text: text.to_owned(), stored };
    WRITER.get_or_init(start).send(edit).expect("the writer runs");
    answer.await.expect("the writer answers");
}

fn start() -> mpsc::Sender<Edit> {
    let (edits, inbox) = mpsc::channel();
    let connection = Connection::open(std::env::temp_dir().join("history.db")).expect("open");
    connection.pragma_update(None, "journal_mode", "WAL").expect("WAL");
    connection.pragma_update(None, "synchronous", "FULL").expect("synchronous");
    connection
        .execute_batch(
            "CREATE TABLE IF NOT EXISTS edits (number INTEGER PRIMARY KEY, text TEXT NOT NULL)",
        )
        .expect("table");
    std::thread::spawn(move || write(&connection, &inbox));
    edits
}

fn write(connection: &Connection, inbox: &mpsc::Receiver<Edit>) {
    while let Ok(first) = inbox.recv() {
        let edits: Vec<Edit> = std::iter::once(first).chain(inbox.try_iter()).collect();
        execute(connection, "BEGIN IMMEDIATE", []);
        for edit in &edits {
            execute(connection, "INSERT INTO edits (text) VALUES (?1)", [&edit.text]);
        }
        execute(connection, "COMMIT", []);
        for edit in edits {
            let _ = edit.stored.send(());
        }
    }
}

fn execute(connection: &Connection, sql: &str, values: impl rusqlite::Params) {
    connection.prepare_cached(sql).and_then(|mut sql| sql.execute(values)).expect("written");
}
