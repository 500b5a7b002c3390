//! Readers lose their connection at random events, again and again, and come back with the last
//! one that they have. Half of them speak version 0.3.

use std::sync::Arc;

use anyhow::{Result, ensure};
use oxikit_wire::a2a::Version;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::process::Server;
use super::reader::{Reader, Reading};
use super::{Setting, Verdict, free_port};

/// Number of cuts.
const CUTS: usize = 1_000;
/// Number of tasks that are followed at the same time.
const AT_ONCE: usize = 50;

pub(super) async fn run(setting: &mut Setting) -> Result<Verdict> {
    let server = Server::start(&setting.store, free_port(&mut setting.rng)?).await?;
    let seen = Arc::new(Semaphore::new(0));
    let readers = [
        Reader::new(&server.agent(), Version::V0_3, &seen)?,
        Reader::new(&server.agent(), Version::V1_0, &seen)?,
    ];
    let mut followed = JoinSet::new();
    let mut next = readers.iter().cycle();
    let mut begin = |followed: &mut JoinSet<Result<(Reader, Reading)>>| {
        if let Some(reader) = next.next().cloned() {
            let rng = setting.rng.fork();
            followed.spawn(async move { Ok((reader.clone(), reader.read_with_cuts(rng).await?)) });
        }
    };
    (0..AT_ONCE).for_each(|_| begin(&mut followed));
    let mut figures = Figures::default();
    while let Some(read) = followed.join_next().await {
        let (reader, reading) = read??;
        figures.add(&reader, &reading).await?;
        if figures.cuts + followed.len() * figures.cuts / figures.tasks < CUTS {
            begin(&mut followed);
        }
    }
    let is_good = figures.is_good();
    Ok(Verdict { figures: figures.to_string(), is_good })
}

#[derive(Default)]
struct Figures {
    tasks: usize,
    cuts: usize,
    events: usize,
    gaps: usize,
    duplicates: usize,
    /// Events that are not those of the log.
    wrong: usize,
}

impl Figures {
    async fn add(&mut self, reader: &Reader, reading: &Reading) -> Result<()> {
        ensure!(reading.has_ended, "a reader has left its task before the end");
        let log = reader.log(&reading.events[0].task).await?;
        self.tasks += 1;
        self.cuts += reading.reconnects;
        self.events += reading.events.len();
        self.gaps += reading.gaps();
        // The first event is the task with number 1, and the last one is that of the log.
        self.gaps += log.len().abs_diff(reading.events.len());
        self.duplicates += reading.duplicates();
        self.wrong += reading.missing_in(&log);
        Ok(())
    }

    fn is_good(&self) -> bool {
        self.gaps + self.duplicates + self.wrong == 0 && self.cuts >= CUTS
    }
}

impl std::fmt::Display for Figures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { tasks, cuts, events, gaps, duplicates, wrong } = self;
        write!(
            f,
            "{cuts} cuts in streams of {tasks} tasks; {events} events seen: gaps {gaps}, \
             duplicates {duplicates}, not as in the log {wrong}"
        )
    }
}
