//! Reading of parts.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{WRAPPED, WRAPPED_VALUE};
use crate::JsonObject;
use crate::a2a::part::standard_base64;
use crate::a2a::proto::empty_is_none;
use crate::a2a::{Part, PartContent};
use crate::part::present;

/// A part of the JSON-RPC binding, whose `kind` tells its content.
#[derive(Deserialize)]
#[serde(try_from = "KindPartMembers")]
pub(crate) struct KindPart(Part);

impl From<KindPart> for Part {
    fn from(KindPart(part): KindPart) -> Self {
        part
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum PartKind {
    Text,
    File,
    Data,
}

#[derive(Deserialize)]
struct KindPartMembers {
    kind: PartKind,
    text: Option<String>,
    file: Option<FileMembers>,
    data: Option<JsonObject>,
    metadata: Option<JsonObject>,
}

impl TryFrom<KindPartMembers> for KindPart {
    type Error = &'static str;

    fn try_from(members: KindPartMembers) -> Result<Self, Self::Error> {
        let KindPartMembers { kind, text, file, data, metadata } = members;
        let mut part = match kind {
            PartKind::Text => Part::text(text.ok_or("a part of kind `text` needs `text`")?),
            PartKind::File => file.ok_or("a part of kind `file` needs `file`")?.try_into()?,
            PartKind::Data => {
                let data = data.ok_or("a part of kind `data` needs `data`, an object")?;
                return Ok(Self(data_part(data, metadata)));
            }
        };
        part.metadata = metadata;
        Ok(Self(part))
    }
}

/// A part of the HTTP binding, whose member tells its content. Those of the JSON-RPC binding are
/// read too.
#[derive(Deserialize)]
#[serde(try_from = "ProtoPartMembers")]
pub(crate) struct ProtoPart(Part);

impl From<ProtoPart> for Part {
    fn from(ProtoPart(part): ProtoPart) -> Self {
        part
    }
}

#[derive(Deserialize)]
struct ProtoPartMembers {
    kind: Option<PartKind>,
    text: Option<String>,
    file: Option<FileMembers>,
    #[serde(default, deserialize_with = "present")]
    data: Option<Value>,
    metadata: Option<JsonObject>,
}

impl TryFrom<ProtoPartMembers> for ProtoPart {
    type Error = &'static str;

    fn try_from(members: ProtoPartMembers) -> Result<Self, Self::Error> {
        let ProtoPartMembers { kind, text, file, data, metadata } = members;
        let data = data.filter(|data| !data.is_null());
        let mut part = match (text, file, data) {
            (Some(text), None, None) => Part::text(text),
            (None, Some(file), None) => file.try_into()?,
            (None, None, Some(Value::Object(data))) => {
                let data = if kind.is_some() { data } else { inner_data(data)? };
                return Ok(Self(data_part(data, metadata)));
            }
            (None, None, Some(_)) => return Err("`data` of a part must be an object"),
            (None, None, None) => return Err("a part needs one of `text`, `file` and `data`"),
            _ => return Err("a part has only one of `text`, `file` and `data`"),
        };
        part.metadata = metadata;
        Ok(Self(part))
    }
}

/// Proto has a message around the data. An empty one has empty data.
fn inner_data(mut outer: JsonObject) -> Result<JsonObject, &'static str> {
    match outer.swap_remove("data") {
        Some(Value::Object(data)) => Ok(data),
        None | Some(Value::Null) => Ok(Map::new()),
        Some(_) => Err("`data.data` of a part must be an object"),
    }
}

/// A part of data. Data that [`data_object`](super::data_object) has wrapped is unwrapped.
pub fn data_part(mut data: JsonObject, mut metadata: Option<JsonObject>) -> Part {
    let is_wrapped = metadata.as_ref().and_then(|it| it.get(WRAPPED)) == Some(&Value::Bool(true));
    let value = match is_wrapped.then(|| data.swap_remove(WRAPPED_VALUE)).flatten() {
        Some(value) => {
            if let Some(metadata) = &mut metadata {
                metadata.shift_remove(WRAPPED);
            }
            metadata = metadata.filter(|metadata| !metadata.is_empty());
            value
        }
        None => Value::Object(data),
    };
    Part { content: PartContent::Data(value), filename: None, media_type: None, metadata }
}

/// A file of either binding.
#[derive(Deserialize)]
struct FileMembers {
    #[serde(alias = "fileWithBytes", alias = "file_with_bytes")]
    bytes: Option<String>,
    #[serde(alias = "fileWithUri", alias = "file_with_uri")]
    uri: Option<String>,
    #[serde(default, deserialize_with = "empty_is_none")]
    name: Option<String>,
    #[serde(
        default,
        rename = "mimeType",
        alias = "mime_type",
        alias = "mediaType",
        alias = "media_type",
        deserialize_with = "empty_is_none"
    )]
    mime_type: Option<String>,
}

impl TryFrom<FileMembers> for Part {
    type Error = &'static str;

    fn try_from(file: FileMembers) -> Result<Self, Self::Error> {
        let content = match (file.bytes, file.uri) {
            (Some(bytes), None) => PartContent::Raw(standard_base64(bytes)),
            (None, Some(uri)) => PartContent::Url(uri),
            (None, None) => return Err("a file needs its bytes or its URI"),
            (Some(_), Some(_)) => return Err("a file has only one of bytes and URI"),
        };
        Ok(Self { content, filename: file.name, media_type: file.mime_type, metadata: None })
    }
}
