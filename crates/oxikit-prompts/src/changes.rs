//! The feed of changes: which document has changed, for lists and for applications that use the
//! prompts. It carries no texts; readers ask the library for them.
//!
//! A reader that has lost its connection continues where it was. If its position is not kept, it gets
//! [`ChangeKind::Reload`].

use oxikit_http::feed::{Feed, Read, Reader};
use oxikit_wire::prompts::{ChangeEvent, ChangeKind};

use crate::document::Document;

/// Number of events that are kept. A reader that is further behind gets [`ChangeKind::Reload`].
const KEPT: usize = 1024;

/// A subscription to the changes of all documents, made by
/// [`Prompts::changes`](crate::Prompts::changes).
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::sync::Arc;
///
/// use oxikit_core::ports::memory::MemoryRevisions;
/// use oxikit_prompts::{NewDocument, Prompts, PromptsOptions};
/// use oxikit_wire::prompts::ChangeKind;
///
/// let folder = tempfile::tempdir()?;
/// let options = PromptsOptions::new([folder.path()]);
/// let prompts = Prompts::open(options, Arc::new(MemoryRevisions::default())).await?;
/// let mut changes = prompts.changes();
/// prompts.create(NewDocument::new("joke", "Tell a joke.")).await?;
/// let event = changes.next().await.unwrap();
/// assert_eq!((event.change, event.id.as_deref()), (ChangeKind::Created, Some("joke")));
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Changes(Reader<ChangeEvent>);

/// The end of the feed where changes are reported.
#[derive(Debug)]
pub(crate) struct ChangeFeed(Feed<ChangeEvent>);

impl ChangeFeed {
    pub(crate) fn new() -> Self {
        Self(Feed::new(KEPT))
    }

    /// Subscribes to changes from now on, or from those after the position `last`.
    pub(crate) fn read_from(&self, last: Option<&str>) -> Changes {
        Changes(self.0.read_from(last))
    }

    /// Reports a change of a document.
    pub(crate) fn report(&self, change: ChangeKind, document: &Document) {
        self.0.add(event(change, document));
    }

    /// Reports that a document got another id.
    pub(crate) fn report_rename(&self, old_id: &str, document: &Document) {
        let old_id = Some(old_id.to_owned());
        self.0.add(ChangeEvent { old_id, ..event(ChangeKind::Renamed, document) });
    }

    /// Reports that any number of documents may have changed.
    pub(crate) fn report_reload(&self) {
        self.0.add_gap();
    }

    /// Ends the feed of all readers.
    pub(crate) fn close(&self) {
        self.0.close();
    }
}

impl Changes {
    /// The next change; `None` when the library is closed. A reader that was too slow gets
    /// [`ChangeKind::Reload`] and reads the list again. Nothing is lost if the future is dropped.
    pub async fn next(&mut self) -> Option<ChangeEvent> {
        Some(match self.0.next().await? {
            Read::Event(event) => event,
            Read::Gap => reload(),
        })
    }

    /// The position behind the last change that was read.
    pub(crate) fn position(&self) -> String {
        self.0.position()
    }
}

fn event(change: ChangeKind, document: &Document) -> ChangeEvent {
    ChangeEvent {
        change,
        id: Some(document.id.clone()),
        old_id: None,
        kind: Some(document.kind),
        rev: Some(document.rev),
        hash: Some(document.hash.clone()),
    }
}

fn reload() -> ChangeEvent {
    ChangeEvent {
        change: ChangeKind::Reload,
        id: None,
        old_id: None,
        kind: None,
        rev: None,
        hash: None,
    }
}
