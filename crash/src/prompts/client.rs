//! A client that edits a document live, through as many connections as it takes.
//!
//! A plain client shows what it is sent, sends whole texts at any time, and forgets what was not
//! acknowledged when its connection ends. A client that names revisions sends one change at a time
//! with its `op`, and sends it again when its connection was lost.

use std::collections::VecDeque;

use anyhow::{Context, Result, bail};
use oxikit_core::ports::text_hash;
use oxikit_wire::prompts::{ErrorCode, PatchOp, Patched, ServerMessage, UpdateStatus};
use serde_json::{Value, json};
use tokio::time::{Duration, Instant, sleep_until, timeout};

use super::PATIENCE;
use super::manager::Project;
use super::socket::Socket;
use super::typist::Typist;

/// What a client knows of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// Whole texts without a base.
    Plain,
    /// `base_rev` and `op`.
    Revisions,
    /// The same after `hello`: changes come as steps.
    Hello,
}

/// A text that was sent and not answered yet.
struct Waiting {
    content: String,
    /// The message, to be sent again.
    message: Value,
}

/// A client of one document.
pub(super) struct Client {
    project: Project,
    id: String,
    style: Style,
    pub(super) typist: Typist,
    socket: Option<Socket>,
    /// What a plain client shows; the text of the server for the others.
    pub(super) text: String,
    /// The revision of the text.
    rev: u64,
    waiting: VecDeque<Waiting>,
    /// The texts that were answered, also those that were refused.
    pub(super) answered: Vec<String>,
    pub(super) connections: usize,
    /// Number of answers to a change that was sent again.
    pub(super) repeated: usize,
}

impl Client {
    pub(super) fn new(project: &Project, id: &str, style: Style, typist: Typist) -> Self {
        Self {
            project: project.clone(),
            id: id.to_owned(),
            style,
            typist,
            socket: None,
            text: String::new(),
            rev: 0,
            waiting: VecDeque::new(),
            answered: Vec::new(),
            connections: 0,
            repeated: 0,
        }
    }

    /// Connects, if there is no connection.
    pub(super) async fn connect(&mut self) -> Result<()> {
        while self.socket.is_none() {
            let mut socket = Socket::open(&self.project.socket_url(&self.id)).await?;
            let Some(initial) = socket.next().await? else { continue };
            if !matches!(initial, ServerMessage::Initial(_)) {
                bail!("the first message is {initial:?}");
            }
            self.connections += 1;
            if self.style == Style::Plain {
                self.waiting.clear();
            }
            self.take(initial)?;
            let hello = json!({"action": "hello", "client": "crash"});
            let mut is_open = self.style != Style::Hello || socket.send(&hello).await;
            for Waiting { message, .. } in &self.waiting {
                self.repeated += 1;
                is_open &= socket.send(message).await;
            }
            if is_open {
                self.socket = Some(socket);
            }
        }
        Ok(())
    }

    /// Edits this many times, with a pause before each, and waits until all edits are answered.
    pub(super) async fn edit(&mut self, edits: usize, longest_pause: Duration) -> Result<()> {
        for _ in 0..edits {
            let pause = longest_pause.mul_f64(self.typist.rng.f64());
            self.receive_until(Instant::now() + pause).await?;
            if self.style != Style::Plain {
                self.receive_answers().await?;
            }
            self.send().await?;
        }
        self.receive_answers().await
    }

    /// Receives messages until all edits are answered or lost.
    pub(super) async fn receive_answers(&mut self) -> Result<()> {
        while !self.waiting.is_empty() {
            let received = timeout(PATIENCE, self.receive()).await;
            received.context("an edit is not answered")??;
        }
        Ok(())
    }

    /// Receives messages until a time.
    pub(super) async fn receive_until(&mut self, end: Instant) -> Result<()> {
        loop {
            tokio::select! {
                () = sleep_until(end) => return Ok(()),
                received = self.receive() => received?,
            }
        }
    }

    /// Receives messages until the text is this one. Returns whether that happened in time.
    pub(super) async fn receive_text(&mut self, text: &str, end: Instant) -> Result<bool> {
        while self.text != text {
            tokio::select! {
                () = sleep_until(end) => return Ok(false),
                received = self.receive() => received?,
            }
        }
        Ok(true)
    }

    /// Sends an edit of the text.
    pub(super) async fn send(&mut self) -> Result<()> {
        self.connect().await?;
        let content = self.typist.edit(&self.text);
        let mut message = json!({"action": "update", "content": content});
        if self.style == Style::Plain {
            self.text.clone_from(&content);
        } else {
            message["base_rev"] = json!(self.rev);
            message["op"] = json!(format!("op{}", self.typist.rng.u64(..)));
            if self.typist.rng.u8(..4) == 0 {
                message["on_conflict"] = json!("reject");
            }
        }
        // It waits before it is sent: the answer must find it, also if this future is dropped.
        self.waiting.push_back(Waiting { content, message: message.clone() });
        if let Some(socket) = &mut self.socket
            && !socket.send(&message).await
        {
            self.socket = None;
        }
        Ok(())
    }

    /// Waits for a message and takes it over. Connects again if the connection has ended. Nothing
    /// is lost if the future is dropped.
    async fn receive(&mut self) -> Result<()> {
        let Some(socket) = &mut self.socket else {
            // The first message is taken over with the connection.
            return self.connect().await;
        };
        match socket.next().await? {
            Some(message) => self.take(message)?,
            None => self.socket = None,
        }
        Ok(())
    }

    fn take(&mut self, message: ServerMessage) -> Result<()> {
        match message {
            ServerMessage::Initial(initial) => {
                self.text = initial.content.to_string();
                self.rev = initial.rev.context("`initial` has no revision")?;
            }
            ServerMessage::Update(update) => {
                self.text = update.content.to_string();
                self.rev = update.rev.context("`update` has no revision")?;
            }
            ServerMessage::Patched(patched) => self.take_patch(&patched)?,
            ServerMessage::UpdateStatus(status) => self.take_status(&status)?,
            ServerMessage::Error(error) => bail!("the manager answered {error:?}"),
            _ => {}
        }
        Ok(())
    }

    fn take_status(&mut self, status: &UpdateStatus) -> Result<()> {
        let Waiting { content, message } =
            self.waiting.pop_front().context("an answer without an edit")?;
        if status.op.as_deref() != message["op"].as_str() {
            bail!("the answer to {message} is {status:?}");
        }
        let code = status.error.as_ref().map(|error| error.code);
        if !status.success && code != Some(ErrorCode::Conflict) {
            bail!("an edit was refused: {status:?}");
        }
        // If the stored text is another one, it follows. The answer to a change that was stored
        // through an earlier connection names an older revision than `initial`.
        let rev = status.rev.unwrap_or_default();
        if self.style != Style::Plain && status.merged == Some(false) && rev > self.rev {
            self.text.clone_from(&content);
            self.rev = rev;
        }
        self.answered.push(content);
        Ok(())
    }

    fn take_patch(&mut self, patched: &Patched) -> Result<()> {
        if patched.base_rev != self.rev {
            bail!("steps from revision {}, but the text is {}", patched.base_rev, self.rev);
        }
        // All texts here are ASCII, so that a UTF-16 unit is a byte.
        let (mut rest, mut text) = (self.text.as_str(), String::new());
        for op in &patched.ops {
            match op {
                PatchOp::Insert(inserted) => text.push_str(inserted),
                PatchOp::Keep(units) | PatchOp::Delete(units) => {
                    let split = rest.split_at_checked(usize::try_from(*units)?);
                    let (part, after) = split.context("steps behind the end of the text")?;
                    if matches!(op, PatchOp::Keep(_)) {
                        text.push_str(part);
                    }
                    rest = after;
                }
            }
        }
        text.push_str(rest);
        if patched.hash.as_ref().is_some_and(|hash| *hash != text_hash(&text)) {
            bail!("the steps to revision {} make another text", patched.rev);
        }
        (self.text, self.rev) = (text, patched.rev);
        Ok(())
    }
}
