//! The parts of a message: text, media, tool requests and so on.
//!
//! ```
//! use oxikit_wire::{Part, PartKind};
//!
//! let part: Part = serde_json::from_str(r#"{"toolRequest":{"name":"weather"}}"#).unwrap();
//! let PartKind::ToolRequest(request) = &part.kind else { panic!("not a tool request") };
//! assert_eq!(request.name, "weather");
//! ```

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::JsonObject;

/// The member of a custom part that reports the progress of a turn.
const PROGRESS: &str = "progress";

/// One part of a message: text, media, a tool request, a tool response and so on.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(from = "PartMembers")]
pub struct Part {
    /// The content of the part.
    pub kind: PartKind,
    /// Members of any names. Genkit gives a meaning to `purpose`, `pending`,
    /// `interrupt`, `resolvedInterrupt`, `pendingOutput`, `resumed` and
    /// `replacedInput`; others are kept unchanged.
    pub metadata: Option<JsonObject>,
}

/// The content of a [`Part`]; on the wire, its one content member.
#[derive(Debug, Clone, PartialEq)]
pub enum PartKind {
    /// Plain text.
    Text(String),
    /// An image, a sound, a video or another file, by URL.
    Media(Media),
    /// A request of the model to run a tool.
    ToolRequest(ToolRequest),
    /// The response of a tool.
    ToolResponse(ToolResponse),
    /// Any JSON value.
    Data(Value),
    /// Content that only one provider understands.
    Custom(JsonObject),
    /// Reasoning of the model before its answer.
    Reasoning(String),
    /// A resource, replaced by its content before the model is called.
    Resource(ResourceRef),
    /// No content, only metadata, such as a pending section of a prompt.
    Empty,
}

/// A file by its `data:` or `https:` URL.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Media {
    /// Location of the content, or the content itself as a `data:` URL.
    pub url: String,
    /// The media type, such as `image/png`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
}

/// A request of the model to run a tool.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolRequest {
    /// The tool's name as the model knows it.
    pub name: String,
    /// Distinguishes several requests of one turn; the response repeats it.
    #[serde(default, rename = "ref", skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// The arguments.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// Whether this is a streamed fragment and not yet the whole request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial: Option<bool>,
}

/// The response of a tool to a [`ToolRequest`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolResponse {
    /// The tool's name, as in the request.
    pub name: String,
    /// The request's `ref`.
    #[serde(default, rename = "ref", skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// The result; absent when the tool returned nothing.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// Further parts, such as pictures, for models that can take them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    // The schema of a part refers to this type. Plain values here keep it from referring to
    // itself.
    #[schemars(with = "Option<Vec<Value>>")]
    pub content: Option<Vec<Part>>,
}

/// A resource named by its URI.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResourceRef {
    /// The URI that a resource action answers to.
    pub uri: String,
}

impl Part {
    /// A part of this kind, without metadata.
    pub fn new(kind: PartKind) -> Self {
        Self { kind, metadata: None }
    }

    /// Plain text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(PartKind::Text(text.into()))
    }

    /// A file by its URL.
    pub fn media(url: impl Into<String>) -> Self {
        Self::new(PartKind::Media(Media { url: url.into(), content_type: None }))
    }

    /// Any JSON value.
    pub fn data(data: impl Into<Value>) -> Self {
        Self::new(PartKind::Data(data.into()))
    }

    /// Reasoning of the model before its answer.
    pub fn reasoning(text: impl Into<String>) -> Self {
        Self::new(PartKind::Reasoning(text.into()))
    }

    /// Progress of a running turn, for people: a custom part `{"progress": …}`, which is part of a
    /// stream and never of a message. Clients that do not know it ignore it.
    ///
    /// ```
    /// use oxikit_wire::Part;
    ///
    /// let part = Part::progress("reading 3 pages");
    /// assert_eq!(part.as_progress(), Some("reading 3 pages"));
    /// assert_eq!(part.as_text(), None);
    /// ```
    pub fn progress(text: impl Into<String>) -> Self {
        let text = Value::String(text.into());
        Self::new(PartKind::Custom(JsonObject::from_iter([(PROGRESS.to_owned(), text)])))
    }

    /// A resource, replaced by its content before the model is called.
    pub fn resource(uri: impl Into<String>) -> Self {
        Self::new(PartKind::Resource(ResourceRef { uri: uri.into() }))
    }

    /// A request to run the tool `name` with `input`.
    pub fn tool_request(name: impl Into<String>, reference: Option<String>, input: Value) -> Self {
        Self::new(PartKind::ToolRequest(ToolRequest {
            name: name.into(),
            reference,
            input: Some(input),
            partial: None,
        }))
    }

    /// The response to a tool request; `reference` repeats that of the request.
    pub fn tool_response(
        name: impl Into<String>,
        reference: Option<String>,
        output: Value,
    ) -> Self {
        Self::new(PartKind::ToolResponse(ToolResponse {
            name: name.into(),
            reference,
            output: Some(output),
            content: None,
        }))
    }

    /// Sets the media type of a media part; leaves others as they are.
    #[must_use]
    pub fn content_type(mut self, content_type: impl Into<String>) -> Self {
        if let PartKind::Media(media) = &mut self.kind {
            media.content_type = Some(content_type.into());
        }
        self
    }

    /// Adds one metadata member.
    #[must_use]
    pub fn with_metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.metadata.get_or_insert_default().insert(key.into(), value.into());
        self
    }

    /// One metadata member; `None` if the part has no metadata or not this member.
    pub fn metadata(&self, key: &str) -> Option<&Value> {
        self.metadata.as_ref()?.get(key)
    }

    /// The metadata member `purpose`, such as `output` or `context`.
    pub fn purpose(&self) -> Option<&str> {
        self.metadata("purpose")?.as_str()
    }

    /// Whether the part is a placeholder that is replaced before the model is called, such as the
    /// place of the output instructions.
    pub fn is_pending(&self) -> bool {
        self.metadata("pending") == Some(&Value::Bool(true))
    }

    /// The text, if this is a text part.
    pub fn as_text(&self) -> Option<&str> {
        match &self.kind {
            PartKind::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The media, if this is a media part.
    pub fn as_media(&self) -> Option<&Media> {
        match &self.kind {
            PartKind::Media(media) => Some(media),
            _ => None,
        }
    }

    /// The JSON value, if this is a data part.
    pub fn as_data(&self) -> Option<&Value> {
        match &self.kind {
            PartKind::Data(data) => Some(data),
            _ => None,
        }
    }

    /// The text of a [progress](Self::progress) part, if this is one.
    pub fn as_progress(&self) -> Option<&str> {
        match &self.kind {
            PartKind::Custom(members) => members.get(PROGRESS)?.as_str(),
            _ => None,
        }
    }

    /// The tool request, if this is one.
    pub fn as_tool_request(&self) -> Option<&ToolRequest> {
        match &self.kind {
            PartKind::ToolRequest(request) => Some(request),
            _ => None,
        }
    }

    /// The tool response, if this is one.
    pub fn as_tool_response(&self) -> Option<&ToolResponse> {
        match &self.kind {
            PartKind::ToolResponse(response) => Some(response),
            _ => None,
        }
    }
}

impl From<&str> for Part {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for Part {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<Media> for Part {
    fn from(media: Media) -> Self {
        Self::new(PartKind::Media(media))
    }
}

impl From<ToolRequest> for Part {
    fn from(request: ToolRequest) -> Self {
        Self::new(PartKind::ToolRequest(request))
    }
}

impl From<ToolResponse> for Part {
    fn from(response: ToolResponse) -> Self {
        Self::new(PartKind::ToolResponse(response))
    }
}

// Written by hand so that a part is serialised without being cloned into
// `PartMembers` first: messages are on the path of every model call.
impl Serialize for Part {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match &self.kind {
            PartKind::Text(text) => map.serialize_entry("text", text)?,
            PartKind::Media(media) => map.serialize_entry("media", media)?,
            PartKind::ToolRequest(request) => map.serialize_entry("toolRequest", request)?,
            PartKind::ToolResponse(response) => map.serialize_entry("toolResponse", response)?,
            PartKind::Data(data) => map.serialize_entry("data", data)?,
            PartKind::Custom(custom) => map.serialize_entry("custom", custom)?,
            PartKind::Reasoning(text) => map.serialize_entry("reasoning", text)?,
            PartKind::Resource(resource) => map.serialize_entry("resource", resource)?,
            PartKind::Empty => {}
        }
        if let Some(metadata) = &self.metadata {
            map.serialize_entry("metadata", metadata)?;
        }
        map.end()
    }
}

impl JsonSchema for Part {
    fn schema_name() -> Cow<'static, str> {
        "Part".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        PartMembers::json_schema(generator)
    }
}

/// A part as it is on the wire: an object of which one content member is set.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct PartMembers {
    // This type is never serialised. The attributes only tell the schema that members may be
    // absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    media: Option<Media>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_request: Option<ToolRequest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_response: Option<ToolResponse>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    data: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    custom: Option<JsonObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource: Option<ResourceRef>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<JsonObject>,
}

impl From<PartMembers> for Part {
    fn from(members: PartMembers) -> Self {
        // The first content member that is present wins, in this order.
        let kind = None
            .or(members.text.map(PartKind::Text))
            .or(members.media.map(PartKind::Media))
            .or(members.tool_request.map(PartKind::ToolRequest))
            .or(members.tool_response.map(PartKind::ToolResponse))
            .or(members.reasoning.map(PartKind::Reasoning))
            .or(members.resource.map(PartKind::Resource))
            .or(members.custom.map(PartKind::Custom))
            .or(members.data.map(PartKind::Data))
            .unwrap_or(PartKind::Empty);
        Self { kind, metadata: members.metadata }
    }
}

/// Reads a member whose `null` is a value and not an absence. For `deserialize_with`, together
/// with `default`, which covers the absent member.
pub(crate) fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}
