//! Parses an answer while it is streamed.

use serde_json::Value;

use super::Format;
use super::first_value::first_value;
use super::scan::{ArrayScanner, LineScanner};

/// Reads a streamed answer piece by piece.
///
/// [`push`](Self::push) takes the next piece, [`output`](Self::output) answers
/// what the newest piece brought. The work of all pushes together grows with the
/// text, not with its square; only `output` of the `json` format parses the whole
/// text again, so it is called only when the application wants the value.
#[derive(Debug)]
pub(crate) enum StreamParser {
    /// The newest piece.
    Text(String),
    /// All text so far.
    Json(String),
    /// The scanner, and the objects that the newest piece completed.
    Array(ArrayScanner, Vec<Value>),
    /// Likewise.
    Jsonl(LineScanner, Vec<Value>),
    /// A value of an enum is only known when the answer is complete.
    Enum,
}

impl StreamParser {
    /// A parser at the beginning of an answer.
    pub(crate) fn new(format: Format) -> Self {
        match format {
            Format::Text => Self::Text(String::new()),
            Format::Json => Self::Json(String::new()),
            Format::Array => Self::Array(ArrayScanner::default(), Vec::new()),
            Format::Jsonl => Self::Jsonl(LineScanner::default(), Vec::new()),
            Format::Enum => Self::Enum,
        }
    }

    /// Takes the text of the next chunk.
    pub(crate) fn push(&mut self, text: &str) {
        match self {
            Self::Text(newest) => text.clone_into(newest),
            Self::Json(all) => all.push_str(text),
            Self::Array(scanner, completed) => *completed = scanner.push(text),
            Self::Jsonl(scanner, completed) => *completed = scanner.push(text),
            Self::Enum => {}
        }
    }

    /// The output of the newest chunk: for `json` all that is known so far, for
    /// `array` and `jsonl` the objects that this chunk completed, for `text` the
    /// chunk's text. `None` when there is nothing yet, and always for `enum`.
    pub(crate) fn output(&self) -> Option<Value> {
        match self {
            Self::Text(newest) => Some(Value::from(newest.as_str())),
            Self::Json(all) => first_value(all),
            Self::Array(_, completed) | Self::Jsonl(_, completed) => {
                Some(Value::from(completed.clone()))
            }
            Self::Enum => None,
        }
    }
}
