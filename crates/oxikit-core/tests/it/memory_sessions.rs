//! Sessions in memory: sharing of content does not show, memory is freed, and limits hold.

use std::sync::Arc;
use std::time::Duration;

use oxikit_core::ports::memory::{MemorySessionOptions, MemorySessions};
use oxikit_core::ports::{Owner, Retention, SessionStore, SnapshotWrite, StoreError, Term};
use oxikit_wire::{Artifact, Message, SessionSnapshot, SessionState, SnapshotStatus};
use proptest::prelude::*;
use serde_json::json;

const SESSION: &str = "session";

fn user_message(text: impl Into<String>) -> Arc<Message> {
    Arc::new(Message::user(text.into()))
}

fn snapshot(id: &str, parent: Option<&str>, messages: &[Arc<Message>]) -> SessionSnapshot {
    SessionSnapshot {
        snapshot_id: id.to_owned(),
        session_id: Some(SESSION.to_owned()),
        parent_id: parent.map(ToOwned::to_owned),
        created_at: "2026-11-15T06:32:35.495Z".to_owned(),
        status: Some(SnapshotStatus::Completed),
        state: Some(SessionState {
            session_id: Some(SESSION.to_owned()),
            messages: Some(messages.to_vec()),
            ..SessionState::default()
        }),
        ..SessionSnapshot::default()
    }
}

async fn save(store: &MemorySessions, snapshot: &SessionSnapshot) -> Result<(), StoreError> {
    let owner = Owner::nobody();
    let write = SnapshotWrite::new(&owner, "helper", SESSION, &snapshot.snapshot_id);
    store.save(write, &|_| Ok(Some(snapshot.clone()))).await.map(drop)
}

/// Something that happens to a session. Numbers choose among what is there.
#[derive(Debug, Clone)]
enum Step {
    /// A turn continues from a snapshot, with this number of new messages.
    Turn { from: usize, more: usize },
    /// One goes on from a history that was cut and filled up.
    Rewrite { from: usize, at: usize, more: usize },
    /// A snapshot is written again, with the history of another one.
    Again { row: usize, from: usize, more: usize },
    /// A snapshot goes on from what was read from JSON.
    Copy { from: usize },
    /// The session is pruned to this number of snapshots.
    Prune { most: usize },
}

fn step() -> impl Strategy<Value = Step> {
    let any = 0..100_usize;
    prop_oneof![
        4 => (any.clone(), 0..3_usize).prop_map(|(from, more)| Step::Turn { from, more }),
        2 => (any.clone(), 0..6_usize, 0..3_usize)
            .prop_map(|(from, at, more)| Step::Rewrite { from, at, more }),
        2 => (any.clone(), any.clone(), 0..2_usize)
            .prop_map(|(row, from, more)| Step::Again { row, from, more }),
        1 => any.prop_map(|from| Step::Copy { from }),
        1 => (1..4_usize).prop_map(|most| Step::Prune { most }),
    ]
}

/// Keeps every snapshot by itself.
#[derive(Default)]
struct Model {
    rows: Vec<SessionSnapshot>,
    made: usize,
}

impl Model {
    fn messages(&self, from: usize) -> Vec<Arc<Message>> {
        let row = self.rows.get(from % self.rows.len().max(1));
        row.and_then(|row| row.state.as_ref()?.messages.clone()).unwrap_or_default()
    }

    fn parent(&self, from: usize) -> Option<String> {
        self.rows.get(from % self.rows.len().max(1)).map(|row| row.snapshot_id.clone())
    }

    fn add(&mut self, messages: &mut Vec<Arc<Message>>, more: usize) {
        for _ in 0..more {
            self.made += 1;
            messages.push(user_message(format!("message {}", self.made)));
        }
    }

    /// The snapshot that a step writes.
    fn written(&mut self, step: &Step) -> Option<SessionSnapshot> {
        let (from, mut messages) = match *step {
            Step::Turn { from, .. } | Step::Again { from, .. } => (from, self.messages(from)),
            Step::Rewrite { from, at, .. } => {
                let mut messages = self.messages(from);
                let at = at.min(messages.len());
                messages.drain(..at);
                messages.insert(messages.len() / 2, user_message("a summary"));
                (from, messages)
            }
            Step::Copy { from } => {
                let text = serde_json::to_string(&self.messages(from)).unwrap();
                (from, serde_json::from_str(&text).unwrap())
            }
            Step::Prune { .. } => return None,
        };
        if let Step::Turn { more, .. } | Step::Rewrite { more, .. } | Step::Again { more, .. } =
            step
        {
            self.add(&mut messages, *more);
        }
        self.made += 1;
        let new = format!("snapshot {}", self.made);
        let mut row = match step {
            Step::Again { row, .. } if !self.rows.is_empty() => {
                let row = &self.rows[row % self.rows.len()];
                snapshot(&row.snapshot_id, row.parent_id.as_deref(), &messages)
            }
            _ => snapshot(&new, self.parent(from).as_deref(), &messages),
        };
        let state = row.state.get_or_insert_default();
        state.custom = Some(Arc::new(json!({ "made": self.made / 3 })));
        let name = Some(format!("artifact {}", self.made / 5));
        state.artifacts = Some(vec![Arc::new(Artifact { name, ..Artifact::default() })]);
        Some(row)
    }

    fn apply(&mut self, step: &Step, written: Option<SessionSnapshot>) {
        if let Step::Prune { most } = step {
            let parents: Vec<_> = self.rows.iter().map(|row| row.parent_id.clone()).collect();
            let mut excess = self.rows.len().saturating_sub(*most);
            self.rows.retain(|row| {
                let is_new = excess == 0;
                excess = excess.saturating_sub(1);
                is_new || !parents.contains(&Some(row.snapshot_id.clone()))
            });
        }
        let Some(written) = written else { return };
        match self.rows.iter_mut().find(|row| row.snapshot_id == written.snapshot_id) {
            Some(row) => *row = written,
            None => self.rows.push(written),
        }
    }

    /// All were made at the same time.
    fn latest(&self) -> Option<&SessionSnapshot> {
        let is_parent =
            |id: &String| self.rows.iter().any(|row| row.parent_id.as_ref() == Some(id));
        self.rows.iter().rev().find(|row| !is_parent(&row.snapshot_id))
    }
}

async fn check(steps: Vec<Step>) {
    let (store, owner) = (MemorySessions::default(), Owner::nobody());
    let mut model = Model::default();
    for step in steps {
        let written = model.written(&step);
        match (&step, &written) {
            (Step::Prune { most }, _) => {
                let retention = Retention { max_snapshots: Some(*most), ..Retention::default() };
                store.prune(&retention).await.unwrap();
            }
            (_, Some(written)) => save(&store, written).await.unwrap(),
            _ => {}
        }
        model.apply(&step, written);
        for row in &model.rows {
            let found = store.get(&owner, &row.snapshot_id).await.unwrap();
            assert_eq!(found.map(|found| found.snapshot).as_ref(), Some(row), "after {step:?}");
        }
        let tree = store.tree(&owner, SESSION).await.unwrap();
        assert_eq!(tree.len(), model.rows.len());
        let latest = store.latest(&owner, SESSION).await.unwrap();
        assert_eq!(latest.map(|latest| latest.snapshot).as_ref(), model.latest());
    }
    assert_eq!(format!("{store:?}").contains("bytes: 0"), model.rows.is_empty());
    store.delete(&owner, SESSION).await.unwrap();
    assert_eq!(format!("{store:?}"), "MemorySessions { sessions: 0, bytes: 0 }");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn whatever_is_shared_every_snapshot_reads_back(steps in proptest::collection::vec(step(), 1..30)) {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(check(steps));
    }
}

/// Bytes that the store counts.
fn bytes(store: &MemorySessions) -> usize {
    let text = format!("{store:?}");
    let bytes = text.split("bytes: ").nth(1).unwrap().trim_end_matches(" }");
    bytes.parse().unwrap()
}

#[tokio::test]
async fn a_window_that_slides_over_a_conversation_counts_each_message_once() {
    let store = MemorySessions::default();
    let all: Vec<_> = (0..100).map(|n| user_message(format!("{n} {}", "x".repeat(1000)))).collect();
    for (n, window) in all.windows(20).enumerate() {
        let parent = n.checked_sub(1).map(|n| format!("s{n}"));
        save(&store, &snapshot(&format!("s{n}"), parent.as_deref(), window)).await.unwrap();
    }
    let counted = bytes(&store);
    assert!((100_000..150_000).contains(&counted), "{counted} bytes of 100 messages");
    let retention = Retention { max_snapshots: Some(1), ..Retention::default() };
    assert_eq!(store.prune(&retention).await.unwrap().snapshots, 80);
    let counted = bytes(&store);
    assert!((20_000..25_000).contains(&counted), "{counted} bytes of the last 20");
}

#[tokio::test]
async fn a_full_store_takes_more_when_something_went() {
    let mut options = MemorySessionOptions::default();
    options.max_bytes = 3000;
    let (store, owner) = (MemorySessions::new(options), Owner::nobody());
    save(&store, &snapshot("a", None, &[user_message("x".repeat(2000))])).await.unwrap();
    let large = snapshot("b", Some("a"), &[user_message("y".repeat(2000))]);
    let full = save(&store, &large).await.unwrap_err();
    assert!(matches!(full, StoreError::Full(..)), "{full}");
    assert!(store.get(&owner, "b").await.unwrap().is_none());
    assert!(store.get(&owner, "a").await.unwrap().is_some());
    store.delete(&owner, SESSION).await.unwrap();
    save(&store, &large).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn leases_that_have_run_out_are_forgotten_when_there_are_many() {
    let mut options = MemorySessionOptions::default();
    options.max_leases = 2;
    let (store, owner) = (MemorySessions::new(options), Owner::nobody());
    let short = Term::of(Duration::from_millis(10));
    let old = store.lease(&owner, "old", short).await.unwrap();
    let held = store.lease(&owner, "held", Term::of(Duration::from_secs(60))).await.unwrap();
    tokio::time::advance(Duration::from_millis(20)).await;
    store.lease(&owner, "new", short).await.unwrap();
    assert!(matches!(store.renew(&owner, &old).await, Err(StoreError::Fenced(_))));
    store.renew(&owner, &held).await.unwrap();
}
