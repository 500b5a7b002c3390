//! Several processes on one directory. This test binary runs itself again, with
//! one test and a role in the environment.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use oxikit::wire::{SessionSnapshot, SessionState};
use oxikit::{FileLayout, FileSessions, Message};
use oxikit_core::ports::{Owner, SessionStore, SnapshotWrite, StoreError, Term};
use serde_json::json;
use tempfile::TempDir;

use super::{LAYOUTS, open, open_with, put, snapshot};

const ROLE: &str = "OXIKIT_TEST_ROLE";
const DIRECTORY: &str = "OXIKIT_TEST_DIRECTORY";
const WRITERS: u64 = 8;
const WRITES: u64 = 10;
const LONG: Term = Term { ttl: Duration::from_secs(600), by_force: false };

/// Another process in this role.
struct Process(Child);

impl Process {
    fn start(role: &str, directory: &Path) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "file_sessions::processes::the_other_process", "--nocapture"]);
        command.env(ROLE, role).env(DIRECTORY, directory).stdout(Stdio::piped());
        Self(command.spawn().unwrap())
    }

    /// Waits for this line.
    fn wait_for(&mut self, line: &str) {
        let lines = BufReader::new(self.0.stdout.take().unwrap()).lines();
        assert!(lines.map_while(Result::ok).any(|found| found.ends_with(line)), "no `{line}`");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended.
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_other_process() {
    let (Ok(role), Some(directory)) = (std::env::var(ROLE), std::env::var_os(DIRECTORY)) else {
        return;
    };
    let store = Arc::new(FileSessions::open(directory).unwrap());
    match role.as_str() {
        "writer" => write_much(store, 1).await,
        "holder" => {
            store.lease(&Owner::nobody(), "s", LONG).await.unwrap();
            println!("held");
            std::future::pending::<()>().await;
        }
        "take over" => {
            let by_force = Term { by_force: true, ..LONG };
            store.lease(&Owner::nobody(), "s", by_force).await.unwrap();
            println!("taken");
        }
        "later" => {
            tokio::time::sleep(Duration::from_millis(300)).await;
            put(&store, "s", &snapshot("a", None, 1)).await.unwrap();
        }
        "talker" => talk(&store, |id| println!("answered {id}")).await,
        role => panic!("there is no role `{role}`"),
    }
}

/// Goes on with the session for ever, a message a turn, and tells each turn when it is
/// answered.
async fn talk(store: &FileSessions, tell: impl Fn(&str)) {
    let latest = store.latest(&Owner::nobody(), "s").await.unwrap();
    let mut row = latest.map(|latest| latest.snapshot).unwrap_or_default();
    loop {
        let parent = Some(row.snapshot_id).filter(|id| !id.is_empty());
        let mut messages = row.state.and_then(|state| state.messages).unwrap_or_default();
        let id = format!("turn-{}", messages.len());
        messages.push(Arc::new(Message::user(id.clone())));
        let state = SessionState { messages: Some(messages), ..SessionState::default() };
        row = SessionSnapshot { state: Some(state), ..snapshot(&id, parent.as_deref(), 1) };
        put(store, "s", &row).await.unwrap();
        tell(&id);
    }
}

/// Each writer counts on its own line of the state, and together with all others.
async fn write_much(store: Arc<FileSessions>, process: u64) {
    let writers = (0..WRITERS).map(|writer| {
        let store = store.clone();
        tokio::spawn(async move {
            let (owner, name) = (Owner::nobody(), format!("{process}-{writer}"));
            for turn in 1..=WRITES {
                let count = |row: Option<&SessionSnapshot>| Ok(Some(counted(row, &name, turn)));
                let write = SnapshotWrite::new(&owner, "helper", "s", "count");
                store.save(write, &count).await.unwrap();
                let id = format!("{name}-{turn}");
                put(&store, "s", &snapshot(&id, Some("count"), 2)).await.unwrap();
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
}

fn counted(row: Option<&SessionSnapshot>, writer: &str, turn: u64) -> SessionSnapshot {
    let custom = row.and_then(|row| row.state.as_ref()?.custom.as_deref());
    let mut custom = custom.cloned().unwrap_or(json!({ "all": 0 }));
    custom["all"] = json!(custom["all"].as_u64().unwrap() + 1);
    custom[writer] = json!(turn);
    let state = SessionState { custom: Some(Arc::new(custom)), ..SessionState::default() };
    SessionSnapshot { state: Some(state), ..snapshot("count", None, 1) }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_lose_no_update() {
    for layout in LAYOUTS {
        check_updates(layout).await;
    }
}

async fn check_updates(layout: FileLayout) {
    let directory = TempDir::new().unwrap();
    let store = Arc::new(open_with(&directory, layout));
    let mut other = Process::start("writer", directory.path());
    write_much(store.clone(), 0).await;
    let status = tokio::task::spawn_blocking(move || other.0.wait()).await.unwrap().unwrap();
    assert!(status.success());

    let all = 2 * WRITERS * WRITES;
    let found = store.get(&Owner::nobody(), "count").await.unwrap().unwrap();
    assert_eq!(found.revision, all);
    let custom = found.snapshot.state.unwrap().custom.unwrap();
    assert_eq!(custom["all"], all);
    let names = (0..2).flat_map(|process| (0..WRITERS).map(move |n| format!("{process}-{n}")));
    for name in names {
        assert_eq!(custom[&name], WRITES, "{name}");
    }
    let tree = store.tree(&Owner::nobody(), "s").await.unwrap();
    assert_eq!(tree.len() as u64, all + 1, "and every new row is there");
    for node in &tree {
        store.get(&Owner::nobody(), &node.snapshot).await.unwrap().expect("it can be read");
    }
}

/// The process is killed in the middle of whatever it does, and another one goes on.
#[tokio::test(flavor = "multi_thread")]
async fn a_killed_process_has_lost_nothing_that_it_answered() {
    for layout in LAYOUTS {
        let directory = TempDir::new().unwrap();
        drop(open_with(&directory, layout));
        for kill in 0..5 {
            let mut talker = Process::start("talker", directory.path());
            let lines = BufReader::new(talker.0.stdout.take().unwrap()).lines();
            let mut answers = lines.map_while(Result::ok).filter(|line| line.contains("answered "));
            let first: Vec<_> = answers.by_ref().take(3 + kill).collect();
            talker.0.kill().unwrap();
            talker.0.wait().unwrap();
            // The writes that the process reported before it died.
            let last = answers.last().or(first.last().cloned()).unwrap();
            let (_, last) = last.split_once("answered turn-").unwrap();
            check_turns(&open(&directory), last.parse().unwrap()).await;
        }
    }
}

/// All turns up to the last that was answered are there, each with its own messages.
async fn check_turns(store: &FileSessions, last: usize) {
    for turn in 0..=last {
        let found = store.get(&Owner::nobody(), &format!("turn-{turn}")).await.unwrap();
        let messages = found.expect("it was answered").snapshot.state.unwrap().messages.unwrap();
        let texts: Vec<_> = messages.iter().map(|message| message.text()).collect();
        let expected: Vec<_> = (0..=turn).map(|turn| format!("turn-{turn}")).collect();
        assert_eq!(texts, expected);
    }
    let tree = store.tree(&Owner::nobody(), "s").await.unwrap();
    assert!((last + 1..=last + 2).contains(&tree.len()), "{} after {last}", tree.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_ends_with_its_process() {
    let directory = TempDir::new().unwrap();
    let mut holder = Process::start("holder", directory.path());
    holder.wait_for("held");
    let (store, nobody) = (open(&directory), Owner::nobody());
    let refused = store.lease(&nobody, "s", LONG).await;
    assert!(matches!(refused, Err(StoreError::Conflict(_))), "{refused:?}");
    holder.0.kill().unwrap();
    holder.0.wait().unwrap();
    let begin = Instant::now();
    let lease = store.lease(&nobody, "s", LONG).await.unwrap();
    assert!(begin.elapsed() < Duration::from_secs(5), "at once");
    assert_eq!(lease.fence, 2);
}

#[tokio::test]
async fn a_lease_ends_with_its_store_and_not_with_another_one() {
    let directory = TempDir::new().unwrap();
    let (one, other, nobody) = (open(&directory), open(&directory), Owner::nobody());
    let lease = one.lease(&nobody, "s", LONG).await.unwrap();
    drop(open(&directory));
    assert!(matches!(other.lease(&nobody, "s", LONG).await, Err(StoreError::Conflict(_))));
    one.renew(&nobody, &lease).await.unwrap();
    drop(one);
    assert_eq!(other.lease(&nobody, "s", LONG).await.unwrap().fence, 2);
}

/// A lease that is given back adds a line to a file, which leaves no trace in the
/// folder: others must see it all the same.
#[tokio::test]
async fn a_lease_that_is_given_back_is_seen_by_others_who_had_looked() {
    let directory = TempDir::new().unwrap();
    let (one, other, nobody) = (open(&directory), open(&directory), Owner::nobody());
    let lease = one.lease(&nobody, "s", LONG).await.unwrap();
    let write = SnapshotWrite {
        lease: Some(&lease),
        work: Some("again"),
        ..SnapshotWrite::new(&nobody, "helper", "s", "a")
    };
    one.save(write, &|_| Ok(Some(snapshot("a", None, 1)))).await.unwrap();
    // Long enough that the store trusts the modification times and keeps its index.
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(other.stalled("helper", 10).await.unwrap(), []);
    one.release(&nobody, lease).await.unwrap();
    assert_eq!(other.stalled("helper", 10).await.unwrap().len(), 1);
}

/// As by a process that was stopped: its lock is held, but it does not renew.
#[tokio::test]
async fn a_lease_that_is_not_renewed_runs_out_for_other_processes() {
    let directory = TempDir::new().unwrap();
    let (frozen, other, nobody) = (open(&directory), open(&directory), Owner::nobody());
    let ttl = Duration::from_millis(300);
    let lease = frozen.lease(&nobody, "s", Term::of(ttl)).await.unwrap();
    let taken = async || other.lease(&nobody, "s", Term::of(ttl)).await;
    assert!(matches!(taken().await, Err(StoreError::Conflict(_))), "from now on it is counted");
    tokio::time::sleep(ttl / 2).await;
    frozen.renew(&nobody, &lease).await.unwrap();
    assert!(matches!(taken().await, Err(StoreError::Conflict(_))), "and again, for it was renewed");
    tokio::time::sleep(ttl * 2 / 3).await;
    assert!(matches!(taken().await, Err(StoreError::Conflict(_))));
    tokio::time::sleep(ttl * 2 / 3).await;
    taken().await.unwrap();
    let row = snapshot("late", None, 1);
    let write =
        SnapshotWrite { lease: Some(&lease), ..SnapshotWrite::new(&nobody, "a", "s", "late") };
    let late = frozen.save(write, &|_| Ok(Some(row.clone()))).await;
    assert!(matches!(late, Err(StoreError::Fenced(_))), "{late:?}");
}

#[tokio::test]
async fn writes_of_another_process_are_noticed() {
    let directory = TempDir::new().unwrap();
    let (store, nobody) = (open(&directory), Owner::nobody());
    let _writer = Process::start("later", directory.path());
    let changed = store.changed(&nobody, "a", 0);
    tokio::time::timeout(Duration::from_secs(20), changed)
        .await
        .expect("the write of the other process was not noticed within 20 s")
        .unwrap();
    let found = store.get(&nobody, "a").await.unwrap();
    assert_eq!(found.map(|found| found.revision), Some(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_that_another_process_takes_is_lost_within_a_second() {
    let directory = TempDir::new().unwrap();
    let (store, nobody) = (open(&directory), Owner::nobody());
    let lease = store.lease(&nobody, "s", LONG).await.unwrap();
    let path = directory.path().to_owned();
    let taken = tokio::task::spawn_blocking(move || {
        Process::start("take over", &path).wait_for("taken");
        Instant::now()
    });
    store.lease_lost(&nobody, &lease).await.unwrap();
    let noticed = Instant::now();
    let delay = noticed.saturating_duration_since(taken.await.unwrap());
    println!("noticed after {delay:?}");
    assert!(delay < Duration::from_secs(1), "{delay:?}");
}
