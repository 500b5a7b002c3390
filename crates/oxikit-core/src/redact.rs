//! Replaces secrets by `<redacted>` before texts are logged, traced or sent to the tools.
//!
//! A secret is recognised by the name of its field, such as `password`
//! or `x-api-key`, or by its own format, such as `sk-…` or a private key. Text is
//! never parsed: JSON, JSON inside of a JSON string, cut JSON and the message of
//! an error are all scanned the same way, and valid JSON stays valid. Text without secrets
//! is scanned once and returned without a copy.
//!
//! This is a second line of defence: it finds secrets that are likely, not all. A value that is
//! known to be secret belongs in a [`Secret`](crate::Secret).
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

/// The text that replaces a secret.
pub const REDACTED: &str = "<redacted>";

/// Replaces the secrets of any text: a log line, the message of an error, JSON.
///
/// ```
/// let line = oxikit_core::redact::text("sent Authorization: Bearer abcdefghijklmnop0123456789");
/// assert_eq!(line, "sent Authorization: Bearer <redacted>");
/// ```
pub fn text(text: &str) -> Cow<'_, str> {
    match escapes::plain(text) {
        None => cover(text),
        // Text with escapes is scanned without them. The unescaped text is returned only if it
        // contained a secret.
        Some(plain) => match cover(&plain) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            Cow::Owned(covered) => Cow::Owned(covered),
        },
    }
}

/// Replaces the secrets of JSON bytes, complete or cut. Invalid UTF-8 is
/// replaced by U+FFFD.
pub fn json_text<T: AsRef<[u8]> + ?Sized>(json: &T) -> Cow<'_, str> {
    match String::from_utf8_lossy(json.as_ref()) {
        Cow::Borrowed(json) => text(json),
        Cow::Owned(json) => Cow::Owned(text(&json).into_owned()),
    }
}

/// Replaces the secrets of a JSON tree in place.
///
/// ```
/// use oxikit_core::redact;
/// use serde_json::json;
///
/// let mut login = json!({ "user": "ada", "password": "hunter2", "retries": 3 });
/// redact::value(&mut login);
/// assert_eq!(login, json!({ "user": "ada", "password": "<redacted>", "retries": 3 }));
/// ```
pub fn value(value: &mut Value) {
    walk(value, &|_| false);
}

/// As [`value`]; the values of members with these names are always replaced.
pub(crate) fn value_and(value: &mut Value, names: &[&str]) {
    walk(value, &|name| names.iter().any(|known| name.eq_ignore_ascii_case(known)));
}

/// Replaces the value of a span attribute if its name is secret, else the secrets inside of it.
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

/// `null`, `true`, `false` and `""` reveal nothing, and help the reader of the trace.
fn holds_something(value: &Value) -> bool {
    !matches!(value, Value::Null | Value::Bool(_)) && value != ""
}

fn cover(text: &str) -> Cow<'_, str> {
    let covered = names::cover(text);
    let covered = then(covered, known::cover);
    then(covered, patterns::cover)
}

/// Applies another replacement to a text; it is copied only if it changes.
fn then(text: Cow<'_, str>, cover: fn(&str) -> Cow<'_, str>) -> Cow<'_, str> {
    match text {
        Cow::Borrowed(text) => cover(text),
        Cow::Owned(text) => match cover(&text) {
            Cow::Borrowed(_) => Cow::Owned(text),
            Cow::Owned(covered) => Cow::Owned(covered),
        },
    }
}
