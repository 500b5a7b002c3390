//! Messages of a conversation with a model.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::{JsonObject, Media, Part, ToolRequest};

/// The role of the author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Instructions of the application.
    System,
    /// The person or program that asks.
    User,
    /// The model.
    Model,
    /// Tools; the content is their responses.
    Tool,
}

impl Role {
    /// The role's name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Model => "model",
            Self::Tool => "tool",
        }
    }
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Message {
    /// The role of its author.
    pub role: Role,
    /// The parts of the message, in order.
    #[serde(deserialize_with = "exact")]
    pub content: Vec<Part>,
    /// Members of any names, such as `resumed` of a tool message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<JsonObject>,
}

impl Message {
    /// A message of these parts.
    pub fn new(role: Role, content: Vec<Part>) -> Self {
        Self { role, content, metadata: None }
    }

    /// Instructions of the application, with one part. They stand first in a conversation.
    pub fn system(part: impl Into<Part>) -> Self {
        Self::new(Role::System, vec![part.into()])
    }

    /// A message of the user with one part. Add more with [`with_part`](Self::with_part).
    pub fn user(part: impl Into<Part>) -> Self {
        Self::new(Role::User, vec![part.into()])
    }

    /// A message of the model with one part, such as an earlier answer or an example.
    pub fn model(part: impl Into<Part>) -> Self {
        Self::new(Role::Model, vec![part.into()])
    }

    /// The responses of tools to the requests of the model's last message.
    pub fn tool(responses: Vec<Part>) -> Self {
        Self::new(Role::Tool, responses)
    }

    /// Adds a part.
    #[must_use]
    pub fn with_part(mut self, part: impl Into<Part>) -> Self {
        self.content.push(part.into());
        self
    }

    /// Adds one metadata member.
    #[must_use]
    pub fn with_metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.metadata.get_or_insert_default().insert(key.into(), value.into());
        self
    }

    /// One metadata member; `None` if the message has no metadata or not this member.
    pub fn metadata(&self, key: &str) -> Option<&Value> {
        self.metadata.as_ref()?.get(key)
    }

    /// All text parts as one string, without a separator. Other parts are skipped.
    ///
    /// ```
    /// use oxikit_wire::{Message, Part};
    ///
    /// let message = Message::model("Hello").with_part(Part::data(1)).with_part(", world");
    /// assert_eq!(message.text(), "Hello, world");
    /// ```
    pub fn text(&self) -> String {
        self.content.iter().filter_map(Part::as_text).collect()
    }

    /// The first media part.
    pub fn media(&self) -> Option<&Media> {
        self.content.iter().find_map(Part::as_media)
    }

    /// The tool requests, in order.
    pub fn tool_requests(&self) -> impl Iterator<Item = &ToolRequest> {
        self.content.iter().filter_map(Part::as_tool_request)
    }
}

/// Reads the parts and frees the spare capacity, because sessions keep messages for long.
// serde grows the list by doubling, so a message of one part would keep memory for four.
fn exact<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Part>, D::Error> {
    let mut parts = Vec::deserialize(deserializer)?;
    parts.shrink_to_fit();
    Ok(parts)
}

impl From<&str> for Message {
    fn from(text: &str) -> Self {
        Self::user(text)
    }
}

impl From<String> for Message {
    fn from(text: String) -> Self {
        Self::user(text)
    }
}

impl From<Vec<Part>> for Message {
    fn from(parts: Vec<Part>) -> Self {
        Self::new(Role::User, parts)
    }
}

impl From<Part> for Message {
    fn from(part: Part) -> Self {
        Self::user(part)
    }
}
