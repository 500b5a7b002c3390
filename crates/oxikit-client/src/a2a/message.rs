//! Messages to an agent.

use oxikit_wire::JsonObject;
use oxikit_wire::a2a::{Message, Part, PushConfig, Role, SendConfiguration, SendMessageRequest};

use super::A2aReply;

/// A message to an agent, and how the agent shall answer it. A text is a message too.
///
/// ```
/// use oxikit_client::a2a::{OutgoingMessage, Part};
///
/// let message = OutgoingMessage::new("What is in this picture?")
///     .part(Part::url("https://example.com/cat.png").with_media_type("image/png"))
///     .in_context("conversation-7")
///     .return_immediately();
/// ```
#[derive(Debug, Clone)]
#[must_use = "a message is sent by a client"]
pub struct OutgoingMessage {
    message: Message,
    configuration: SendConfiguration,
    metadata: Option<JsonObject>,
}

impl OutgoingMessage {
    /// A message with this text.
    pub fn new(text: impl Into<String>) -> Self {
        Self::of_parts([Part::text(text)])
    }

    /// A message with these parts.
    pub fn of_parts(parts: impl IntoIterator<Item = Part>) -> Self {
        let id = uuid::Uuid::new_v4().to_string();
        Message::new(id, Role::User, parts.into_iter().collect()).into()
    }

    /// Adds a part.
    pub fn part(mut self, part: Part) -> Self {
        self.message.parts.push(part);
        self
    }

    /// Sends the message in this conversation.
    pub fn in_context(mut self, context_id: impl Into<String>) -> Self {
        self.message.context_id = Some(context_id.into());
        self
    }

    /// Sends the message to this task, for example one that waits for an answer.
    pub fn for_task(mut self, task_id: impl Into<String>) -> Self {
        self.message.task_id = Some(task_id.into());
        self
    }

    /// Sends the message in the conversation of this reply, and to its task if that has not
    /// ended.
    pub fn follow(mut self, reply: &A2aReply) -> Self {
        self.message.context_id = reply.context_id().map(str::to_owned);
        self.message.task_id = reply.open_task_id().map(str::to_owned);
        self
    }

    /// Asks for an answer as soon as the task exists. Otherwise
    /// [`send`](super::A2aClient::send) waits until the task ends or asks for something.
    pub fn return_immediately(mut self) -> Self {
        self.configuration.return_immediately = Some(true);
        self
    }

    /// Maximum number of messages in the history of the task that is returned.
    pub fn history_length(mut self, messages: u32) -> Self {
        self.configuration.history_length = Some(messages.into());
        self
    }

    /// Adds a media type that the caller can read, such as `text/markdown`.
    pub fn accept(mut self, media_type: impl Into<String>) -> Self {
        self.configuration.accepted_output_modes.push(media_type.into());
        self
    }

    /// Registers a webhook for the task.
    pub fn push_config(mut self, config: PushConfig) -> Self {
        self.configuration.task_push_notification_config = Some(config.into_v1_0());
        self
    }

    /// Adds data about the request.
    pub fn metadata(mut self, metadata: JsonObject) -> Self {
        self.metadata = Some(metadata);
        self
    }

    pub(super) fn into_request(self, tenant: Option<String>) -> SendMessageRequest {
        let is_default = self.configuration == SendConfiguration::default();
        SendMessageRequest {
            tenant,
            message: self.message,
            configuration: (!is_default).then_some(self.configuration),
            metadata: self.metadata,
        }
    }
}

impl From<Message> for OutgoingMessage {
    fn from(message: Message) -> Self {
        Self { message, configuration: SendConfiguration::default(), metadata: None }
    }
}

impl From<&str> for OutgoingMessage {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for OutgoingMessage {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}
