//! Parts.

use oxikit_wire::JsonObject;
use oxikit_wire::a2a::{self, A2aError, PartContent};

use crate::content::{base64, bytes_of};
use crate::text::{optional, or_empty, violation};
use crate::value::{Struct, object};

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Part {
    #[prost(oneof = "Content", tags = "1, 2, 3")]
    part: Option<Content>,
    #[prost(message, optional, tag = "4")]
    metadata: Option<Struct>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum Content {
    #[prost(string, tag = "1")]
    Text(String),
    #[prost(message, tag = "2")]
    File(FilePart),
    #[prost(message, tag = "3")]
    Data(DataPart),
}

#[derive(Clone, PartialEq, prost::Message)]
struct FilePart {
    #[prost(oneof = "File", tags = "1, 2")]
    file: Option<File>,
    #[prost(string, tag = "3")]
    mime_type: String,
    /// Added after 0.3.0; older clients ignore it.
    #[prost(string, tag = "4")]
    name: String,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum File {
    #[prost(string, tag = "1")]
    Uri(String),
    #[prost(bytes = "vec", tag = "2")]
    Bytes(Vec<u8>),
}

#[derive(Clone, PartialEq, prost::Message)]
struct DataPart {
    #[prost(message, optional, tag = "1")]
    data: Option<Struct>,
}

impl From<&a2a::Part> for Part {
    fn from(part: &a2a::Part) -> Self {
        let file = |file| {
            Content::File(FilePart {
                file: Some(file),
                mime_type: or_empty(part.media_type.as_ref()),
                name: or_empty(part.filename.as_ref()),
            })
        };
        let mut metadata = part.metadata.as_ref().map(Struct::from);
        let content = match &part.content {
            PartContent::Text(text) => Content::Text(text.clone()),
            PartContent::Raw(raw) => file(File::Bytes(bytes_of(raw))),
            PartContent::Url(url) => file(File::Uri(url.clone())),
            PartContent::Data(data) => {
                let (data, marked) = a2a::v0_3::data_object(data, part.metadata.as_ref());
                metadata = marked.as_ref().map(Struct::from);
                Content::Data(DataPart { data: Some((&data).into()) })
            }
        };
        Self { part: Some(content), metadata }
    }
}

impl TryFrom<Part> for a2a::Part {
    type Error = A2aError;

    fn try_from(part: Part) -> Result<Self, A2aError> {
        let metadata = object(part.metadata)?;
        Ok(match part.part {
            Some(Content::Text(text)) => Self { metadata, ..Self::text(text) },
            Some(Content::File(file)) => Self { metadata, ..file.try_into()? },
            Some(Content::Data(DataPart { data })) => {
                let data: JsonObject = data.unwrap_or_default().try_into()?;
                a2a::v0_3::data_part(data, metadata)
            }
            None => return Err(violation("part", "needs one of text, file and data")),
        })
    }
}

impl TryFrom<FilePart> for a2a::Part {
    type Error = A2aError;

    fn try_from(file: FilePart) -> Result<Self, A2aError> {
        let content = match file.file {
            Some(File::Uri(uri)) => PartContent::Url(uri),
            Some(File::Bytes(bytes)) => PartContent::Raw(base64(&bytes)),
            None => return Err(violation("part.file", "needs its bytes or its URI")),
        };
        Ok(Self {
            filename: optional(file.name),
            media_type: optional(file.mime_type),
            ..Self::new(content)
        })
    }
}
