//! Everything that can happen to a document.

use std::sync::Arc;

use oxikit_core::ports::RevisionKind;
use oxikit_wire::prompts::{Hello, SetPresence};
use tokio::sync::{mpsc, oneshot};

use super::Place;
use crate::document::Document;
use crate::error::PromptsError;
use crate::requests::{RevisionName, Submission, Submitted};
use crate::room::{MemberId, Outbox};
use crate::source::Source;

/// The answer to a request, which nobody may wait for any more.
pub(crate) type Reply<T> = oneshot::Sender<Result<T, PromptsError>>;

/// A request to the task of a document.
#[derive(Debug)]
pub(crate) enum Input {
    /// Changes the document.
    Change(Box<Change>),
    /// Opens the document for live editing.
    Join { label: Option<String>, reply: Reply<Joined> },
    /// A member understands the extended protocol.
    Hello { member: MemberId, hello: Hello, done: oneshot::Sender<()> },
    /// A member shows its cursor.
    Presence { member: MemberId, presence: SetPresence },
    /// Compares the document with its file and the store. The answer is the current document;
    /// `None` if there is none.
    Check { reply: Option<Reply<Option<Arc<Document>>>> },
    /// The file was missing for a while: another program has removed it.
    FileRemoved,
    /// Lets one caller change the document alone.
    Hold { reply: Reply<Hold> },
    /// The directory is no longer served: members are closed, and the task ends.
    Evict,
}

/// A change of a document.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) wanted: Wanted,
    pub(crate) author: Option<String>,
    pub(crate) op: Option<String>,
    /// The member that sent it; it gets `update_status`.
    pub(crate) member: Option<MemberId>,
    pub(crate) reply: Reply<Submitted>,
}

/// What a [`Change`] does.
#[derive(Debug)]
pub(crate) enum Wanted {
    Submit(Submission),
    /// The text of a revision becomes the current one.
    Restore(RevisionName),
    /// A new document. Its text.
    Create(Source),
    Delete,
    Undelete,
}

/// A new member.
#[derive(Debug)]
pub(crate) struct Joined {
    pub(crate) member: MemberId,
    pub(crate) session: Arc<str>,
    pub(crate) outbox: Arc<Outbox>,
}

/// The sole right to change a document, until it is dropped. Other requests wait.
#[derive(Debug)]
pub(crate) struct Hold {
    commands: mpsc::Sender<Command>,
    /// The document at the beginning.
    pub(crate) document: Arc<Document>,
}

/// A request of the holder of a document.
#[derive(Debug)]
pub(crate) enum Command {
    /// Replaces the whole text.
    Replace { source: Source, kind: RevisionKind, author: String, reply: Reply<Arc<Document>> },
    /// Moves the document to another place, with another text.
    Move { to: Place, source: Source, author: String, outcome: String, reply: Reply<Arc<Document>> },
}

impl Hold {
    pub(super) fn new(document: Arc<Document>) -> (Self, mpsc::Receiver<Command>) {
        // The holder waits for the answer to each command.
        let (commands, receiver) = mpsc::channel(1);
        (Self { commands, document }, receiver)
    }

    /// Replaces the whole text of the document.
    pub(crate) async fn replace(
        &self,
        source: Source,
        kind: RevisionKind,
        author: &str,
    ) -> Result<Arc<Document>, PromptsError> {
        let author = author.to_owned();
        self.ask(|reply| Command::Replace { source, kind, author, reply }).await
    }

    /// Moves the document to another place. `outcome` is kept with the revision.
    pub(crate) async fn move_to(
        &self,
        to: Place,
        source: Source,
        author: &str,
        outcome: String,
    ) -> Result<Arc<Document>, PromptsError> {
        let author = author.to_owned();
        self.ask(|reply| Command::Move { to, source, author, outcome, reply }).await
    }

    async fn ask<T>(&self, command: impl FnOnce(Reply<T>) -> Command) -> Result<T, PromptsError> {
        let (reply, answer) = oneshot::channel();
        self.commands.send(command(reply)).await.map_err(|_| PromptsError::Closed)?;
        answer.await.unwrap_or(Err(PromptsError::Closed))
    }
}
