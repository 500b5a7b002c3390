//! Values of the library as messages of the protocol.

use std::collections::BTreeMap;

use oxikit_core::ports::{RevisionInfo, RevisionKind};
use oxikit_wire::prompts as wire;

use crate::document::time_text;
use crate::expand::{Expansion, Span};
use crate::source::{MetadataChange, PromptType};
use crate::text::{Conflict, Op, Patch};

/// A revision, with the labels that it has.
pub(crate) fn revision(info: &RevisionInfo, labels: &BTreeMap<String, u64>) -> wire::Revision {
    let own = labels.iter().filter(|(_, rev)| **rev == info.number);
    wire::Revision {
        rev: info.number,
        parent: (info.parent > 0).then_some(info.parent),
        kind: revision_kind(info.kind),
        author: info.author.clone(),
        timestamp: time_text(info.at),
        hash: info.hash.clone(),
        bytes: info.bytes,
        applied: info.is_applied,
        labels: own.map(|(label, _)| label.clone()).collect(),
    }
}

fn revision_kind(kind: RevisionKind) -> wire::RevisionKind {
    match kind {
        RevisionKind::Edit => wire::RevisionKind::Edit,
        RevisionKind::Merge => wire::RevisionKind::Merge,
        RevisionKind::External => wire::RevisionKind::External,
        RevisionKind::Metadata => wire::RevisionKind::Metadata,
        RevisionKind::Rename => wire::RevisionKind::Rename,
        RevisionKind::Restore => wire::RevisionKind::Restore,
        RevisionKind::Delete => wire::RevisionKind::Delete,
        RevisionKind::Refused => wire::RevisionKind::Refused,
    }
}

/// A place that two edits have changed.
pub(crate) fn conflict(conflict: Conflict) -> wire::Conflict {
    let Conflict { base, stored, incoming } = conflict;
    wire::Conflict { base, stored, incoming }
}

/// A text and its expansion.
pub(crate) fn expanded(
    content: String,
    expansion: Expansion,
    op: Option<String>,
) -> wire::Expanded {
    let span =
        |span: Span| wire::Span { start: span.start as u64, end: span.end as u64, id: span.id };
    wire::Expanded {
        content,
        expanded: expansion.text,
        dependencies: expansion.dependencies,
        warnings: expansion.warnings,
        op,
        revs: Some(expansion.revs),
        spans: Some(expansion.spans.into_iter().map(span).collect()),
    }
}

/// The steps of a patch.
pub(crate) fn patch_ops(patch: Patch) -> Vec<wire::PatchOp> {
    let step = |op| match op {
        Op::Keep(count) => wire::PatchOp::Keep(count as u64),
        Op::Insert(text) => wire::PatchOp::Insert(text),
        Op::Delete(count) => wire::PatchOp::Delete(count as u64),
    };
    patch.0.into_iter().map(step).collect()
}

/// A patch of these steps. A count that is larger than any text stays so.
pub(crate) fn patch(ops: Vec<wire::PatchOp>) -> Patch {
    let count = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    let step = |op| match op {
        wire::PatchOp::Keep(units) => Op::Keep(count(units)),
        wire::PatchOp::Insert(text) => Op::Insert(text),
        wire::PatchOp::Delete(units) => Op::Delete(count(units)),
    };
    Patch(ops.into_iter().map(step).collect())
}

/// A change of metadata as a client has sent it.
pub(crate) fn metadata_change(
    description: Option<String>,
    tags: Option<Vec<String>>,
    prompt_type: Option<wire::PromptType>,
) -> MetadataChange {
    let own = |wire| match wire {
        wire::PromptType::Standard => PromptType::Standard,
        wire::PromptType::Composite => PromptType::Composite,
        wire::PromptType::System => PromptType::System,
        wire::PromptType::User => PromptType::User,
        wire::PromptType::Custom => PromptType::Custom,
    };
    MetadataChange { description, tags, prompt_type: prompt_type.map(own) }
}
