//! The bodies of notifications, in the form of the version that the webhook was registered with.

use std::sync::Arc;

use oxikit_core::ports::{DuePush, StoreError, TaskEntry, TaskEvent, TaskHead, TaskStore};
use oxikit_wire::a2a::{StreamResponse, Task, Version, v0_3};

use super::version_of;
use crate::a2a::follower::response_of;
use crate::a2a::runner::fold;

/// Makes the bodies of consecutive events of a task.
pub(super) enum Bodies {
    /// The whole task, as it is after the event.
    V0_3(Box<Task>),
    /// The event.
    V1_0(Box<TaskHead>),
}

impl Bodies {
    /// Bodies of the events after those that are delivered.
    pub(super) async fn new(
        store: &dyn TaskStore,
        due: &DuePush,
        head: TaskHead,
    ) -> Result<Self, StoreError> {
        Ok(match version_of(&due.target) {
            Version::V0_3 => {
                let task = fold(store, &due.scope, &due.task, due.delivered).await?;
                Self::V0_3(Box::new(task))
            }
            Version::V1_0 => Self::V1_0(Box::new(head)),
        })
    }

    /// The body that tells the next event; `None` if the webhook is not told about it.
    pub(super) fn next(&mut self, event: TaskEvent) -> Option<Vec<u8>> {
        let TaskEvent { sequence, entry, .. } = event;
        let entry = Arc::unwrap_or_clone(entry);
        let written = match self {
            Self::V0_3(task) => {
                let is_told = is_told_in_v0_3(&entry);
                entry.apply(task);
                if !is_told {
                    return None;
                }
                serde_json::to_vec(&v0_3::Out::new(&**task))
            }
            // As a stream does, the notifications begin with the task.
            Self::V1_0(head) if sequence == 1 => {
                let mut task = head.unfolded();
                entry.apply(&mut task);
                serde_json::to_vec(&StreamResponse::Task(task))
            }
            Self::V1_0(head) => serde_json::to_vec(&response_of(&head.id, &head.context_id, entry)),
        };
        // Events are texts and JSON values, which can always be written.
        debug_assert!(written.is_ok(), "{written:?}");
        written.ok()
    }
}

/// Receivers of 0.3 are sent the whole task, and so are not called for every chunk.
fn is_told_in_v0_3(entry: &TaskEntry) -> bool {
    match entry {
        TaskEntry::Status(_) => true,
        TaskEntry::Artifact(entry) => entry.last_chunk,
    }
}
