//! Changes with everything that has to be known to plan them, and the plan. These types hold values
//! only.

use std::sync::Arc;

use oxikit_core::ports::NewRevision;
use oxikit_wire::prompts::OnConflict;

use super::outcome::{Outcome, Refusal};
use crate::requests::Content;
use crate::room::SeenText;
use crate::source::{MetadataChange, Source};

/// The document before, between and after the changes of a batch.
#[derive(Debug, Clone)]
pub(super) struct Draft {
    /// The newest number of the log.
    pub(super) newest: u64,
    /// The number of the current revision.
    pub(super) rev: u64,
    /// The current text; `None` if the document does not exist.
    pub(super) source: Option<Source>,
    pub(super) path: String,
    pub(super) max_content: usize,
    pub(super) is_read_only: bool,
    /// Why the file cannot be replaced, except by an old revision.
    pub(super) problem: Option<String>,
}

/// A change with everything that has to be known about it.
#[derive(Debug, Clone)]
pub(super) struct Job {
    pub(super) wanted: JobKind,
    pub(super) author: String,
    pub(super) op: Option<String>,
}

/// What a [`Job`] does.
#[derive(Debug, Clone)]
pub(super) enum JobKind {
    Submit(SubmitJob),
    /// The text of an old revision, or why there is none.
    Restore(Result<Arc<str>, Refusal>),
    Create(Source),
    Delete,
    /// The last text of the deleted document.
    Undelete(Option<Arc<str>>),
}

/// A submission.
#[derive(Debug, Clone)]
pub(super) struct SubmitJob {
    pub(super) content: Option<Content>,
    pub(super) metadata: MetadataChange,
    pub(super) base: BaseText,
    pub(super) on_conflict: OnConflict,
    pub(super) expected_rev: Option<u64>,
}

/// The content that a submission was made from.
#[derive(Debug, Clone)]
pub(super) enum BaseText {
    /// The current one.
    Current,
    /// That of a revision; `None` if there is no such revision.
    Revision(u64, Option<Arc<str>>),
    /// One of these, the oldest first. An earlier submission of the same member in the batch is
    /// one too: its position in the batch.
    Seen(Vec<SeenText>, Vec<usize>),
}

/// The result of planning a batch.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) revisions: Vec<NewRevision>,
    /// One for each job.
    pub(super) results: Vec<JobResult>,
    /// The document after all changes.
    pub(super) draft: Draft,
}

/// What becomes of a job.
#[derive(Debug, Clone)]
pub(super) struct JobResult {
    pub(super) outcome: Result<Outcome, Refusal>,
    /// The position of its last revision among those of the plan; `None` if it made none.
    pub(super) revision: Option<usize>,
    /// The content as it was sent.
    pub(super) sent: Option<Arc<str>>,
    /// Whether the author had the current content when it made the change.
    pub(super) is_direct: bool,
}

impl Job {
    /// Size of its texts in bytes.
    pub(super) fn bytes(&self) -> usize {
        match &self.wanted {
            JobKind::Submit(submit) => submit.content.as_ref().map_or(0, Content::bytes),
            JobKind::Restore(Ok(text)) | JobKind::Undelete(Some(text)) => text.len(),
            JobKind::Create(source) => source.text().len(),
            JobKind::Restore(Err(_)) | JobKind::Undelete(None) | JobKind::Delete => 0,
        }
    }
}
