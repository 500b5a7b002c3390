//! Other processes: this test program again, whose environment names the role to play.

use std::io::{BufRead, BufReader, Lines};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use oxikit_core::ports::contract::EarlyAnswers;
use oxikit_core::ports::{Owner, SessionStore, SnapshotWrite, StoreError, Term};
use oxikit_sql::SqliteStore;

use super::{after, put, turn};

const ROLE: &str = "OXIKIT_SQL_TEST_ROLE";
const FILE: &str = "OXIKIT_SQL_TEST_FILE";
/// The beginning of a line for the parent; the test harness prints other lines.
const MARK: &str = "child: ";

/// A process that plays a role. It is killed when dropped.
pub(super) struct Player {
    process: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Player {
    pub(super) fn start(role: &str, file: &Path) -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "sqlite::child::play", "--nocapture"])
            .env(ROLE, role)
            .env(FILE, file)
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

    /// Ends it as a power cut would.
    pub(super) fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    pub(super) fn signal(&self, signal: &str) {
        let pid = self.process.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        _ = self.process.kill();
        _ = self.process.wait();
    }
}

/// Plays the role of the environment; without one there is nothing to test.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn play() {
    let (Ok(role), Ok(file)) = (std::env::var(ROLE), std::env::var(FILE)) else { return };
    let store = SqliteStore::open(file).unwrap();
    match role.as_str() {
        "hold" => hold(&store).await,
        "freeze" => freeze(&store).await,
        "write" => write(&store).await,
        "write-too-early" => write(&EarlyAnswers::new(store.sessions())).await,
        "change" => change(&store).await,
        "take over" => take_over(&store).await,
        _ => eight_writers(&store, &role).await,
    }
}

#[expect(clippy::print_stdout, reason = "how a child speaks to its parent")]
fn say(text: &str) {
    println!("{MARK}{text}");
}

/// Takes a lease and never gives it back.
async fn hold(store: &SqliteStore) {
    let term = Term::of(Duration::from_secs(600));
    store.lease(&Owner::nobody(), "session", term).await.unwrap();
    say("held");
    std::future::pending().await
}

/// Takes a short lease, is stopped, and writes when it wakes.
async fn freeze(store: &SqliteStore) {
    let owner = Owner::nobody();
    let term = Term::of(Duration::from_millis(300));
    let lease = store.lease(&owner, "session", term).await.unwrap();
    say("held");
    // The parent stops this process now, and takes the lease meanwhile.
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

/// Writes for ever and tells what was acknowledged.
async fn write(store: &impl SessionStore) {
    for number in 0.. {
        let id = format!("s{number}");
        turn(store, "session", &id).await.unwrap();
        say(&id);
    }
}

/// Writes a snapshot that the parent waits for.
async fn change(store: &SqliteStore) {
    put(store, "session", "waited-for", &after(None, "hello")).await.unwrap();
    say("written");
}

/// Takes the lease that the parent has.
async fn take_over(store: &SqliteStore) {
    let term = Term { ttl: Duration::from_secs(60), by_force: true };
    let lease = store.lease(&Owner::nobody(), "session", term).await.unwrap();
    say(&lease.fence.to_string());
}

/// Eight writers of one session.
async fn eight_writers(store: &SqliteStore, name: &str) {
    let writers = (0..8).map(|writer| async move {
        for number in 0..10 {
            turn(store, "session", &format!("{name}-{writer}-{number}")).await.unwrap();
        }
    });
    futures_util::future::join_all(writers).await;
    say("done");
}
