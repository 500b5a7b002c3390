//! JSON objects read without reading their values, and values made shorter.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// So many members have most objects that are read.
const USUAL: usize = 8;

/// The members of an object in their order, each value as the text it came as.
#[derive(Debug, Default)]
pub(super) struct Members<'a>(pub(super) Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Members<'a> {
    pub(super) fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.0.iter().find(|(other, _)| other == name).map(|(_, value)| *value)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::with_capacity(USUAL);
        while let Some((Name(name), value)) = map.next_entry()? {
            members.push((name, value));
        }
        Ok(Members(members))
    }
}

/// A text, without a copy where that can be.
#[derive(serde::Deserialize)]
pub(super) struct Name<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

/// The text of a value if it is one.
pub(super) fn text_of(value: &RawValue) -> Option<Cow<'_, str>> {
    let text = value.get().strip_prefix('"')?.strip_suffix('"')?;
    if !text.contains('\\') {
        return Some(Cow::Borrowed(text));
    }
    serde_json::from_str::<Name<'_>>(value.get()).ok().map(|name| name.0)
}

/// What a person would read: the text, or the JSON of anything else.
pub(super) fn shown(value: &RawValue) -> Cow<'_, str> {
    text_of(value).unwrap_or(Cow::Borrowed(value.get()))
}

/// Where a long value ends, and what is said there.
#[derive(Debug, Clone, Copy)]
pub(super) enum Cut {
    /// After so many bytes; how many there were is said.
    Bytes(usize),
    /// After so many characters, as lists show them.
    Characters(usize),
}

impl Cut {
    /// `None` if the value is short enough.
    fn apply(self, value: &RawValue) -> Option<String> {
        let (Self::Bytes(max) | Self::Characters(max)) = self;
        if value.get().len() <= max {
            return None;
        }
        let text = shown(value);
        let (end, mark) = match self {
            Self::Bytes(max) if text.len() > max => {
                (text.floor_char_boundary(max), format!("… [cut, {} bytes]", text.len()))
            }
            Self::Bytes(_) => return None,
            Self::Characters(max) => (text.char_indices().nth(max)?.0, "…".to_owned()),
        };
        Some(serde_json::Value::from(format!("{}{mark}", &text[..end])).to_string())
    }
}

/// The text of an object whose long values are cut; `None` if there are none. The
/// values must have been read from this text.
pub(super) fn cut(json: &str, values: &Members<'_>, cut: Cut) -> Option<String> {
    let mut short = String::new();
    let mut copied = 0;
    for (_, value) in &values.0 {
        let Some(replacement) = cut.apply(value) else { continue };
        // How far into the text the value begins.
        let begin = value.get().as_ptr().addr() - json.as_ptr().addr();
        short.push_str(&json[copied..begin]);
        short.push_str(&replacement);
        copied = begin + value.get().len();
    }
    (copied > 0).then(|| short + &json[copied..])
}
