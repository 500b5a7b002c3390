//! Covers secrets before anything is recorded.
//!
//! Two things give a secret away: the name it stands under, such as `password`
//! or `x-api-key`, and its own shape, such as `sk-…` or a private key. Text is
//! never parsed: JSON, JSON inside of a JSON string, cut JSON and the message of
//! an error are all read the same way, and what was valid JSON stays valid. Clean
//! text is read once and handed back as it is.
//!
//! ```
//! use oxikit_core::redact;
//!
//! let login = r#"{"user":"ada","password":"hunter2"}"#;
//! assert_eq!(redact::text(login), r#"{"user":"ada","password":"<redacted>"}"#);
//! assert_eq!(redact::text("db://ada:pw@host"), "db://ada:<redacted>@host");
//! ```

mod edit;
mod escapes;
mod formats;
mod known;
mod names;
mod patterns;
mod plain;
#[cfg(test)]
mod samples;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use serde_json::Value;

pub use names::is_secret_name;

/// Stands where a secret was.
pub const REDACTED: &str = "<redacted>";

/// Any text without its secrets.
pub fn text(text: &str) -> Cow<'_, str> {
    match escapes::plain(text) {
        None => cover(text),
        // What is spelled with escapes is read without them, and only shown
        // without them if there was something to cover.
        Some(plain) => match cover(&plain) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            Cow::Owned(covered) => Cow::Owned(covered),
        },
    }
}

/// JSON as it travels, whole or cut, without its secrets. Broken UTF-8 is
/// replaced.
pub fn json_text<T: AsRef<[u8]> + ?Sized>(json: &T) -> Cow<'_, str> {
    match String::from_utf8_lossy(json.as_ref()) {
        Cow::Borrowed(json) => text(json),
        Cow::Owned(json) => Cow::Owned(text(&json).into_owned()),
    }
}

/// Covers the secrets of a JSON tree.
pub fn value(value: &mut Value) {
    walk(value, &|_| false);
}

/// As [`value`]; members of these names are covered whatever they hold.
pub(crate) fn value_and(value: &mut Value, names: &[&str]) {
    walk(value, &|name| names.iter().any(|known| name.eq_ignore_ascii_case(known)));
}

/// An attribute of a span: secret by its own name, or by what it holds.
pub(crate) fn attribute(name: &str, value: Value) -> Value {
    let mut value = value;
    if is_secret_name(name) && holds_something(&value) {
        return REDACTED.into();
    }
    self::value(&mut value);
    value
}

fn walk(value: &mut Value, always: &dyn Fn(&str) -> bool) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                if always(name) || is_secret_name(name) && holds_something(member) {
                    *member = REDACTED.into();
                } else {
                    walk(member, always);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| walk(item, always)),
        Value::String(text) => {
            if let Cow::Owned(covered) = self::text(text) {
                *text = covered;
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// `null`, `true`, `false` and `""` tell nothing, and help whoever reads the trace.
fn holds_something(value: &Value) -> bool {
    !matches!(value, Value::Null | Value::Bool(_)) && value != ""
}

fn cover(text: &str) -> Cow<'_, str> {
    let covered = names::cover(text);
    let covered = then(covered, known::cover);
    then(covered, patterns::cover)
}

/// What another look makes of a text; copied only if it changes something.
fn then(text: Cow<'_, str>, cover: fn(&str) -> Cow<'_, str>) -> Cow<'_, str> {
    match text {
        Cow::Borrowed(text) => cover(text),
        Cow::Owned(text) => match cover(&text) {
            Cow::Borrowed(_) => Cow::Owned(text),
            Cow::Owned(covered) => Cow::Owned(covered),
        },
    }
}
