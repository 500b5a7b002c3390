//! Writes prompt files that [`Prompt::parse`](crate::Prompt::parse) reads back as the same
//! front matter and messages.
//!
//! This is not a general YAML writer: it writes block style with two spaces and quotes every
//! text that could be read as something else.

use oxikit_wire::{JsonObject, Media, Message, Part, PartKind, Role};
use serde_json::Value;

/// Words that some version of YAML reads as a boolean or as null. They are written in quotes.
const RESERVED_WORDS: [&str; 9] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];

/// Writes a prompt file with this front matter and these messages, whose texts are templates.
///
/// Content that a template cannot express, such as the request of a tool, is left out, and a
/// comment in its place says so.
///
/// ```
/// use oxikit_dotprompt::write_prompt;
/// use oxikit_wire::{JsonObject, Message};
///
/// let front_matter = JsonObject::from_iter([("model".into(), "echo/model".into())]);
/// let file = write_prompt(&front_matter, &[Message::user("Hi {{name}}")]);
/// assert_eq!(file, "---\nmodel: echo/model\n---\n\n{{role \"user\"}}\nHi {{name}}\n");
/// ```
pub fn write_prompt(front_matter: &JsonObject, messages: &[Message]) -> String {
    let mut file = "---\n".to_owned();
    write_members(&mut file, front_matter, 0);
    file.push_str("---\n\n");
    for message in messages {
        write_message(&mut file, message);
    }
    file.truncate(file.trim_end().len());
    file.push('\n');
    file
}

/// Writes a role marker and the parts. A message without any part that a template can express
/// is replaced by a comment: a marker alone would make no message.
fn write_message(file: &mut String, message: &Message) {
    let role = match message.role {
        Role::System => "system",
        Role::User => "user",
        Role::Model => "model",
        Role::Tool => "tool",
    };
    let is_said = |part: &Part| matches!(part.kind, PartKind::Text(_) | PartKind::Media(_));
    if !message.content.is_empty() && !message.content.iter().any(is_said) {
        file.push_str(&format!(
            "{{{{! a message of the {role} is left out: a template cannot express it }}}}\n\n"
        ));
        return;
    }
    file.push_str(&format!("{{{{role \"{role}\"}}}}\n"));
    for part in &message.content {
        match &part.kind {
            PartKind::Text(text) => file.push_str(text),
            PartKind::Media(media) => write_media(file, media),
            _ => file.push_str("{{! a part is left out: a template cannot express it }}"),
        }
    }
    file.push_str("\n\n");
}

/// Writes `{{media url=…}}`, or a comment if URL or type cannot be quoted.
fn write_media(file: &mut String, media: &Media) {
    let kind = media.content_type.as_deref().map(quoted);
    match (quoted(&media.url), kind) {
        (Some(url), None) => file.push_str(&format!("{{{{media url={url}}}}}")),
        (Some(url), Some(Some(kind))) => {
            file.push_str(&format!("{{{{media url={url} contentType={kind}}}}}"));
        }
        _ => file.push_str("{{! media is left out: its URL cannot be quoted }}"),
    }
}

/// A string literal of the template language; `None` for a text with both kinds of quotes, a
/// backslash or a line end, because escapes are not written.
fn quoted(text: &str) -> Option<String> {
    let is_plain = |quote: char| !text.contains([quote, '\\', '\n', '\r']);
    let quote = ['"', '\''].into_iter().find(|quote| is_plain(*quote))?;
    Some(format!("{quote}{text}{quote}"))
}

/// `name: value` for each member, a line or more.
fn write_members(file: &mut String, members: &JsonObject, depth: usize) {
    for (name, value) in members {
        file.push_str(&"  ".repeat(depth));
        file.push_str(&scalar(name));
        file.push(':');
        write_value(file, value, depth);
    }
}

/// Writes the value after a name or a dash, with the end of the line.
fn write_value(file: &mut String, value: &Value, depth: usize) {
    match value {
        Value::Object(members) if !members.is_empty() => {
            file.push('\n');
            write_members(file, members, depth + 1);
        }
        Value::Array(items) if !items.is_empty() => {
            file.push('\n');
            for item in items {
                file.push_str(&"  ".repeat(depth + 1));
                file.push('-');
                write_item(file, item, depth + 1);
            }
        }
        other => {
            file.push(' ');
            file.push_str(&plain(other));
            file.push('\n');
        }
    }
}

/// An item of a list. The first member of an object is on the line of the dash.
fn write_item(file: &mut String, item: &Value, depth: usize) {
    match item {
        Value::Object(members) if !members.is_empty() => {
            let mut lines = String::new();
            write_members(&mut lines, members, depth + 1);
            file.push(' ');
            file.push_str(lines.trim_start());
        }
        other => write_value(file, other, depth),
    }
}

/// A value that fits on the line of its key.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => scalar(text),
        // Empty lists and objects, numbers, booleans and null are the same in YAML and JSON.
        other => other.to_string(),
    }
}

/// Writes a text. Without quotes only if it starts with a letter, has no special characters and
/// is not a reserved word, so that no version of YAML reads a number, a date or a boolean.
fn scalar(text: &str) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    let is_plain = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(is_word)
        && !RESERVED_WORDS.contains(&text.to_ascii_lowercase().as_str());
    // A JSON string is a valid double-quoted string of YAML.
    if is_plain { text.to_owned() } else { Value::from(text).to_string() }
}
