//! Writes prompt files, so that [`Prompt::parse`](crate::Prompt::parse) reads the same
//! again.

use oxikit_wire::{JsonObject, Media, Message, Part, PartKind, Role};
use serde_json::Value;

/// Words that YAML takes for something else than text, in any version of it.
const WORDS: [&str; 9] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];

/// A prompt file with this front matter and these messages, whose texts are templates.
///
/// What a template cannot say, such as the request of a tool, is left out, and a
/// comment in its place says so.
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
            "{{{{! a message of the {role} is left out: no template says it }}}}\n\n"
        ));
        return;
    }
    file.push_str(&format!("{{{{role \"{role}\"}}}}\n"));
    for part in &message.content {
        match &part.kind {
            PartKind::Text(text) => file.push_str(text),
            PartKind::Media(media) => write_media(file, media),
            _ => file.push_str("{{! a part is left out: no template says it }}"),
        }
    }
    file.push_str("\n\n");
}

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

/// A text of the template language, which has two kinds of quotes and no way to say
/// both.
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

/// What stands behind a name or a dash, with the end of the line.
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

/// An item of a list. The first member of an object stands behind the dash.
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

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => scalar(text),
        // Empty lists and objects, numbers and the rest are the same in both languages.
        other => other.to_string(),
    }
}

/// A text: without quotes if nobody can take it for anything else.
fn scalar(text: &str) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    let is_plain = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(is_word)
        && !WORDS.contains(&text.to_ascii_lowercase().as_str());
    // The quotes of JSON are quotes of YAML.
    if is_plain { text.to_owned() } else { Value::from(text).to_string() }
}
