//! Several runners, clients and readers at the same time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fastrand::Rng;
use oxikit_wire::a2a::TaskState;

use super::super::{
    Store, chunk, entry, in_time, kept, next_turn, own, shown_entry, status, task, write,
};
use crate::ports::{NewTask, NewTurn, StoreError, TaskWrite};

const WORKERS: u64 = 5;
const STEPS: u32 = 40;
const TASKS: usize = 3;

/// The texts of the chunks that a worker has written, by task. The store has confirmed them.
type Written = BTreeMap<String, Vec<String>>;

pub(in super::super) async fn concurrent_random_work_keeps_the_rules(store: Store) {
    for round in 0..3 {
        let ids: Vec<String> = (0..TASKS).map(|n| format!("contract-crowd-{round}-{n}")).collect();
        for id in &ids {
            let runner = "crowd-0".into();
            kept("create", store.create(NewTask { runner, ..task(id) }).await);
        }
        let is_over = Arc::new(AtomicBool::new(false));
        let readers: Vec<_> = ids
            .iter()
            .map(|id| tokio::spawn(read_along(store.clone(), id.clone(), is_over.clone())))
            .collect();
        let workers: Vec<_> = (0..WORKERS)
            .map(|number| {
                let random = Rng::with_seed(round * WORKERS + number);
                let worker = Worker::new(store.clone(), random, number, ids.clone());
                tokio::spawn(worker.run())
            })
            .collect();
        let mut written = Written::new();
        for worker in workers {
            let of_worker = in_time("a worker", worker).await.expect("the worker did not panic");
            for (id, texts) in of_worker {
                written.entry(id).or_default().extend(texts);
            }
        }
        // Tasks that the workers have left open are ended, so that every reader stops.
        for id in &ids {
            _ = store.end(&own(), id, status(TaskState::Canceled)).await;
        }
        is_over.store(true, Ordering::Relaxed);
        for (id, reader) in ids.iter().zip(readers) {
            let seen = in_time("a reader", reader).await.expect("the reader did not panic");
            check_log(&store, id, seen, written.remove(id).unwrap_or_default()).await;
        }
    }
}

/// Checks a whole log against what a reader has seen of it and what the workers have written.
async fn check_log(store: &Store, id: &str, seen: Vec<String>, mut written: Vec<String>) {
    let page = kept("read", store.read(&own(), id, 0, usize::MAX).await);
    let numbers: Vec<u64> = page.events.iter().map(|event| event.sequence).collect();
    assert_eq!(numbers, (1..=page.head.position).collect::<Vec<_>>(), "{id}: no gap");
    let states = page.events.iter().map(|event| event.entry.state());
    let ends: Vec<usize> = states
        .enumerate()
        .filter(|(_, state)| state.is_some_and(TaskState::is_terminal))
        .map(|(place, _)| place)
        .collect();
    assert_eq!(ends, [page.events.len() - 1], "{id}: one end, and nothing behind it");
    let log: Vec<String> = page.events.iter().map(|event| shown_entry(&event.entry)).collect();
    assert_eq!(seen, log, "{id}: a reader sees the log, each event once");
    let mut chunks: Vec<String> = log.into_iter().filter(|text| text.contains(':')).collect();
    chunks.sort();
    written.sort();
    assert_eq!(chunks, written, "{id}: what was confirmed is there once, and nothing else");
    let turns =
        page.events.iter().filter(|event| shown_entry(&event.entry).starts_with("submitted"));
    let turns: Vec<u64> = turns.map(|event| event.turn).collect();
    assert_eq!(turns, (1..=page.head.turns).collect::<Vec<_>>(), "{id}: turns in order");
}

/// Follows a task to its end.
async fn read_along(store: Store, id: String, is_over: Arc<AtomicBool>) -> Vec<String> {
    let mut seen = Vec::new();
    loop {
        let page = kept("read", store.read(&own(), &id, seen.len() as u64, 5).await);
        let is_end = page.events.is_empty() && page.head.status.state.is_terminal();
        seen.extend(page.events.iter().map(|event| shown_entry(&event.entry)));
        if is_end {
            return seen;
        }
        assert!(
            !is_over.load(Ordering::Relaxed) || seen.len() as u64 <= page.head.position,
            "{id}: a reader is never ahead"
        );
        kept("wait", store.wait(&own(), &id, seen.len() as u64).await);
    }
}

/// A process: it runs the tasks that it has, and sends messages to all.
struct Worker {
    store: Store,
    random: Rng,
    runner: Arc<str>,
    ids: Vec<String>,
    /// The last number and the turn of each task that it runs.
    running: BTreeMap<String, (u64, u64)>,
    written: Written,
}

impl Worker {
    fn new(store: Store, random: Rng, number: u64, ids: Vec<String>) -> Self {
        let runner = format!("crowd-{number}").into();
        let has_first = number == 0;
        let running = ids.iter().filter(|_| has_first).map(|id| (id.clone(), (0, 1))).collect();
        Self { store, random, runner, ids, running, written: Written::new() }
    }

    async fn run(mut self) -> Written {
        for step in 0..STEPS {
            let id = self.ids[self.random.usize(0..self.ids.len())].clone();
            match self.random.u32(0..40) {
                0 => self.end(&id).await,
                1..12 => self.receive(&id).await,
                _ => self.append(&id, step).await,
            }
            tokio::task::yield_now().await;
        }
        self.written
    }

    async fn end(&mut self, id: &str) {
        let state = if self.random.bool() { TaskState::Canceled } else { TaskState::Rejected };
        let end = self.store.end(&own(), id, status(state)).await;
        assert!(matches!(end, Ok(_) | Err(StoreError::Ended(_))), "{end:?}");
    }

    async fn receive(&mut self, id: &str) {
        let turn = NewTurn { max_waiting: 2, ..next_turn(&self.runner, "more") };
        match self.store.receive(&own(), id, turn).await {
            Ok(received) => {
                if received.is_claimed {
                    self.running.insert(id.to_owned(), (0, received.turn));
                }
            }
            Err(StoreError::Ended(_) | StoreError::Full(..)) => (),
            Err(error) => panic!("broken promise: {id} receives: {error}"),
        }
    }

    async fn append(&mut self, id: &str, step: u32) {
        let Some((number, turn)) = self.running.get(id).copied() else {
            return self.append_to_another(id).await;
        };
        let text = format!("{}:{step}", self.runner);
        let mut entries = vec![Arc::new(chunk(&text))];
        let releases = self.random.u32(0..4) == 0;
        entries.extend(releases.then(|| Arc::new(entry(TaskState::InputRequired))));
        let (runner, number) = (self.runner.clone(), number + 1);
        let write = TaskWrite { runner, number, turn, entries, releases };
        let answer = self.store.append(id, write.clone()).await;
        match answer {
            Ok(answer) => {
                self.written.entry(id.to_owned()).or_default().push(text);
                if self.random.u32(0..4) == 0 {
                    // Its answer may be lost. A client may have ended the task meanwhile.
                    let again = self.store.append(id, write).await;
                    assert_eq!(again.ok(), Some(answer), "{id}: a repeated write");
                }
                if answer.is_released {
                    self.running.remove(id);
                } else {
                    let turn = if releases { turn + 1 } else { turn };
                    self.running.insert(id.to_owned(), (number, turn));
                }
            }
            Err(StoreError::Ended(_)) => _ = self.running.remove(id),
            Err(error) => panic!("broken promise: {id} is run by {}: {error}", self.runner),
        }
    }

    /// A write without having the task is refused.
    async fn append_to_another(&self, id: &str) {
        let write = TaskWrite { runner: "crowd-none".into(), ..write(1, vec![chunk("x:x")]) };
        let answer = self.store.append(id, write).await;
        let is_refused = matches!(answer, Err(StoreError::Fenced(_) | StoreError::Ended(_)));
        assert!(is_refused, "{answer:?}");
    }
}
