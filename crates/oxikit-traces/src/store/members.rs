//! Attribute values that stay JSON text: reads and shortens them without parsing the span.

use std::borrow::Cow;

use oxikit_wire::trace::RawMembers;
use serde_json::value::RawValue;

/// The content of a value if it is a text; `None` for any other type. Only a text with escapes is
/// copied.
pub(super) fn text_of(value: &RawValue) -> Option<Cow<'_, str>> {
    let text = value.get().strip_prefix('"')?.strip_suffix('"')?;
    if !text.contains('\\') {
        return Some(Cow::Borrowed(text));
    }
    serde_json::from_str(value.get()).ok().map(Cow::Owned)
}

/// The value as people read it: the content of a text, or the JSON of anything else.
pub(crate) fn shown(value: &RawValue) -> Cow<'_, str> {
    text_of(value).unwrap_or(Cow::Borrowed(value.get()))
}

/// The maximum length of a value, and with it the mark at its end.
#[derive(Debug, Clone, Copy)]
pub(super) enum Cut {
    /// Number of bytes; the mark says how many there were.
    Bytes(usize),
    /// Number of characters, for lists.
    Characters(usize),
}

impl Cut {
    /// The shortened value; `None` if it is short enough.
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
pub(super) fn cut(json: &str, values: &RawMembers<'_>, cut: Cut) -> Option<String> {
    let mut short = String::new();
    let mut copied = 0;
    for (_, value) in &values.0 {
        let Some(replacement) = cut.apply(value) else { continue };
        // The offset of the value: it is a part of this text, in the same memory.
        let begin = value.get().as_ptr().addr() - json.as_ptr().addr();
        short.push_str(&json[copied..begin]);
        short.push_str(&replacement);
        copied = begin + value.get().len();
    }
    (copied > 0).then(|| short + &json[copied..])
}
