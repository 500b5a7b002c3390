//! The feed of changes: which document has changed, for lists and for applications that use the
//! prompts. It carries no texts; readers ask the library for them.

use oxikit_wire::prompts::{ChangeEvent, ChangeKind};
use tokio::sync::broadcast;

use crate::document::Document;

/// Number of events that wait for a slow reader. Beyond it the oldest are dropped, and the reader
/// gets [`ChangeKind::Reload`].
const CAPACITY: usize = 256;

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
pub struct Changes(broadcast::Receiver<ChangeEvent>);

impl Changes {
    /// The next change; `None` when the library is closed. A reader that was too slow gets
    /// [`ChangeKind::Reload`] and reads the list again. Nothing is lost if the future is dropped.
    pub async fn next(&mut self) -> Option<ChangeEvent> {
        match self.0.recv().await {
            Ok(event) => Some(event),
            Err(broadcast::error::RecvError::Lagged(_)) => Some(reload()),
            Err(broadcast::error::RecvError::Closed) => None,
        }
    }
}

/// The sending end of the feed.
#[derive(Debug)]
pub(crate) struct ChangeFeed(std::sync::Mutex<Option<broadcast::Sender<ChangeEvent>>>);

impl ChangeFeed {
    pub(crate) fn new() -> Self {
        Self(std::sync::Mutex::new(Some(broadcast::Sender::new(CAPACITY))))
    }

    /// Subscribes to changes from now on. After [`close`](Self::close) the feed has ended.
    pub(crate) fn subscribe(&self) -> Changes {
        match &*self.lock() {
            Some(sender) => Changes(sender.subscribe()),
            // The sender is dropped at once, so the feed ends.
            None => Changes(broadcast::Sender::new(1).subscribe()),
        }
    }

    /// Reports a change of a document.
    pub(crate) fn report(&self, change: ChangeKind, document: &Document) {
        self.send(event(change, document));
    }

    /// Reports that a document got another id.
    pub(crate) fn report_rename(&self, old_id: &str, document: &Document) {
        let old_id = Some(old_id.to_owned());
        self.send(ChangeEvent { old_id, ..event(ChangeKind::Renamed, document) });
    }

    /// Reports that any number of documents may have changed.
    pub(crate) fn report_reload(&self) {
        self.send(reload());
    }

    /// Ends the feed of all readers.
    pub(crate) fn close(&self) {
        self.lock().take();
    }

    fn send(&self, event: ChangeEvent) {
        if let Some(sender) = &*self.lock() {
            // Without readers there is nobody to tell.
            _ = sender.send(event);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<broadcast::Sender<ChangeEvent>>> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
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
