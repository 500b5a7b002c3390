//! The server is killed while it works on many tasks. Their readers come back with the last event
//! that they have.
//!
//! The trial asks three things of every task whose first event reached its reader: each event is
//! seen once and none is left out, whatever the reader was told is still in the log, and the task
//! has an end.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use oxikit_wire::a2a::Version;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::process::Server;
use super::reader::{Reader, Reading};
use super::{Setting, Verdict, free_port};

/// Number of tasks, and in the long form.
const TASKS: usize = 150;
const LONG_TASKS: usize = 500;
/// Number of events of each task, on average, after which the server is killed.
const EVENTS_BEFORE_KILL: usize = 20;
/// Timeout until readers have seen them, on a busy machine: it is not one of the figures.
const START: Duration = Duration::from_secs(180);
/// Time within which all tasks must have ended after the restart. A dead server is noticed after
/// 5 s.
const RECOVERY: Duration = Duration::from_secs(60);

pub(super) async fn run(setting: &mut Setting) -> Result<Verdict> {
    let tasks = if setting.is_long { LONG_TASKS } else { TASKS };
    let server = Server::start(&setting.store, free_port(&mut setting.rng)?).await?;
    let mut readers = JoinSet::new();
    let seen = Arc::new(Semaphore::new(0));
    let reader = Reader::new(&server.agent(), Version::V1_0, &seen)?;
    for _ in 0..tasks {
        readers.spawn(reader.clone().read());
    }
    let events = u32::try_from(tasks * EVENTS_BEFORE_KILL)?;
    let waited = tokio::time::timeout(START, seen.acquire_many(events)).await;
    drop(waited.context("the readers have not seen enough events")??);
    let killed = Instant::now();
    let _server = server.kill_and_restart().await?;
    let mut readings = Vec::new();
    let all = async {
        while let Some(reading) = readers.join_next().await {
            readings.push(reading??);
        }
        anyhow::Ok(())
    };
    let stuck = match tokio::time::timeout(RECOVERY, all).await {
        Ok(done) => done.map(|()| 0)?,
        Err(_) => tasks - readings.len(),
    };
    let recovered = killed.elapsed();
    let figures = Figures::of(&reader, &readings, stuck).await?;
    let text = format!("{figures}, all ended after {:.1} s", recovered.as_secs_f64());
    Ok(Verdict { figures: text, is_good: figures.is_good() })
}

/// The tasks after the trial.
#[derive(Default)]
struct Figures {
    tasks: usize,
    events: usize,
    /// Tasks whose reader had not ended when the server was killed.
    interrupted: usize,
    /// Tasks whose first event did not reach the reader: the client does not know them.
    unacknowledged: usize,
    lost: usize,
    duplicated: usize,
    stuck: usize,
}

impl Figures {
    async fn of(reader: &Reader, readings: &[Reading], stuck: usize) -> Result<Self> {
        let mut figures = Self { tasks: readings.len() + stuck, stuck, ..Self::default() };
        for reading in readings {
            let Some(first) = reading.events.first() else {
                figures.unacknowledged += 1;
                continue;
            };
            figures.events += reading.events.len();
            figures.interrupted += usize::from(reading.reconnects > 0);
            figures.stuck += usize::from(!reading.has_ended);
            figures.lost += reading.gaps();
            figures.duplicated += reading.duplicates();
            // The log as it is now: what the reader was told must be in it.
            figures.lost += reading.missing_in(&reader.log(&first.task).await?);
        }
        Ok(figures)
    }

    fn is_good(&self) -> bool {
        self.lost + self.duplicated + self.stuck == 0 && self.interrupted > 0
    }
}

impl std::fmt::Display for Figures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { tasks, events, interrupted, unacknowledged, lost, duplicated, stuck } = self;
        write!(
            f,
            "{tasks} tasks, {interrupted} running when the server was killed, {unacknowledged} \
             not acknowledged; {events} events seen: lost {lost}, duplicated {duplicated}; stuck \
             {stuck}"
        )
    }
}
