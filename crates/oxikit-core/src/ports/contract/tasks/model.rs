//! Random work: by one caller, compared with a plain model, and by several at the same time.

mod concurrent;
mod plain;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use oxikit_wire::a2a::TaskState;

use super::{Store, chunk, entry, kept, next_turn, shown_entry, status, task};
use crate::ports::{
    NewTask, NewTurn, Owner, StoreError, TaskEntry, TaskEvent, TaskRetention, TaskScope,
};
use plain::{Answer, PlainTask};

pub(super) use concurrent::concurrent_random_work_keeps_the_rules;

const TASKS: usize = 4;
const STEPS: usize = 120;
const RUNNERS: [&str; 3] = ["model-runner-1", "model-runner-2", "model-runner-3"];

pub(super) async fn random_work_is_like_the_model(store: Store) {
    check_seeds(store, 1..4).await;
}

/// Random work of each of these seeds. A failure names its seed.
pub(in crate::ports::contract) async fn check_seeds(
    store: Store,
    seeds: impl IntoIterator<Item = u64>,
) {
    for seed in seeds {
        let scope = TaskScope::new(Owner::principal("model"), format!("seed-{seed}"));
        let random = Rng::with_seed(seed);
        let mut work = Work { store: store.clone(), scope, seed, random, tasks: BTreeMap::new() };
        for _ in 0..STEPS {
            work.step().await;
            work.compare().await;
        }
    }
}

struct Work {
    store: Store,
    scope: TaskScope,
    seed: u64,
    random: Rng,
    tasks: BTreeMap<String, Known>,
}

/// A task of the model, and what a reader of the store has seen of it.
struct Known {
    model: PlainTask,
    read: Vec<TaskEvent>,
}

impl Work {
    async fn step(&mut self) {
        let id = format!("model-{}-{}", self.seed, self.random.usize(0..TASKS));
        let expected = match self.tasks.contains_key(&id) {
            false => return self.create(id).await,
            true => match self.random.u32(0..20) {
                0 => return self.create(id).await,
                1 => return self.prune().await,
                2 => self.end(&id).await,
                3 => self.expire(&id).await,
                4..8 => self.receive(&id).await,
                _ => self.append(&id).await,
            },
        };
        let (answer, model) = expected;
        assert_eq!(answer, model, "seed {}: task {id}", self.seed);
    }

    async fn create(&mut self, id: String) {
        let runner = self.runner();
        let mut entries = vec![Arc::new(entry(self.state()))];
        if !entries[0].state().is_some_and(TaskState::is_terminal) {
            entries.extend(self.entries().into_iter().map(Arc::new));
        }
        let new = NewTask { scope: self.scope.clone(), runner, entries, ..task(&id) };
        let answer = self.store.create(new.clone()).await;
        if self.tasks.contains_key(&id) {
            assert_eq!(Answer::of(answer.map(|_| String::new())), Answer::Exists, "{id}");
            return;
        }
        let model = PlainTask::new(&new);
        assert_eq!(kept("create", answer), model.log.len() as u64, "seed {}", self.seed);
        self.tasks.insert(id, Known { model, read: Vec::new() });
    }

    async fn append(&mut self, id: &str) -> (Answer, Answer) {
        let entries = self.entries();
        let releases = self.random.u32(0..4) == 0;
        let other = self.runner();
        let random = &mut self.random;
        let Some(known) = self.tasks.get_mut(id) else {
            return (Answer::NotFound, Answer::NotFound);
        };
        // Mostly the write that is expected, and sometimes any other.
        let mut write = known.model.next_write();
        write.entries = entries.into_iter().map(Arc::new).collect();
        write.releases = releases;
        match random.u32(0..12) {
            0 => write.runner = other,
            1 => write.number = random.u64(0..5),
            2 => write.turn = random.u64(1..=known.model.turns),
            3 => write = known.model.last_write.as_ref().map_or(write, |last| last.0.clone()),
            4 => write.turn = known.model.turns,
            _ => (),
        }
        let answer = self.store.append(id, write.clone()).await;
        (Answer::of(answer.map(|answer| format!("{answer:?}"))), known.model.append(write))
    }

    async fn receive(&mut self, id: &str) -> (Answer, Answer) {
        let turn = next_turn(&self.runner(), "more");
        let turn = NewTurn { max_waiting: self.random.u64(0..3), ..turn };
        let answer = self.store.receive(&self.scope, id, turn.clone()).await;
        let answer = Answer::of(answer.map(|answer| format!("{answer:?}")));
        (answer, self.model(id, |model| model.receive(turn)))
    }

    async fn end(&mut self, id: &str) -> (Answer, Answer) {
        let answer = self.store.end(&self.scope, id, status(TaskState::Canceled)).await;
        let answer = Answer::of(answer.map(|position| position.to_string()));
        (answer, self.model(id, |model| model.end(TaskState::Canceled)))
    }

    async fn expire(&mut self, id: &str) -> (Answer, Answer) {
        let runner = self.runner();
        let answer = self.store.expire(id, &runner, status(TaskState::Failed)).await;
        let answer = Answer::of(answer.map(|position| position.to_string()));
        (answer, self.model(id, |model| model.expire(&runner)))
    }

    fn model(&mut self, id: &str, step: impl FnOnce(&mut PlainTask) -> Answer) -> Answer {
        self.tasks.get_mut(id).map_or(Answer::NotFound, |known| step(&mut known.model))
    }

    async fn prune(&mut self) {
        let age = |is_set: bool| is_set.then_some(Duration::ZERO);
        let (ended, waiting) = (age(self.random.bool()), age(self.random.bool()));
        let retention = TaskRetention { ended, waiting, max_ended: None };
        kept("prune", self.store.prune(&retention).await);
        self.tasks.retain(|_, known| {
            let is_pruned = known.model.runner.is_none()
                && ((ended.is_some() && known.model.state().is_terminal())
                    || (waiting.is_some() && known.model.state().is_interrupted()));
            !is_pruned
        });
    }

    fn runner(&mut self) -> Arc<str> {
        RUNNERS[self.random.usize(0..RUNNERS.len())].into()
    }

    /// Mostly one that goes on.
    fn state(&mut self) -> TaskState {
        match self.random.u32(0..12) {
            0 => TaskState::Completed,
            1 => TaskState::Failed,
            2 => TaskState::Rejected,
            3..6 => TaskState::InputRequired,
            6 => TaskState::AuthRequired,
            _ => TaskState::Working,
        }
    }

    fn entries(&mut self) -> Vec<TaskEntry> {
        let mut entries: Vec<TaskEntry> = (0..self.random.u32(0..3))
            .map(|_| chunk(&self.random.u32(0..1000).to_string()))
            .collect();
        if self.random.bool() {
            entries.push(entry(self.state()));
        }
        entries
    }

    /// Asserts that the store says the same as the model, and that a reader sees a prefix.
    async fn compare(&mut self) {
        for number in 0..TASKS {
            let id = format!("model-{}-{number}", self.seed);
            let Some(known) = self.tasks.get_mut(&id) else {
                let head = self.store.head(&self.scope, &id).await;
                assert!(matches!(head, Err(StoreError::NotFound(_))), "{id} is gone");
                continue;
            };
            let limit = self.random.usize(0..6);
            let position = known.read.len() as u64;
            let page = kept("read", self.store.read(&self.scope, &id, position, limit).await);
            assert!(page.events.len() <= limit);
            known.read.extend(page.events);
            let seen: Vec<_> = known.read.iter().map(shown_event).collect();
            assert_eq!(seen, known.model.log[..seen.len()], "seed {}: a prefix", self.seed);
            assert_eq!(page.head.position, known.model.log.len() as u64, "seed {}", self.seed);
            assert_eq!(page.head.status.state, known.model.state());
            assert_eq!(
                (page.head.turns, &page.head.runner),
                (known.model.turns, &known.model.runner)
            );
        }
    }
}

/// The turn and a short text. The place is the number.
fn shown_event(event: &TaskEvent) -> (u64, String) {
    (event.turn, shown_entry(&event.entry))
}
