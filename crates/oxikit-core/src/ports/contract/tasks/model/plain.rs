//! A plain model of a task: its log, and the rules as the port states them.

use std::borrow::Borrow;
use std::sync::Arc;

use oxikit_wire::a2a::TaskState;

use super::super::{shown_entry, write};
use crate::ports::{Appended, NewTask, NewTurn, Received, StoreError, TaskEntry, TaskWrite};

/// An answer of a store or of the model.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Done(String),
    Ended,
    Fenced,
    Conflict,
    Full,
    Exists,
    NotFound,
    Other(String),
}

impl Answer {
    pub(super) fn of(answer: Result<String, StoreError>) -> Self {
        match answer {
            Ok(answer) => Self::Done(answer),
            Err(StoreError::Ended(_)) => Self::Ended,
            Err(StoreError::Fenced(_)) => Self::Fenced,
            Err(StoreError::Conflict(_)) => Self::Conflict,
            Err(StoreError::Full(..)) => Self::Full,
            Err(StoreError::Exists(_)) => Self::Exists,
            Err(StoreError::NotFound(_)) => Self::NotFound,
            Err(error) => Self::Other(error.to_string()),
        }
    }
}

pub(super) struct PlainTask {
    /// The turn and the text of each event.
    pub(super) log: Vec<(u64, String)>,
    /// All states, in their order.
    states: Vec<TaskState>,
    pub(super) turns: u64,
    turn: u64,
    pub(super) runner: Option<Arc<str>>,
    pub(super) last_write: Option<(TaskWrite, Appended)>,
}

impl PlainTask {
    pub(super) fn new(new: &NewTask) -> Self {
        let mut task = Self {
            log: Vec::new(),
            states: Vec::new(),
            turns: 1,
            turn: 1,
            runner: Some(new.runner.clone()),
            last_write: None,
        };
        task.add(1, &new.entries);
        task
    }

    pub(super) fn state(&self) -> TaskState {
        *self.states.last().expect("a task begins with a state")
    }

    /// The write that the runner would make next.
    pub(super) fn next_write(&self) -> TaskWrite {
        let last = self.last_write.as_ref().filter(|(_, answer)| !answer.is_released);
        let number = last.map_or(1, |(last, _)| last.number + 1);
        let runner = self.runner.clone().unwrap_or_else(|| "nobody".into());
        TaskWrite { runner, turn: self.turn, ..write(number, Vec::new()) }
    }

    pub(super) fn append(&mut self, write: TaskWrite) -> Answer {
        let name = |write: &TaskWrite| (write.runner.clone(), write.turn, write.number);
        if let Some((last, answer)) = &self.last_write
            && name(last) == name(&write)
        {
            return Answer::Done(format!("{answer:?}"));
        }
        if self.state().is_terminal() {
            return Answer::Ended;
        }
        if self.runner.as_ref() != Some(&write.runner) || write.turn < self.turn {
            return Answer::Fenced;
        }
        let is_first = self.last_write.as_ref().is_none_or(|(_, answer)| answer.is_released);
        if !is_first && write.number != self.next_write().number {
            return Answer::Conflict;
        }
        self.turn = write.turn;
        self.add(write.turn, &write.entries);
        if write.releases && write.turn == self.turns {
            self.runner = None;
        }
        let (position, is_released) = (self.log.len() as u64, self.runner.is_none());
        let answer = Appended { position, turns: self.turns, is_released };
        self.last_write = Some((write, answer));
        Answer::Done(format!("{answer:?}"))
    }

    pub(super) fn receive(&mut self, received: NewTurn) -> Answer {
        if self.state().is_terminal() {
            return Answer::Ended;
        }
        if self.runner.is_some() && self.turns - self.turn >= received.max_waiting {
            return Answer::Full;
        }
        self.turns += 1;
        let is_claimed = self.runner.is_none();
        if is_claimed {
            (self.runner, self.turn) = (Some(received.runner), self.turns);
        }
        self.add(self.turns, &[TaskEntry::Status(Box::new(received.entry))]);
        let answer = Received { position: self.log.len() as u64, turn: self.turns, is_claimed };
        Answer::Done(format!("{answer:?}"))
    }

    pub(super) fn end(&mut self, state: TaskState) -> Answer {
        if self.state().is_terminal() {
            return Answer::Ended;
        }
        self.add(self.turn, &[super::entry(state)]);
        Answer::Done(self.log.len().to_string())
    }

    pub(super) fn expire(&mut self, runner: &str) -> Answer {
        if !self.state().is_terminal() && self.runner.as_deref() != Some(runner) {
            return Answer::Fenced;
        }
        self.end(TaskState::Failed)
    }

    fn add(&mut self, turn: u64, entries: &[impl Borrow<TaskEntry>]) {
        for entry in entries.iter().map(Borrow::borrow) {
            self.log.push((turn, shown_entry(entry)));
            self.states.extend(entry.state());
        }
        if self.state().is_terminal() {
            self.runner = None;
        }
    }
}
