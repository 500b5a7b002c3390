//! A state of a document as members are told about it.

use std::sync::{Arc, OnceLock};

use oxikit_wire::prompts::{
    Initial, MetadataUpdated, Patched, Protocol, ServerMessage, UpdateReason, Updated,
};

use super::SharedText;
use crate::document::Document;
use crate::text::Patch;
use crate::wire_form;

/// A state of a document, and the one before it. Each message about it is made once and shared by all
/// members: changes when the room announces them, the others when the first member reads them.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) document: Arc<Document>,
    previous: Option<Arc<Document>>,
    reason: UpdateReason,
    initial: OnceLock<SharedText>,
    update: OnceLock<SharedText>,
    patched: OnceLock<SharedText>,
    metadata: OnceLock<SharedText>,
}

impl Snapshot {
    /// The state of a document that has just been opened.
    pub(crate) fn first(document: Arc<Document>) -> Self {
        Self::new(document, None, UpdateReason::Edit)
    }

    /// The state of a document after a change.
    pub(crate) fn after(
        previous: Arc<Document>,
        document: Arc<Document>,
        reason: UpdateReason,
    ) -> Self {
        Self::new(document, Some(previous), reason)
    }

    fn new(document: Arc<Document>, previous: Option<Arc<Document>>, reason: UpdateReason) -> Self {
        Self {
            document,
            previous,
            reason,
            initial: OnceLock::new(),
            update: OnceLock::new(),
            patched: OnceLock::new(),
            metadata: OnceLock::new(),
        }
    }

    /// The revision before this one; 0 if there is none.
    pub(crate) fn base_rev(&self) -> u64 {
        self.previous.as_ref().map_or(0, |previous| previous.rev)
    }

    /// Whether the content differs from the one before.
    pub(crate) fn has_new_content(&self) -> bool {
        self.previous.as_ref().is_some_and(|old| old.content() != self.document.content())
    }

    /// Whether description, tags or type differ from those before.
    pub(crate) fn has_new_metadata(&self) -> bool {
        self.previous.as_ref().is_some_and(|old| {
            old.metadata() != self.document.metadata()
                || old.prompt_type() != self.document.prompt_type()
        })
    }

    pub(super) fn initial(&self) -> &SharedText {
        let make = || {
            let document = &self.document;
            message_text(&ServerMessage::Initial(Initial {
                content: document.content().into(),
                description: document.metadata().description.clone(),
                tags: document.metadata().tags.clone(),
                prompt_type: document.prompt_type(),
                updated_at: document.updated_at_text(),
                rev: Some(document.rev),
                hash: Some(document.hash.clone()),
                id: Some(document.id.clone()),
                kind: Some(document.kind),
                protocol: Some(Protocol::current()),
            }))
        };
        self.initial.get_or_init(make)
    }

    /// The whole content, as a change.
    pub(super) fn update(&self) -> &SharedText {
        let make = || {
            let document = &self.document;
            message_text(&ServerMessage::Update(Updated {
                content: document.content().into(),
                timestamp: document.updated_at_text(),
                rev: Some(document.rev),
                base_rev: self.previous.as_ref().map(|previous| previous.rev),
                hash: Some(document.hash.clone()),
                reason: Some(self.reason),
                author: self.author(),
            }))
        };
        self.update.get_or_init(make)
    }

    /// The change in steps. The whole content if there is no state before it.
    pub(super) fn patched(&self) -> &SharedText {
        let Some(previous) = &self.previous else { return self.update() };
        let make = || {
            let document = &self.document;
            message_text(&ServerMessage::Patched(Patched {
                rev: document.rev,
                base_rev: previous.rev,
                ops: wire_form::patch_ops(Patch::between(previous.content(), document.content())),
                hash: Some(document.hash.clone()),
                reason: Some(self.reason),
                author: self.author(),
                timestamp: Some(document.updated_at_text()),
            }))
        };
        self.patched.get_or_init(make)
    }

    pub(super) fn metadata(&self) -> &SharedText {
        let make = || {
            let document = &self.document;
            message_text(&ServerMessage::UpdateMetadata(MetadataUpdated {
                description: document.metadata().description.clone(),
                tags: document.metadata().tags.clone(),
                prompt_type: document.prompt_type(),
                timestamp: document.updated_at_text(),
                rev: Some(document.rev),
                op: None,
                author: self.author(),
            }))
        };
        self.metadata.get_or_init(make)
    }

    fn author(&self) -> Option<String> {
        Some(self.document.author.clone()).filter(|author| !author.is_empty())
    }
}

/// A message as JSON.
pub(crate) fn message_text(message: &ServerMessage) -> SharedText {
    // Messages have texts, numbers and lists only, which JSON can always hold.
    SharedText::json(message).unwrap_or_else(|_| "".into())
}
