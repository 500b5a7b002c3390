//! Continues a stream of a server that does not number its events.
//!
//! After a lost connection such a server sends the task as it is now. The reader is told only what
//! is new in it. The events that follow may repeat the end of it: a server of version 0.3 may have
//! published them between the subscription and the reading of the task.

use std::collections::{HashMap, VecDeque};

use oxikit_wire::a2a::{
    Artifact, ArtifactUpdate, Part, StatusUpdate, StreamResponse, Task, TaskStatus,
};

/// The parts of the task that the reader has got from a snapshot instead of from events.
#[derive(Debug, Default)]
pub(super) struct CatchUp {
    tails: HashMap<String, Tail>,
}

/// The parts of an artifact that the reader was told from the task.
#[derive(Debug)]
struct Tail {
    parts: VecDeque<Part>,
    /// Whether these are all parts of the artifact.
    is_whole: bool,
    /// Whether an event has repeated some of them. The next event repeats those after them.
    is_begun: bool,
}

impl CatchUp {
    /// Takes note that the reader was told the whole task.
    pub(super) fn begin(&mut self, task: &Task) {
        let none = Task::new(task.id.as_str(), task.context_id.as_str(), task.status.clone());
        self.artifacts(&none, task);
    }

    /// The events that lead from the task that the reader knows to the task as it is now.
    pub(super) fn difference(&mut self, known: &Task, task: &Task) -> Vec<StreamResponse> {
        let mut events = self.artifacts(known, task);
        if task.status != known.status && !is_older(&task.status, &known.status) {
            events.push(StreamResponse::StatusUpdate(StatusUpdate {
                task_id: task.id.clone(),
                context_id: task.context_id.clone(),
                status: task.status.clone(),
                metadata: None,
            }));
        }
        events
    }

    /// The same for the artifacts alone.
    pub(super) fn artifacts(&mut self, known: &Task, task: &Task) -> Vec<StreamResponse> {
        let updates = task.artifacts.iter().filter_map(|artifact| {
            let mut known = known.artifacts.iter();
            let known = known.find(|it| it.artifact_id == artifact.artifact_id);
            let (artifact, append) = rest_of(known, artifact)?;
            let parts = artifact.parts.iter().cloned().collect();
            let tail = Tail { parts, is_whole: !append, is_begun: false };
            self.tails.insert(artifact.artifact_id.clone(), tail);
            Some(StreamResponse::ArtifactUpdate(ArtifactUpdate {
                task_id: task.id.clone(),
                context_id: task.context_id.clone(),
                artifact,
                append,
                last_chunk: false,
                metadata: None,
            }))
        });
        updates.collect()
    }

    /// Whether the event repeats what the reader was told from the task.
    pub(super) fn repeats(&mut self, known: &Task, event: &StreamResponse) -> bool {
        match event {
            StreamResponse::StatusUpdate(update) => {
                update.status == known.status && !update.status.state.is_terminal()
            }
            StreamResponse::ArtifactUpdate(update) => self.repeats_chunk(update),
            _ => false,
        }
    }

    fn repeats_chunk(&mut self, update: &ArtifactUpdate) -> bool {
        let (id, chunk) = (&update.artifact.artifact_id, &update.artifact.parts);
        let Some(tail) = self.tails.get_mut(id) else { return false };
        let starts = |from: usize| tail.parts.iter().skip(from).take(chunk.len()).eq(chunk);
        let start = match (update.append, tail.is_begun) {
            (false, false) if tail.is_whole => starts(0).then_some(0),
            (false, _) => None,
            (true, true) => starts(0).then_some(0),
            // The subscription may have begun at any of them.
            (true, false) => (0..tail.parts.len()).find(|from| starts(*from)),
        };
        match start {
            Some(start) => {
                tail.parts.drain(..start + chunk.len());
                tail.is_begun = true;
                true
            }
            None => {
                self.tails.remove(id);
                false
            }
        }
    }
}

/// Whether the task was read before the status that is known. Servers write the times of a task in
/// the same form.
fn is_older(status: &TaskStatus, known: &TaskStatus) -> bool {
    matches!((&status.timestamp, &known.timestamp), (Some(time), Some(known)) if time < known)
}

/// The parts of an artifact that are not known, and whether they follow known ones. `None` if
/// there are none.
fn rest_of(known: Option<&Artifact>, artifact: &Artifact) -> Option<(Artifact, bool)> {
    let Some(known) = known else { return Some((artifact.clone(), false)) };
    match artifact.parts.strip_prefix(known.parts.as_slice()) {
        Some([]) => None,
        Some(rest) => Some((Artifact { parts: rest.to_vec(), ..artifact.clone() }, true)),
        // The task was read before the last events.
        None if known.parts.starts_with(&artifact.parts) => None,
        None => Some((artifact.clone(), false)),
    }
}
