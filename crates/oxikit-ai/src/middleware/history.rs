//! Shortens long conversations before a model gets them, by cutting or by a summary.

use std::sync::Arc;

use async_trait::async_trait;
use oxikit_core::{Context, Result};
use oxikit_wire::{GenerateRequest, GenerateResponse, Message, Role};

use super::{Middleware, NextModel, NextTurn, Turn};
use crate::{ModelRef, Oxikit, SessionExt};

/// Sends the model only the end of a conversation. The session keeps all of it.
///
/// System messages stay, and the cut is made before a message of the user, so that
/// no tool response stands without its request.
///
/// ```
/// use oxikit::Agent;
/// use oxikit::middleware::TrimHistory;
///
/// let agent = Agent::builder("support").middleware(TrimHistory::to(20));
/// ```
#[derive(Debug, Clone)]
pub struct TrimHistory {
    messages: usize,
}

impl TrimHistory {
    /// Sends the model at most this number of messages, or the whole last turn if it is longer.
    pub fn to(messages: usize) -> Self {
        Self { messages }
    }
}

#[async_trait]
impl Middleware for TrimHistory {
    async fn model(
        &self,
        mut request: GenerateRequest,
        next: NextModel<'_>,
    ) -> Result<GenerateResponse> {
        let (begin, end) = cut(&request.messages, self.messages);
        request.messages.drain(begin..end);
        next.run(request).await
    }
}

/// Replaces the beginning of a long conversation by a summary, which a model writes.
///
/// In an agent's turn the session itself is shortened, so that the summary is made
/// once and kept; earlier snapshots still have the whole conversation. In other
/// generate calls only the request is.
#[derive(Debug, Clone)]
pub struct SummarizeHistory {
    model: Option<ModelRef>,
    longest: usize,
    kept: usize,
}

impl SummarizeHistory {
    /// Summarises when a conversation has more messages than this, and leaves the
    /// last quarter of them as they are.
    pub fn beyond(messages: usize) -> Self {
        Self { model: None, longest: messages, kept: messages / 4 }
    }

    /// Keeps this number of latest messages unchanged.
    #[must_use]
    pub fn keep(mut self, messages: usize) -> Self {
        self.kept = messages;
        self
    }

    /// Asks this model for the summary, instead of the default one.
    #[must_use]
    pub fn model(mut self, model: impl Into<ModelRef>) -> Self {
        self.model = Some(model.into());
        self
    }

    async fn summary(&self, ctx: &Context, messages: &[Arc<Message>]) -> Result<Arc<Message>> {
        let mut call = Oxikit::of(ctx.registry())
            .generate()
            .step_name("summarize")
            .system(
                "Summarize the conversation for somebody who has to go on with it: facts, \
                 decisions, names and numbers, open questions. No introduction.",
            )
            .prompt(transcript(messages));
        if let Some(model) = &self.model {
            call = call.model(model.clone());
        }
        let text = call.await?.text();
        let text = format!("Summary of the conversation until here:\n{text}");
        Ok(Arc::new(Message::user(text).with_metadata("summary", true)))
    }
}

#[async_trait]
impl Middleware for SummarizeHistory {
    async fn generate(&self, mut turn: Turn, next: NextTurn<'_>) -> Result<GenerateResponse> {
        let length = turn.options.messages.len();
        // Within a round of tools the conversation is left alone.
        if turn.number > 0 || length <= self.longest {
            return next.run(turn).await;
        }
        let messages = &mut turn.options.messages;
        let (begin, end) = cut(messages, self.kept);
        if end > begin
            && let Some(ctx) = Context::current()
        {
            let summary = self.summary(&ctx, &messages[begin..end]).await?;
            // The session is changed before the turn runs: if the turn fails, it is not saved
            // and the summary is made again.
            if let Some(session) = ctx.session() {
                let kept = shortened(session.messages(), &messages[begin..end], &summary);
                session.set_messages(kept);
            }
            messages.splice(begin..end, [summary]);
        }
        next.run(turn).await
    }
}

/// The history with the summary in place of what it sums up. A prompt may have put
/// messages of its own before the history; those are not in the session.
fn shortened(
    mut history: Vec<Arc<Message>>,
    summed_up: &[Arc<Message>],
    summary: &Arc<Message>,
) -> Vec<Arc<Message>> {
    let is_summed_up =
        |message: &Arc<Message>| summed_up.iter().any(|one| Arc::ptr_eq(one, message));
    let count = history.iter().take_while(|message| is_summed_up(message)).count();
    if count > 0 {
        history.splice(..count, [summary.clone()]);
    }
    history
}

/// The range of messages to leave out, so that about `kept` messages are left after the system
/// messages. It begins at the first message that is not a system message, and ends before a
/// message of the user. A last turn that has more than `kept` messages is left whole.
fn cut(messages: &[Arc<Message>], kept: usize) -> (usize, usize) {
    let begin = messages.iter().take_while(|message| message.role == Role::System).count();
    let earliest = messages.len().saturating_sub(kept).max(begin);
    let is_user = |&position: &usize| messages[position].role == Role::User;
    let user = (earliest..messages.len()).find(is_user);
    (begin, user.or_else(|| (begin..earliest).rfind(is_user)).unwrap_or(begin))
}

/// The conversation as plain text, one line per part, for the model that summarises it. It is
/// not sent as messages, since the model would answer them.
fn transcript(messages: &[Arc<Message>]) -> String {
    let mut text = String::new();
    for message in messages {
        let role = match message.role {
            Role::System => "System",
            Role::User => "User",
            Role::Model => "Assistant",
            Role::Tool => "Tool",
        };
        for part in &message.content {
            text += role;
            text += ": ";
            match part.as_text() {
                Some(part_text) => text += part_text,
                None => text += &serde_json::to_string(part).unwrap_or_default(),
            }
            text.push('\n');
        }
    }
    text
}
