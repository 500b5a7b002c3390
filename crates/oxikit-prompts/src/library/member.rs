//! A live editor of a document: the messages that it sends, and those that wait for it.
//!
//! A [`Member`] speaks the messages of `oxikit_wire::prompts`. The transport, such as a WebSocket,
//! passes them on as texts.

use std::sync::Arc;
use std::task::{Context, Poll};

use oxikit_core::timestamp;
use oxikit_http::websocket::FrameSender;
use oxikit_wire::prompts::{
    AskHistory, AskRestore, ClientMessage, ErrorInfo, ErrorMessage, ExpandText, History,
    ServerMessage, SubmitMetadata, SubmitPatch, SubmitUpdate, UpdateStatus,
};
use tokio::sync::oneshot;

use super::editing::check_op;
use crate::Prompts;
use crate::document::Document;
use crate::error::PromptsError;
use crate::requests::{Base, Content, RevisionName, Submission};
use crate::room::{MemberId, Outbox, Outgoing, message_text};
use crate::task::{Change, Handle, Input, Tasks, Wanted};
use crate::wire_form;

/// Default and maximum number of revisions in an answer to `history`.
const REVISIONS: (u32, u32) = (50, 500);

/// The options of [`Prompts::join`](crate::Prompts::join).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct JoinOptions {
    /// The author of the member's edits, as long as neither `hello` nor an edit names another one.
    pub label: Option<String>,
}

/// A live editor of a document. Dropping it leaves.
///
/// The transport calls [`handle`](Self::handle) for each message of its peer, one after the other,
/// and sends what [`next`](Self::next) returns, at the same time. Answers are among the outgoing
/// messages, in the order of the requests.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # use std::sync::Arc;
/// # use oxikit_core::ports::memory::MemoryRevisions;
/// # use oxikit_prompts::{JoinOptions, NewDocument, Outgoing, Prompts, PromptsOptions};
/// # let folder = tempfile::tempdir()?;
/// # let options = PromptsOptions::new([folder.path()]);
/// # let prompts = Prompts::open(options, Arc::new(MemoryRevisions::default())).await?;
/// prompts.create(NewDocument::new("joke", "Tell a joke.")).await?;
/// let member = prompts.join("joke", None, JoinOptions::default()).await?;
/// let Outgoing::Text(initial) = member.next().await else { panic!("closed") };
/// assert!(initial.starts_with(r#"{"action":"initial","content":"Tell a joke.""#));
///
/// let message = r#"{"action": "update", "content": "Tell two jokes."}"#;
/// member.handle(serde_json::from_str(message)?).await;
/// let Outgoing::Text(status) = member.next().await else { panic!("closed") };
/// assert!(status.starts_with(r#"{"action":"update_status","success":true"#));
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Member {
    prompts: Prompts,
    handle: Handle,
    id: MemberId,
    session: Arc<str>,
    outbox: Arc<Outbox>,
}

impl Member {
    pub(super) async fn join(
        prompts: Prompts,
        tasks: &Arc<Tasks>,
        key: &str,
        options: JoinOptions,
    ) -> Result<Self, PromptsError> {
        let (reply, answer) = oneshot::channel();
        let handle = tasks.send(key, Input::Join { label: options.label, reply }).await?;
        let joined = answer.await.unwrap_or(Err(PromptsError::Closed))?;
        let (id, session, outbox) = (joined.member, joined.session, joined.outbox);
        Ok(Self { prompts, handle, id, session, outbox })
    }

    /// The document as it is now. It follows a rename.
    pub fn document(&self) -> Arc<Document> {
        self.outbox.current().document.clone()
    }

    /// The id of this connection in lists of presence.
    pub fn session(&self) -> &str {
        &self.session
    }

    /// Handles a message of the peer. It returns when the answer is among the outgoing messages; an
    /// edit is durable then, or refused.
    pub async fn handle(&self, message: ClientMessage) {
        match message {
            ClientMessage::Update(update) => self.update(update).await,
            ClientMessage::UpdateMetadata(metadata) => self.update_metadata(metadata).await,
            ClientMessage::Patch(patch) => self.patch(patch).await,
            ClientMessage::Restore(restore) => self.restore(restore).await,
            ClientMessage::Expand(text) => self.expand(text).await,
            ClientMessage::History(asked) => self.history(asked).await,
            ClientMessage::Hello(hello) => {
                let (done, answered) = oneshot::channel();
                let sent = self.handle.send(Input::Hello { member: self.id, hello, done }).await;
                if sent.is_ok() {
                    // Without an answer the document is closed, and the member is told so.
                    _ = answered.await;
                }
            }
            ClientMessage::Presence(presence) => {
                // A document that is closed shows nobody.
                _ = self.handle.send(Input::Presence { member: self.id, presence }).await;
            }
        }
    }

    /// Puts a message for the peer behind those that wait, such as an error for a message that could
    /// not be read.
    pub fn send(&self, message: &ServerMessage) {
        self.outbox.reply(message_text(message));
    }

    /// The next message for the peer. Nothing is lost if the future is dropped before it is ready.
    /// After [`Outgoing::Close`] it is pending for ever.
    pub async fn next(&self) -> Outgoing {
        self.outbox.next().await
    }

    /// [`next`](Self::next) for a transport that polls several sources itself.
    pub fn poll_next(&self, cx: &Context<'_>) -> Poll<Outgoing> {
        self.outbox.poll_next(cx)
    }

    /// Lets the room send messages through the connection of the transport while the transport waits for
    /// one, which saves waking it. The transport must have sent all messages that it has taken before it
    /// asks for the [next](Self::poll_next) one.
    pub fn send_through(&self, sender: FrameSender) {
        self.outbox.send_through(sender);
    }

    /// The next message for the peer if there is one.
    pub fn try_next(&self) -> Option<Outgoing> {
        self.outbox.try_next()
    }

    async fn update(&self, update: SubmitUpdate) {
        let mut submission = Submission::content(update.content);
        submission.base = update.base_rev.map_or(Base::Replace, Base::Rev);
        submission.on_conflict = update.on_conflict.unwrap_or_default();
        self.submit(submission, update.op, update.author).await;
    }

    async fn update_metadata(&self, metadata: SubmitMetadata) {
        let SubmitMetadata { description, tags, prompt_type, op, author } = metadata;
        let change = wire_form::metadata_change(description, tags, prompt_type);
        self.submit(Submission::metadata(change), op, author).await;
    }

    async fn patch(&self, patch: SubmitPatch) {
        let SubmitPatch { base_rev, ops, op, on_conflict, author } = patch;
        let mut submission = Submission::patch(base_rev, wire_form::patch(ops));
        submission.on_conflict = on_conflict.unwrap_or_default();
        self.submit(submission, op, author).await;
    }

    async fn submit(&self, submission: Submission, op: Option<String>, author: Option<String>) {
        let bytes = submission.content.as_ref().map_or(0, Content::bytes);
        let checked = self.prompts.check_size(bytes).and_then(|()| check_op(op.as_deref()));
        match checked {
            Ok(()) => self.change(Wanted::Submit(submission), op, author).await,
            Err(error) => self.refuse(&error, op),
        }
    }

    async fn restore(&self, restore: AskRestore) {
        let AskRestore { rev, op, author } = restore;
        match check_op(op.as_deref()) {
            Ok(()) => self.change(Wanted::Restore(RevisionName::Number(rev)), op, author).await,
            Err(error) => self.refuse(&error, op),
        }
    }

    /// Changes the document. Its task puts `update_status` into the outbox.
    async fn change(&self, wanted: Wanted, op: Option<String>, author: Option<String>) {
        let own_op = op.clone();
        let changed = self.handle.ask(|reply| {
            let member = Some(self.id);
            Input::Change(Box::new(Change { wanted, author, op, member, reply }))
        });
        if let Err(error @ PromptsError::Closed) = changed.await {
            self.refuse(&error, own_op);
        }
    }

    /// Answers an edit that the task has not seen.
    fn refuse(&self, error: &PromptsError, op: Option<String>) {
        self.send(&ServerMessage::UpdateStatus(UpdateStatus {
            success: false,
            timestamp: timestamp::now(),
            op,
            error: Some(ErrorInfo { code: error.code(), message: error.to_string() }),
            ..UpdateStatus::default()
        }));
    }

    async fn expand(&self, text: ExpandText) {
        let ExpandText { content, op } = text;
        if let Err(error) = self.prompts.check_size(content.len()) {
            return self.error(&error, op);
        }
        let expansion = self.prompts.expand(Some(&self.document()), &content).await;
        let expanded = wire_form::expanded(content, expansion, op);
        self.send(&ServerMessage::Expanded(expanded));
    }

    async fn history(&self, asked: AskHistory) {
        let AskHistory { limit, before, op } = asked;
        let limit = limit.unwrap_or(REVISIONS.0).clamp(1, REVISIONS.1);
        let key = self.document().key.clone();
        let store = &self.prompts.state.store;
        let read = async {
            let log = store.log(&key, before, limit as usize).await?;
            Ok::<_, PromptsError>((log, store.labels(&key).await?))
        };
        match read.await {
            Ok((log, labels)) => {
                let revisions = log.iter().map(|info| wire_form::revision(info, &labels)).collect();
                self.send(&ServerMessage::History(History { revisions, labels, op }));
            }
            Err(error) => self.error(&error, op),
        }
    }

    fn error(&self, error: &PromptsError, op: Option<String>) {
        let (code, message) = (error.code(), error.to_string());
        self.send(&ServerMessage::Error(ErrorMessage { code, message, op }));
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.outbox.leave();
        self.handle.wake();
    }
}
