//! Parts: the content of messages and artifacts.

use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use super::proto::empty_is_none;
use crate::JsonObject;
use crate::part::present;

/// A piece of a message or an artifact.
///
/// ```
/// use oxikit_wire::a2a::Part;
///
/// let part = Part::url("https://example.com/cat.png").with_media_type("image/png");
/// let json = serde_json::to_string(&part).unwrap();
/// assert_eq!(json, r#"{"url":"https://example.com/cat.png","mediaType":"image/png"}"#);
/// ```
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "PartMembers")]
pub struct Part {
    /// The content, of one of four kinds.
    pub content: PartContent,
    /// Name of the file, if the content is one.
    pub filename: Option<String>,
    /// Media type of the content, such as `text/plain`.
    pub media_type: Option<String>,
    /// Data of the sender about this part.
    pub metadata: Option<JsonObject>,
}

/// The content of a [`Part`].
#[derive(Debug, Clone, PartialEq)]
pub enum PartContent {
    /// Text.
    Text(String),
    /// Bytes, in standard base64.
    Raw(String),
    /// The address of a file.
    Url(String),
    /// Any JSON value.
    Data(Value),
}

impl Part {
    /// A part with this content, and nothing else.
    pub fn new(content: PartContent) -> Self {
        Self { content, filename: None, media_type: None, metadata: None }
    }

    /// A part of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(PartContent::Text(text.into()))
    }

    /// A part of bytes, given in base64.
    pub fn raw(base64: impl Into<String>) -> Self {
        Self::new(PartContent::Raw(base64.into()))
    }

    /// A file at this address.
    pub fn url(url: impl Into<String>) -> Self {
        Self::new(PartContent::Url(url.into()))
    }

    /// A JSON value.
    pub fn data(data: impl Into<Value>) -> Self {
        Self::new(PartContent::Data(data.into()))
    }

    /// The same part with a media type.
    #[must_use]
    pub fn with_media_type(mut self, media_type: impl Into<String>) -> Self {
        self.media_type = Some(media_type.into());
        self
    }

    /// The same part with the name of a file.
    #[must_use]
    pub fn with_filename(mut self, filename: impl Into<String>) -> Self {
        self.filename = Some(filename.into());
        self
    }

    /// The text, if this is a part of text.
    pub fn as_text(&self) -> Option<&str> {
        match &self.content {
            PartContent::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The JSON value, if this is a part of data.
    pub fn as_data(&self) -> Option<&Value> {
        match &self.content {
            PartContent::Data(data) => Some(data),
            _ => None,
        }
    }
}

/// The members of a part as they are read. Exactly one of the first four is there.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PartMembers {
    text: Option<String>,
    raw: Option<String>,
    url: Option<String>,
    // `null` is a JSON value like any other.
    #[serde(default, deserialize_with = "present")]
    data: Option<Value>,
    #[serde(default, deserialize_with = "empty_is_none")]
    filename: Option<String>,
    #[serde(default, alias = "media_type", deserialize_with = "empty_is_none")]
    media_type: Option<String>,
    metadata: Option<JsonObject>,
}

impl TryFrom<PartMembers> for Part {
    type Error = &'static str;

    fn try_from(members: PartMembers) -> Result<Self, Self::Error> {
        let PartMembers { text, raw, url, data, filename, media_type, metadata } = members;
        // Proto JSON drops the default of a scalar that is not in a `oneof`; some writers send
        // all members, with `data: null`, so a JSON null counts only if it is alone.
        let content = match (text, raw, url, data) {
            (Some(text), None, None, None | Some(Value::Null)) => PartContent::Text(text),
            (None, Some(raw), None, None | Some(Value::Null)) => {
                PartContent::Raw(standard_base64(raw))
            }
            (None, None, Some(url), None | Some(Value::Null)) => PartContent::Url(url),
            (None, None, None, Some(data)) => PartContent::Data(data),
            (None, None, None, None) => {
                return Err("a part needs one of `text`, `raw`, `url` and `data`");
            }
            _ => return Err("a part has only one of `text`, `raw`, `url` and `data`"),
        };
        Ok(Self { content, filename, media_type, metadata })
    }
}

impl Serialize for Part {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { content, filename, media_type, metadata } = self;
        let mut members = serializer.serialize_map(None)?;
        match content {
            PartContent::Text(text) => members.serialize_entry("text", text)?,
            PartContent::Raw(raw) => members.serialize_entry("raw", raw)?,
            PartContent::Url(url) => members.serialize_entry("url", url)?,
            PartContent::Data(data) => members.serialize_entry("data", data)?,
        }
        if let Some(filename) = filename {
            members.serialize_entry("filename", filename)?;
        }
        if let Some(media_type) = media_type {
            members.serialize_entry("mediaType", media_type)?;
        }
        if let Some(metadata) = metadata {
            members.serialize_entry("metadata", metadata)?;
        }
        members.end()
    }
}

/// Standard base64 with padding, of either alphabet.
pub(super) fn standard_base64(base64: String) -> String {
    let is_standard =
        base64.len().is_multiple_of(4) && !base64.bytes().any(|byte| matches!(byte, b'-' | b'_'));
    if is_standard {
        return base64;
    }
    let mut standard = base64.replace('-', "+").replace('_', "/");
    while !standard.len().is_multiple_of(4) {
        standard.push('=');
    }
    standard
}
