//! The checker of runs: compares the requests of the managers with the messages that they
//! received.
//!
//! An application that has begun a run must answer it once, with the nonce of the run, after
//! chunks without gaps, even if managers are killed meanwhile. Only three exceptions are allowed,
//! all of them about a manager that was killed:
//!
//! - A request that it sent just before the kill may not have arrived.
//! - It may not have confirmed messages that it received just before the kill. Their answers may
//!   be repeated, and chunks may be lost.
//! - If the next manager numbers its requests from 1 again, answers to the requests of the killed
//!   one cannot be assigned and are not sent.

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

/// Milliseconds before a kill in which a message may be unread or unconfirmed on a busy machine.
/// The exceptions above apply to this time only.
const MILLIS_BEFORE_KILL: u64 = 1000;
/// Maximum number of reported findings. Further ones are only counted.
const MAX_REPORTED: usize = 10;

/// Prints the findings as one line of JSON. Fails if anything is wrong.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let mut notes = notes::read(args.get("--log")?)?;
    if let Some(fault) = args.find("--planted-fault") {
        planted::plant(fault, &mut notes)?;
    }
    let findings = check(&notes, &notes::read(args.get("--runtime-log")?)?);
    for fault in findings.faults.iter().take(MAX_REPORTED) {
        eprintln!("{fault}");
    }
    println!("{}", serde_json::to_string(&findings)?);
    Ok(if findings.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Compares the notes of the managers with those of the application.
fn check(notes: &[Note], of_runtime: &[Note]) -> Findings {
    let mut records = Records::default();
    for note in notes {
        records.add(note);
    }
    let began = of_runtime.iter().filter_map(|note| match &note.what {
        What::Began { nonce } => Some(&**nonce),
        _ => None,
    });
    records.finish(&began.collect());
    records.findings
}

/// The runs that were requested in the notes read so far.
#[derive(Default)]
struct Records<'a> {
    runs: Vec<Run<'a>>,
    /// The newest run with a request id.
    by_id: HashMap<&'a str, usize>,
    killed: HashMap<u32, u64>,
    findings: Findings,
}

/// A run that was requested.
struct Run<'a> {
    nonce: &'a str,
    asked: &'a Note,
    chunks: u64,
    fails: bool,
    /// The process of the manager that received the last chunk, and the number of the next one.
    received: (u32, u64),
    has_state: bool,
    answers: Vec<&'a Note>,
}

impl<'a> Records<'a> {
    fn add(&mut self, note: &'a Note) {
        match &note.what {
            What::Asked { id, nonce, chunks, fails } => {
                self.by_id.insert(id, self.runs.len());
                self.findings.runs += 1;
                self.runs.push(Run {
                    nonce,
                    asked: note,
                    chunks: *chunks,
                    fails: *fails,
                    received: (note.process, 0),
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
            None => self.findings.mixed(format!("{id} was never requested")),
        }
    }

    /// Checks for missing and repeated answers, when all notes were read.
    fn finish(&mut self, began: &HashSet<&str>) {
        // If an id was used twice, the runs of the previous manager cannot be answered.
        let keeps_ids = self.by_id.len() == self.runs.len();
        self.findings.kills = self.killed.len();
        for run in &self.runs {
            let killed = self.killed.get(&run.asked.process).copied();
            let findings = &mut self.findings;
            match &run.answers[..] {
                [_, ..] => run.repeats(&self.killed, findings),
                [] if !began.contains(run.nonce) => match killed {
                    Some(killed) if is_just_before(run.asked.at, killed) => {
                        findings.undelivered += 1
                    }
                    _ => findings.lost(format!("{} was not begun", run.nonce)),
                },
                [] if killed.is_some() && !keeps_ids => findings.orphaned += 1,
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

    /// The chunks that one manager receives have no gaps. Chunks before the first one of the next
    /// manager may have been lost with the previous one.
    fn chunk(&mut self, note: &Note, nonce: &str, number: u64, findings: &mut Findings) {
        let (process, next) = self.received;
        let own_nonce = self.nonce;
        if nonce != own_nonce {
            findings.mixed(format!("{own_nonce} received a chunk of {nonce}"));
        } else if !self.answers.is_empty() {
            findings.mixed(format!("{own_nonce} received chunk {number} after its answer"));
        } else if number < next {
            findings.doubled(format!("chunk {number} of {own_nonce}"));
        } else if number > next && process == note.process {
            findings.lost(format!("{} chunks of {own_nonce} before {number}", number - next));
        }
        self.received = (note.process, number + 1);
    }

    fn answer(&mut self, note: &'a Note, nonce: &str, failed: bool, findings: &mut Findings) {
        let (process, next) = self.received;
        if nonce != self.nonce || failed != self.fails {
            findings.mixed(format!("{} was answered with {nonce}, failed: {failed}", self.nonce));
        }
        let is_first = self.answers.is_empty();
        if is_first && process == note.process && next != self.chunks {
            findings.lost(format!("{} has {} chunks, {next} arrived", self.nonce, self.chunks));
        }
        findings.answered += usize::from(is_first && !failed);
        findings.failed += usize::from(is_first && failed);
        self.answers.push(note);
    }

    /// An answer may be repeated only if the manager that received it was killed before it could
    /// confirm it.
    fn repeats(&self, killed: &HashMap<u32, u64>, findings: &mut Findings) {
        for pair in self.answers.windows(2) {
            let (before, again) = (pair[0], pair[1]);
            let killed = killed.get(&before.process).copied();
            let is_allowed = before.process != again.process
                && killed.is_some_and(|killed| is_just_before(before.at, killed));
            if is_allowed {
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
