//! Random work on two handles of one store against the store in memory.

use std::sync::Arc;

use oxikit_core::ports::memory::MemorySessions;
use oxikit_core::ports::{
    Owner, Retention, SessionQuery, SessionStore, SnapshotWrite, StoreError, StoredSnapshot,
};
use oxikit_wire::{
    AgentFinishReason, Artifact, Message, SessionSnapshot, SessionState, SnapshotStatus,
};
use serde_json::{Value, json};

const SEED: &str = "OXIKIT_SQL_SEED";
/// Here a snapshot keeps fewer messages than its segment took over from the parent, and
/// the sweep once removed that segment.
const SWEPT: u64 = 363_419_977_267_110_779;
const SESSIONS: u32 = 3;
const SNAPSHOTS: u32 = 12;

struct World {
    random: fastrand::Rng,
    stores: Vec<Arc<dyn SessionStore>>,
    second: u32,
}

/// Compares two handles of one store with the store in memory. `open` returns both handles of a
/// store that is empty. `usual` is the number of seeds.
#[expect(clippy::print_stdout, reason = "the seed is for whoever runs the tests")]
pub(crate) async fn two_handles_are_like_memory(
    usual: u64,
    open: impl AsyncFn() -> [Arc<dyn SessionStore>; 2],
) {
    let seeds: Vec<u64> = match std::env::var(SEED).as_deref() {
        Ok("clock") => (0..100).map(|_| fastrand::u64(..)).collect(),
        Ok(seed) => vec![seed.parse().unwrap()],
        // The same in every run, so that a red one is about the change it tests.
        Err(_) => (1..usual).chain([SWEPT]).collect(),
    };
    for seed in seeds {
        println!("{SEED}={seed}");
        let [one, other] = open().await;
        let stores = vec![Arc::new(MemorySessions::default()), one, other];
        let mut world = World { random: fastrand::Rng::with_seed(seed), stores, second: 0 };
        for _ in 0..120 {
            world.step().await;
            world.compare().await;
        }
    }
}

impl World {
    /// The same change in memory and by one of the handles.
    async fn step(&mut self) {
        let owner = Owner::nobody();
        let handle = self.random.usize(1..3);
        let session = format!("session-{}", self.random.u32(0..SESSIONS));
        match self.random.u32(0..20) {
            0 => {
                let memory = self.stores[0].delete(&owner, &session).await.unwrap();
                assert_eq!(self.stores[handle].delete(&owner, &session).await.unwrap(), memory);
            }
            1 => {
                let max_snapshots = Some(self.random.usize(1..6));
                let retention = Retention { max_snapshots, ..Retention::default() };
                let memory = self.stores[0].prune(&retention).await.unwrap();
                assert_eq!(self.stores[handle].prune(&retention).await.unwrap(), memory);
            }
            _ => self.write(&owner, &session, handle).await,
        }
    }

    async fn write(&mut self, owner: &Owner, session: &str, handle: usize) {
        let number = |random: &mut fastrand::Rng| random.u32(0..SNAPSHOTS);
        let id = format!("{session}-{}", number(&mut self.random));
        let parent = format!("{session}-{}", number(&mut self.random));
        // From either store: shared objects and equal ones.
        let from = self.random.usize(0..3);
        let before = self.stores[from].get(owner, &parent).await.unwrap();
        let mut snapshot = self.snapshot(before.as_ref(), parent);
        snapshot.parent_id = snapshot.parent_id.filter(|parent| *parent != id);
        let write = SnapshotWrite::new(owner, "helper", session, &id);
        let work = self.random.bool().then_some("{}");
        let write = SnapshotWrite { work, ..write };
        let update = |_: Option<&SessionSnapshot>| Ok(Some(snapshot.clone()));
        let memory = self.stores[0].save(write, &update).await;
        let stored = self.stores[handle].save(write, &update).await;
        assert_eq!(shown(stored), shown(memory));
    }

    fn snapshot(&mut self, before: Option<&StoredSnapshot>, parent: String) -> SessionSnapshot {
        let random = &mut self.random;
        let before = before.and_then(|before| before.snapshot.state.clone());
        let mut state = before.unwrap_or_default();
        if random.u32(0..10) == 0 {
            state = SessionState::default();
        }
        if let Some(messages) = &mut state.messages
            && random.u32(0..4) == 0
        {
            messages.truncate(random.usize(0..=messages.len()));
        }
        let said = (0..random.u32(0..4)).map(|_| Message::user(random.u32(0..50).to_string()));
        state.messages.get_or_insert_default().extend(said.map(Arc::new));
        if random.bool() {
            state.custom = Some(Arc::new(custom(random)));
        }
        if random.u32(0..3) == 0 {
            let name = Some(random.u32(0..5).to_string());
            let artifact = Artifact { name, parts: vec!["x".into()], metadata: None };
            let artifacts = state.artifacts.get_or_insert_default();
            artifacts.truncate(random.usize(0..4));
            artifacts.push(Arc::new(artifact));
        }
        self.second += random.u32(0..3);
        let has_parent = random.u32(0..5) > 0;
        SessionSnapshot {
            parent_id: has_parent.then_some(parent),
            created_at: format!("{:05}", self.second),
            status: random
                .choice([Some(SnapshotStatus::Completed), Some(SnapshotStatus::Pending), None])
                .unwrap(),
            finish_reason: random.bool().then_some(AgentFinishReason::Interrupted),
            state: (random.u32(0..8) > 0).then_some(state),
            ..SessionSnapshot::default()
        }
    }

    /// Asserts that all stores give the same results.
    async fn compare(&mut self) {
        let owner = Owner::nobody();
        let mut seen: Vec<Vec<String>> = Vec::new();
        for store in &self.stores {
            let mut answers = Vec::new();
            for session in (0..SESSIONS).map(|session| format!("session-{session}")) {
                answers.push(content(store.latest(&owner, &session).await.unwrap()));
                answers.push(format!("{:?}", store.tree(&owner, &session).await.unwrap()));
            }
            let snapshot = format!("session-0-{}", self.second % SNAPSHOTS);
            answers.push(content(store.get(&owner, &snapshot).await.unwrap()));
            for is_active in [None, Some(true), Some(false)] {
                let query = SessionQuery { is_active, ..SessionQuery::default() };
                answers.push(format!("{:?}", store.list(&owner, &query).await.unwrap().sessions));
            }
            let mut stalled = store.stalled("helper", 100).await.unwrap();
            stalled.sort_by(|one, other| one.snapshot.cmp(&other.snapshot));
            answers.push(format!("{stalled:?}"));
            seen.push(answers);
        }
        for other in &seen[1..] {
            for (answer, expected) in other.iter().zip(&seen[0]) {
                assert_eq!(answer, expected);
            }
        }
    }
}

/// A state of some size with changes at random places.
fn custom(random: &mut fastrand::Rng) -> Value {
    let rows: Vec<_> = (0..random.usize(10..14))
        .map(|row| json!({ "row": row, "text": "x".repeat(200) }))
        .collect();
    let mut state = json!({ "count": random.u32(0..9), "rows": rows });
    if random.u32(0..4) == 0 {
        state["rows"][random.usize(0..10)]["note"] = json!({ "at": random.u32(0..9) });
    }
    state
}

/// Revisions are every store's own.
fn content(stored: Option<StoredSnapshot>) -> String {
    format!("{:?}", stored.map(|stored| (stored.agent, stored.snapshot)))
}

fn shown(result: Result<Option<u64>, StoreError>) -> String {
    match result {
        Ok(revision) => format!("written: {}", revision.is_some()),
        Err(error) => error.to_string(),
    }
}
