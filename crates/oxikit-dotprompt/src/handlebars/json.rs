//! Writes JSON text as `JSON.stringify` does, for the helper `json`.
//!
//! It works on render values, so that large inputs are not copied to a JSON value first.

use super::value::{Val, js_number};

/// The JSON text of a value. `indent` is the indentation of one level; compact if empty.
///
/// Stops soon after the text is longer than `limit` bytes; the caller compares the length with the
/// limit and drops the incomplete text.
pub(crate) fn stringify(value: &Val<'_>, indent: &str, limit: usize) -> String {
    let mut writer = Writer { out: String::new(), indent, limit };
    writer.value(value, 0);
    writer.out
}

/// The text so far and the settings.
struct Writer<'i> {
    out: String,
    indent: &'i str,
    limit: usize,
}

impl Writer<'_> {
    fn value(&mut self, value: &Val<'_>, level: usize) {
        if self.out.len() > self.limit {
            return;
        }
        match value {
            Val::Undefined | Val::Null => self.out.push_str("null"),
            Val::Bool(value) => self.out.push_str(if *value { "true" } else { "false" }),
            Val::Number(number) => self.out.push_str(&js_number(number)),
            Val::Text(text) => self.string(text),
            Val::MadeText(text) => self.string(text),
            Val::List(_) | Val::MadeList(_) => self.list(value, level),
            Val::Object(_) | Val::MadeObject(_) => self.object(value, level),
        }
    }

    fn list(&mut self, list: &Val<'_>, level: usize) {
        let count = list.list_len().unwrap_or(0);
        self.out.push('[');
        for index in 0..count {
            self.separate(index == 0, level + 1);
            self.value(&list.item(index), level + 1);
        }
        self.end(']', count == 0, level);
    }

    /// Members that are `undefined` are left out, as JavaScript does; in a list they are `null`.
    fn object(&mut self, object: &Val<'_>, level: usize) {
        self.out.push('{');
        let mut is_empty = true;
        for key in object.keys() {
            let value = object.get(&key);
            if matches!(value, Val::Undefined) {
                continue;
            }
            self.separate(is_empty, level + 1);
            is_empty = false;
            self.string(&key);
            self.out.push_str(if self.indent.is_empty() { ":" } else { ": " });
            self.value(&value, level + 1);
        }
        self.end('}', is_empty, level);
    }

    /// Writes a comma unless an item is the first, and a line end.
    fn separate(&mut self, is_first: bool, level: usize) {
        if !is_first {
            self.out.push(',');
        }
        self.line(level);
    }

    /// Closes a list or an object. An empty one has no line end inside.
    fn end(&mut self, bracket: char, is_empty: bool, level: usize) {
        if !is_empty {
            self.line(level);
        }
        self.out.push(bracket);
    }

    /// Starts an indented line; does nothing for compact text.
    fn line(&mut self, level: usize) {
        if !self.indent.is_empty() {
            self.out.push('\n');
            for _ in 0..level {
                self.out.push_str(self.indent);
            }
        }
    }

    fn string(&mut self, text: &str) {
        // serde_json escapes the same characters as JavaScript.
        self.out.push_str(&serde_json::Value::from(text).to_string());
    }
}
