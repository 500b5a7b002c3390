//! Writes texts as YAML: without quotes where no version of YAML reads anything else, in quotes
//! otherwise, and texts of several lines as a block.

/// Words that some version of YAML reads as a boolean or as null. They are written in quotes.
const RESERVED_WORDS: [&str; 9] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];

/// A text on one line, as the value of a key.
pub(super) fn line(text: &str) -> String {
    let is_plain = is_plain_start(text)
        && !text.ends_with([':', ' '])
        && !text.contains(": ")
        && !text.contains(" #")
        && !text.contains(is_special);
    if is_plain { text.to_owned() } else { quoted(text) }
}

/// A text as an item of a list in brackets, or of one with dashes.
pub(super) fn item(text: &str) -> String {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | ' ');
    let is_plain = is_plain_start(text) && !text.ends_with(' ') && text.chars().all(is_word);
    if is_plain { text.to_owned() } else { quoted(text) }
}

/// The header and the lines of a block (`|`); `None` if the text has one line or would be changed
/// by this form.
pub(super) fn block(text: &str) -> Option<(&'static str, Vec<&str>)> {
    let (header, body) = match text.strip_suffix('\n') {
        Some(body) => ("|", body),
        None => ("|-", text),
    };
    let lines: Vec<&str> = body.split('\n').collect();
    let is_safe = |line: &&str| !line.ends_with([' ', '\t']) && !line.contains(is_special);
    let ends_are_filled =
        !body.starts_with([' ', '\n']) && !body.is_empty() && !body.ends_with('\n');
    (text.contains('\n') && ends_are_filled && lines.iter().all(is_safe)).then_some((header, lines))
}

/// Whether a text begins with a letter and is not a reserved word.
fn is_plain_start(text: &str) -> bool {
    text.starts_with(char::is_alphabetic)
        && !RESERVED_WORDS.contains(&text.to_ascii_lowercase().as_str())
}

/// Characters that YAML does not allow without quotes, or may read as the end of a line.
fn is_special(character: char) -> bool {
    character.is_control() || matches!(character, '\u{2028}' | '\u{2029}' | '\u{feff}')
}

fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            _ if is_special(character) => {
                quoted.push_str(&format!("\\u{:04x}", u32::from(character)));
            }
            _ => quoted.push(character),
        }
    }
    quoted.push('"');
    quoted
}
