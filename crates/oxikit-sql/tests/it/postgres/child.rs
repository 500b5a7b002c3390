//! This test program once more, as another process with a role to play.

use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use oxikit_core::ports::{Owner, SessionStore, SnapshotWrite, StoreError, Term};
use oxikit_sql::PostgresStore;

use super::server::store_in;
use super::turns::{LONG, after, turn};

const ROLE: &str = "OXIKIT_TEST_ROLE";
const SCHEMA: &str = "OXIKIT_TEST_SCHEMA";
/// The beginning of a line for the parent; the test harness prints other lines.
const MARK: &str = "child: ";

/// A process that plays a role; it is killed when dropped.
pub(super) struct Player {
    process: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Player {
    pub(super) fn start(role: &str, url: &str, schema: &str) -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "postgres::child::play", "--nocapture"])
            .env(ROLE, role)
            .env(SCHEMA, schema)
            .env("OXIKIT_TEST_POSTGRES", url)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        Self { process, lines }
    }

    /// The next thing it says; `None` when it is gone.
    pub(super) fn hear(&mut self) -> Option<String> {
        let mut lines = self.lines.by_ref().map_while(Result::ok);
        lines.find_map(|line| Some(line.split_once(MARK)?.1.to_owned()))
    }

    pub(super) fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    pub(super) fn signal(&self, signal: &str) {
        let process = self.process.id().to_string();
        assert!(Command::new("kill").args([signal, &process]).status().unwrap().success());
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        _ = self.process.kill();
        _ = self.process.wait();
    }
}

/// Plays the role that the environment names; without one it does nothing.
#[tokio::test(flavor = "multi_thread")]
async fn play() {
    let (Ok(role), Ok(schema)) = (std::env::var(ROLE), std::env::var(SCHEMA)) else { return };
    let store = store_in(&std::env::var("OXIKIT_TEST_POSTGRES").unwrap(), &schema).await;
    match role.as_str() {
        "hold" => hold(&store).await,
        "freeze" => freeze(&store).await,
        "write" => write(&store).await,
        "take over" => take_over(&store).await,
        name => eight_writers(&store, name).await,
    }
}

#[expect(clippy::print_stdout, reason = "how a child speaks")]
fn say(text: &str) {
    println!("{MARK}{text}");
}

/// Takes the lease, notes work that goes on, and never gives it back.
async fn hold(store: &PostgresStore) {
    let owner = Owner::nobody();
    let lease = store.lease(&owner, "session", LONG).await.unwrap();
    let write = SnapshotWrite {
        lease: Some(&lease),
        work: Some("{}"),
        ..SnapshotWrite::new(&owner, "helper", "session", "pending")
    };
    store.save(write, &|_| Ok(Some(after(None, "pending")))).await.unwrap();
    say("held");
    std::future::pending().await
}

/// Takes a short lease, is stopped, and writes when it wakes.
async fn freeze(store: &PostgresStore) {
    let owner = Owner::nobody();
    let term = Term::of(Duration::from_millis(300));
    let lease = store.lease(&owner, "session", term).await.unwrap();
    say("held");
    // Stopped here; when it goes on, another one has written.
    while store.get(&owner, "taken").await.unwrap().is_none() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let write = SnapshotWrite {
        lease: Some(&lease),
        ..SnapshotWrite::new(&owner, "helper", "session", "late")
    };
    match store.save(write, &|_| Ok(Some(after(None, "late")))).await {
        Err(StoreError::Fenced(_)) => say("fenced"),
        other => say(&format!("{other:?}")),
    }
}

/// Writes for ever, and tells what was acknowledged.
async fn write(store: &PostgresStore) {
    for number in 0.. {
        let id = format!("s{number}");
        turn(store, &id).await.unwrap();
        say(&id);
    }
}

/// Takes the lease that the parent has, and stays: the announcement is sent after the
/// answer.
async fn take_over(store: &PostgresStore) {
    let term = Term { by_force: true, ..LONG };
    store.lease(&Owner::nobody(), "session", term).await.unwrap();
    say("taken");
    std::future::pending().await
}

async fn eight_writers(store: &PostgresStore, name: &str) {
    let writers = (0..8).map(|writer| async move {
        for number in 0..10 {
            turn(store, &format!("{name}-{writer}-{number}")).await.unwrap();
        }
    });
    futures_util::future::join_all(writers).await;
    say("done");
}
