//! The checker: what managers asked for against what they were told.
//!
//! An application that has begun a run answers it once, with its own nonce, behind
//! chunks that follow each other, whatever becomes of managers meanwhile. Three things
//! only are forgiven, all of them about a manager that was killed: a request that it
//! sent just before its end need not have arrived; what it was sent just before its
//! end, it may not have confirmed, so an answer may come again, and chunks be lost;
//! and if the next manager counts its ids anew, nobody is owed the rest.

mod findings;
mod planted;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::process::ExitCode;

use anyhow::Result;

use super::notes::{self, Note, What};
use crate::Args;
use findings::Findings;

/// What happened so long before a kill may not have been seen, or not have been
/// confirmed, on a busy machine.
const MILLIS_BEFORE_KILL: u64 = 1000;
/// So many findings are told.
const TOLD: usize = 10;

/// Tells what was found, as a line of JSON, and fails if anything is wrong.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let mut notes = notes::read(args.get("--log")?)?;
    if let Some(fault) = args.find("--planted-fault") {
        planted::plant(fault, &mut notes)?;
    }
    let findings = check(&notes, &notes::read(args.get("--runtime-log")?)?);
    for fault in findings.faults.iter().take(TOLD) {
        eprintln!("{fault}");
    }
    println!("{}", serde_json::to_string(&findings)?);
    Ok(if findings.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What managers wrote down, and what the application did.
fn check(notes: &[Note], of_runtime: &[Note]) -> Findings {
    let mut book = Book::default();
    for note in notes {
        book.take(note);
    }
    let began = of_runtime.iter().filter_map(|note| match &note.what {
        What::Began { nonce } => Some(&**nonce),
        _ => None,
    });
    book.close(&began.collect());
    book.findings
}

/// All runs that were asked for, as far as the notes were read.
#[derive(Default)]
struct Book<'a> {
    runs: Vec<Run<'a>>,
    /// The newest run of an id.
    by_id: HashMap<&'a str, usize>,
    killed: HashMap<u32, u64>,
    findings: Findings,
}

/// A run that was asked for.
struct Run<'a> {
    nonce: &'a str,
    asked: &'a Note,
    chunks: u64,
    fails: bool,
    /// Who was told last of it, and the number of the chunk behind which it was.
    told: (u32, u64),
    has_state: bool,
    answers: Vec<&'a Note>,
}

impl<'a> Book<'a> {
    fn take(&mut self, note: &'a Note) {
        match &note.what {
            What::Asked { id, nonce, chunks, fails } => {
                self.by_id.insert(id, self.runs.len());
                self.findings.runs += 1;
                self.runs.push(Run {
                    nonce,
                    asked: note,
                    chunks: *chunks,
                    fails: *fails,
                    told: (note.process, 0),
                    has_state: false,
                    answers: Vec::new(),
                });
            }
            What::State { id } => self.with_run(id, |run, findings| run.state(findings)),
            What::Chunk { id, nonce, number } => {
                self.findings.chunks += 1;
                self.with_run(id, |run, findings| run.chunk(note, nonce, *number, findings));
            }
            What::Answer { id, nonce, failed } => {
                self.with_run(id, |run, findings| run.answer(note, nonce, *failed, findings));
            }
            What::Killed => _ = self.killed.insert(note.process, note.at),
            What::Registered | What::Began { .. } => {}
        }
    }

    fn with_run(&mut self, id: &str, act: impl FnOnce(&mut Run<'a>, &mut Findings)) {
        match self.by_id.get(id) {
            Some(place) => act(&mut self.runs[*place], &mut self.findings),
            None => self.findings.mixed(format!("{id} was never asked for")),
        }
    }

    /// All is written down.
    fn close(&mut self, began: &HashSet<&str>) {
        // Where an id was given twice, a former manager's runs are nobody's.
        let keeps_ids = self.by_id.len() == self.runs.len();
        self.findings.kills = self.killed.len();
        for run in &self.runs {
            let killed = self.killed.get(&run.asked.process).copied();
            let findings = &mut self.findings;
            match &run.answers[..] {
                [_, ..] => run.repeats(&self.killed, findings),
                [] if !began.contains(run.nonce) => match killed {
                    Some(killed) if is_just_before(run.asked.at, killed) => findings.unheard += 1,
                    _ => findings.lost(format!("{} was not begun", run.nonce)),
                },
                [] if killed.is_some() && !keeps_ids => findings.nobodys += 1,
                [] => findings.lost(format!("{} was begun and not answered", run.nonce)),
            }
        }
    }
}

impl<'a> Run<'a> {
    fn state(&mut self, findings: &mut Findings) {
        if std::mem::replace(&mut self.has_state, true) {
            findings.doubled(format!("the state of {}", self.nonce));
        }
    }

    /// In what one manager is told, each chunk is the next one; when another goes on, some
    /// may have been lost with the former.
    fn chunk(&mut self, note: &Note, nonce: &str, number: u64, findings: &mut Findings) {
        let (process, next) = self.told;
        let nonces = self.nonce;
        if nonce != nonces {
            findings.mixed(format!("{nonces} was told a chunk of {nonce}"));
        } else if !self.answers.is_empty() {
            findings.mixed(format!("{nonces} was told chunk {number} behind its answer"));
        } else if number < next {
            findings.doubled(format!("chunk {number} of {nonces}"));
        } else if number > next && process == note.process {
            findings.lost(format!("{} chunks of {nonces} before {number}", number - next));
        }
        self.told = (note.process, number + 1);
    }

    fn answer(&mut self, note: &'a Note, nonce: &str, failed: bool, findings: &mut Findings) {
        let (process, next) = self.told;
        if nonce != self.nonce || failed != self.fails {
            findings.mixed(format!("{} was answered with {nonce}, failed: {failed}", self.nonce));
        }
        let is_first = self.answers.is_empty();
        if is_first && process == note.process && next != self.chunks {
            findings.lost(format!("{} has {} chunks, {next} came", self.nonce, self.chunks));
        }
        findings.answered += usize::from(is_first && !failed);
        findings.failed += usize::from(is_first && failed);
        self.answers.push(note);
    }

    /// An answer comes again only if the manager that had it was killed before it could
    /// confirm it.
    fn repeats(&self, killed: &HashMap<u32, u64>, findings: &mut Findings) {
        for pair in self.answers.windows(2) {
            let (before, again) = (pair[0], pair[1]);
            let killed = killed.get(&before.process).copied();
            let is_forgiven = before.process != again.process
                && killed.is_some_and(|killed| is_just_before(before.at, killed));
            if is_forgiven {
                findings.repeated += 1;
            } else {
                findings.doubled(format!("the answer of {}", self.nonce));
            }
        }
    }
}

fn is_just_before(at: u64, killed: u64) -> bool {
    at + MILLIS_BEFORE_KILL >= killed
}
