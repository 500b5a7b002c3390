//! Messages of a conversation.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::{JsonObject, Media, Part, ToolRequest};

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Instructions of the application.
    System,
    /// The person or program that asks.
    User,
    /// The model.
    Model,
    /// Answers of tools.
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
    /// Who speaks.
    pub role: Role,
    /// What is said.
    #[serde(deserialize_with = "exact")]
    pub content: Vec<Part>,
    /// Notes about the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<JsonObject>,
}

impl Message {
    /// A message of these parts.
    pub fn new(role: Role, content: Vec<Part>) -> Self {
        Self { role, content, metadata: None }
    }

    /// Instructions of the application.
    pub fn system(part: impl Into<Part>) -> Self {
        Self::new(Role::System, vec![part.into()])
    }

    /// What the person or program asks.
    pub fn user(part: impl Into<Part>) -> Self {
        Self::new(Role::User, vec![part.into()])
    }

    /// What the model said.
    pub fn model(part: impl Into<Part>) -> Self {
        Self::new(Role::Model, vec![part.into()])
    }

    /// Answers of tools.
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

    /// One metadata member.
    pub fn metadata(&self, key: &str) -> Option<&Value> {
        self.metadata.as_ref()?.get(key)
    }

    /// All text parts as one string.
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

/// Messages are kept for long: what reading has reserved beyond them is given back.
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
