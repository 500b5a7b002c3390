//! Random histories: plain clients, clients that name their revision, REST, other programs that
//! change the file, and a manager that is killed, all mixed.
//!
//! A history has a seed and a document of its own. Twenty of them share a manager, and its kills.

use std::time::Duration;

use anyhow::{Context, Result};
use fastrand::Rng;
use futures_util::future::{try_join, try_join_all};
use tokio::time::sleep;

use super::Setting;
use super::check::{missing, wait_until_quiet};
use super::client::{Client, Style};
use super::file_editor::FileEditor;
use super::manager::{Manager, Project, id};
use super::rest_caller::RestCaller;
use super::typist::{Typist, first_text};
use crate::figures::Figures;

/// Number of histories, and in the long form.
const HISTORIES: u64 = 200;
const LONG_HISTORIES: u64 = 2000;
/// Number of histories that share a manager.
const BATCH: u64 = 20;
/// Number of rounds of a history. The manager is killed in all but the last one.
const ROUNDS: usize = 4;
/// Number of edits of each participant in a round.
const EDITS: usize = 3;
/// Longest pause of a participant between two edits.
const PAUSE: Duration = Duration::from_millis(200);
/// One of this many edits of files may be missing. A program that has opened a file to overwrite it,
/// and writes after the manager has replaced the file, writes to a file without a name.
const MAX_LOST_FILE_EDITS: usize = 400;
/// The live clients of a history.
const STYLES: [Style; 4] = [Style::Plain, Style::Plain, Style::Revisions, Style::Hello];

pub(super) async fn run(setting: &mut Setting) -> Result<Figures> {
    let count = if setting.is_long { LONG_HISTORIES } else { HISTORIES };
    let first = setting.seed;
    let mut outcome = Outcome::default();
    if setting.is_single {
        // The same history several times at once, so that a rare order of events is likely.
        outcome.add(run_batch(setting, first, &[first; BATCH as usize]).await?);
    } else {
        for batch in (first..first + count).step_by(usize::try_from(BATCH)?) {
            let seeds: Vec<u64> = (batch..batch + BATCH).collect();
            outcome.add(run_batch(setting, batch, &seeds).await?);
        }
    }
    let mut figures = Figures::default();
    let what = match setting.is_single {
        true => format!("{BATCH} times the seed {first}"),
        false => format!("{count} seeds from {first}"),
    };
    figures.holds(&format!("{what}, {} kills", outcome.kills), outcome.kills > 0);
    outcome.report(&mut figures);
    Ok(figures)
}

/// What was done in histories, and what is wrong.
#[derive(Default)]
struct Outcome {
    kills: usize,
    /// Number of edits by clients and REST that were answered.
    answered: usize,
    refused: usize,
    /// Number of changes that were sent again.
    repeated: usize,
    /// Number of edits of files.
    file_edits: usize,
    lost: Vec<String>,
    lost_file_edits: Vec<String>,
    differing: Vec<String>,
    wrong_files: Vec<String>,
}

impl Outcome {
    fn add(&mut self, other: Self) {
        self.kills += other.kills;
        self.answered += other.answered;
        self.refused += other.refused;
        self.repeated += other.repeated;
        self.file_edits += other.file_edits;
        self.lost.extend(other.lost);
        self.lost_file_edits.extend(other.lost_file_edits);
        self.differing.extend(other.differing);
        self.wrong_files.extend(other.wrong_files);
    }

    fn report(&self, figures: &mut Figures) {
        let Self { answered, refused, repeated, .. } = self;
        let line = format!("{answered} edits answered, {refused} refused, {repeated} sent again");
        figures.holds(&line, *answered > 0);
        figures.none("not in the history", &self.lost);
        figures.none("clients that differ when quiet", &self.differing);
        figures.none("files that differ", &self.wrong_files);
        let lost = &self.lost_file_edits;
        let what = format!("of {} edits of files not in the history", self.file_edits);
        if lost.len() * MAX_LOST_FILE_EDITS > self.file_edits {
            figures.none(&what, lost);
        } else {
            figures.holds(&format!("{what} {}", lost.len()), self.file_edits > 0);
        }
    }
}

/// Runs histories with one manager, which is killed at times that depend on `batch`.
async fn run_batch(setting: &mut Setting, batch: u64, seeds: &[u64]) -> Result<Outcome> {
    let project = Project::new(setting, &format!("random-{batch}"), seeds.len(), &first_text())?;
    let mut manager = project.start().await?;
    let history = |(number, seed): (usize, &u64)| History::new(&project, &id(number), *seed);
    let mut histories: Vec<_> = seeds.iter().enumerate().map(history).collect();
    let mut rng = Rng::with_seed(batch);
    let mut outcome = Outcome::default();
    for round in 1..=ROUNDS {
        let editing = try_join_all(histories.iter_mut().map(History::edit));
        if round == ROUNDS {
            editing.await?;
        } else {
            (_, manager) = try_join(editing, kill_once(&mut rng, manager)).await?;
            outcome.kills += 1;
        }
    }
    project.reload().await?;
    for history in histories {
        outcome.add(history.end().await?);
    }
    manager.kill().await?;
    Ok(outcome)
}

/// Kills the manager at some time of a round, and starts it again at once or a little later.
async fn kill_once(rng: &mut Rng, manager: Manager) -> Result<Manager> {
    let round = PAUSE.mul_f64(EDITS as f64);
    sleep(round.mul_f64(rng.f64())).await;
    manager.kill_and_restart().await
}

/// The participants of one history.
struct History {
    project: Project,
    id: String,
    seed: u64,
    clients: Vec<Client>,
    rest: RestCaller,
    file: FileEditor,
}

impl History {
    fn new(project: &Project, id: &str, seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        let client = |(number, style)| {
            let typist = Typist::new(&format!("c{number}"), &mut rng);
            Client::new(project, id, style, typist)
        };
        let clients = STYLES.into_iter().enumerate().map(client).collect();
        let rest = RestCaller::new(project, id, Typist::new("r", &mut rng));
        let file = FileEditor::new(project.file(id), Typist::new("f", &mut rng));
        Self { project: project.clone(), id: id.to_owned(), seed, clients, rest, file }
    }

    /// One round of edits by everybody.
    async fn edit(&mut self) -> Result<()> {
        let clients = try_join_all(self.clients.iter_mut().map(|it| it.edit(EDITS, PAUSE)));
        // Files are changed less often than texts on a screen.
        let others = try_join(self.rest.edit(EDITS, PAUSE), self.file.edit(1, PAUSE * 2));
        let edited = try_join(clients, others).await;
        edited.map(drop).with_context(|| format!("seed {}", self.seed))
    }

    /// Waits until everything is quiet, and compares.
    async fn end(self) -> Result<Outcome> {
        let Self { project, id, seed, mut clients, rest, file } = self;
        let name = |lines: Vec<String>| -> Vec<String> {
            lines.into_iter().map(|line| format!("seed {seed}: {line}")).collect()
        };
        let quiet = wait_until_quiet(&project, &id, &mut clients).await?;
        let history = project.history(&id).await?;
        let is_word = |text: &String, word: &str| text.split([' ', '.', '\n']).any(|it| it == word);
        let is_lost = |word: &&String| !history.iter().any(|text| is_word(text, word));
        let lost_file_edits = file.typist.words.iter().filter(is_lost).cloned().collect();
        let answered = clients.iter().flat_map(|client| &client.answered).chain(&rest.answered);
        Ok(Outcome {
            answered: answered.clone().count(),
            refused: rest.refused,
            repeated: clients.iter().map(|client| client.repeated).sum(),
            file_edits: file.typist.words.len(),
            lost: name(missing(answered, &history)),
            lost_file_edits: name(lost_file_edits),
            differing: name(quiet.differing),
            wrong_files: name(quiet.wrong_file),
            ..Outcome::default()
        })
    }
}
