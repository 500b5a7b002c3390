//! Writing of parts.

use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::out::{Binding, Out};
use super::{WRAPPED, WRAPPED_VALUE};
use crate::JsonObject;
use crate::a2a::members::Members;
use crate::a2a::{Part, PartContent};

impl Serialize for Out<'_, Part> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let part = self.value;
        let is_wrapped = matches!(&part.content, PartContent::Data(data) if !data.is_object());
        let kind = match part.content {
            PartContent::Text(_) => "text",
            PartContent::Raw(_) | PartContent::Url(_) => "file",
            PartContent::Data(_) => "data",
        };
        let mut members = self.open(serializer, kind)?;
        match &part.content {
            PartContent::Text(text) => members.put(kind, text)?,
            PartContent::Raw(_) | PartContent::Url(_) => {
                members.put(kind, &File { part, binding: self.binding })?;
            }
            PartContent::Data(data) => members.put(kind, &Data(data, self.binding))?,
        }
        if is_wrapped {
            members.put("metadata", &marked(part.metadata.as_ref()))?;
        } else {
            members.put_some("metadata", part.metadata.as_ref())?;
        }
        members.end()
    }
}

/// The data of a part as an object, and the metadata of the part: version 0.3 has only objects, so
/// that another value is wrapped in one and marked in the metadata.
///
/// ```
/// use oxikit_wire::a2a::{Part, v0_3};
///
/// let (object, metadata) = v0_3::data_object(&7.into(), None);
/// assert_eq!(object["value"], 7);
/// assert_eq!(v0_3::data_part(object, metadata), Part::data(7));
/// ```
pub fn data_object(
    data: &Value,
    metadata: Option<&JsonObject>,
) -> (JsonObject, Option<JsonObject>) {
    match data {
        Value::Object(object) => (object.clone(), metadata.cloned()),
        value => {
            let mut object = JsonObject::new();
            object.insert(WRAPPED_VALUE.to_owned(), value.clone());
            (object, Some(marked(metadata)))
        }
    }
}

/// The metadata of a part whose data is wrapped.
fn marked(metadata: Option<&JsonObject>) -> JsonObject {
    let mut metadata = metadata.cloned().unwrap_or_default();
    metadata.insert(WRAPPED.to_owned(), Value::Bool(true));
    metadata
}

/// The `file` member of a part.
struct File<'a> {
    part: &'a Part,
    binding: Binding,
}

impl Serialize for File<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut members = Members(serializer.serialize_map(None)?);
        match (&self.part.content, self.binding) {
            (PartContent::Raw(raw), Binding::JsonRpc) => members.put("bytes", raw)?,
            (PartContent::Raw(raw), Binding::Rest) => members.put("fileWithBytes", raw)?,
            (PartContent::Url(url), Binding::JsonRpc) => members.put("uri", url)?,
            (PartContent::Url(url), Binding::Rest) => members.put("fileWithUri", url)?,
            (PartContent::Text(_) | PartContent::Data(_), _) => {}
        }
        members.put_some("mimeType", self.part.media_type.as_ref())?;
        if self.binding == Binding::JsonRpc {
            members.put_some("name", self.part.filename.as_ref())?;
        }
        members.end()
    }
}

/// The `data` member of a part, wrapped if it is not an object.
struct Data<'a>(&'a Value, Binding);

impl Serialize for Data<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(data, binding) = self;
        let wrapped;
        let object = if data.is_object() {
            data
        } else {
            wrapped = json!({ WRAPPED_VALUE: data });
            &wrapped
        };
        match binding {
            Binding::JsonRpc => object.serialize(serializer),
            Binding::Rest => {
                let mut members = Members(serializer.serialize_map(None)?);
                members.put("data", object)?;
                members.end()
            }
        }
    }
}
