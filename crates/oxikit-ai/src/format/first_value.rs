//! Finds the first JSON object or array in the text of a model.

use serde_json::Value;

use super::json5::{self, Refusal};

/// The first object or array in the text, read as JSON5. Prose, quoted text and
/// code fences around it are passed over; if the text ends too early, what is
/// there of the value is the value.
pub(super) fn first_value(text: &str) -> Option<Value> {
    let mut at = 0;
    while let Some(start) = opening(text, at) {
        let candidate = &text[start..];
        match json5::parse_prefix(candidate) {
            Ok(parsed) => return Some(parsed.value),
            Err(Refusal::TooDeep) => return None,
            // Brackets in prose. Going on behind all that was looked at keeps
            // the whole search linear.
            Err(Refusal::Syntax(end)) => at = start + end.max(balanced_len(candidate)),
        }
    }
    None
}

/// The position of the next `{` or `[` outside of quoted text.
fn opening(text: &str, from: usize) -> Option<usize> {
    let mut quotes = Quotes::default();
    (from..text.len()).find(|&at| {
        let byte = text.as_bytes()[at];
        quotes.is_outside(byte) && matches!(byte, b'{' | b'[')
    })
}

/// The length of the text up to the bracket that closes the first one.
fn balanced_len(text: &str) -> usize {
    let mut quotes = Quotes::default();
    let mut depth = 0_usize;
    for (at, byte) in text.bytes().enumerate() {
        if !quotes.is_outside(byte) {
            continue;
        }
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    text.len()
}

/// Follows the double quotes of prose.
#[derive(Default)]
struct Quotes {
    is_open: bool,
    is_escaped: bool,
}

impl Quotes {
    fn is_outside(&mut self, byte: u8) -> bool {
        if std::mem::take(&mut self.is_escaped) {
            return false;
        }
        match byte {
            b'\\' => self.is_escaped = true,
            b'"' => self.is_open = !self.is_open,
            _ => return !self.is_open,
        }
        false
    }
}
