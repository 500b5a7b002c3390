//! Escapes control characters and other characters that can mislead a reader.
//!
//! Each is written as a JSON escape such as `\u001b`, also in text that is not JSON, so that a
//! displayed value can be compared with the same value of `--json`.

use std::borrow::Cow;

/// Escapes text of one line: line breaks and tabs too.
pub(crate) fn line(text: &str) -> Cow<'_, str> {
    escape(text, |_| false)
}

/// Escapes text of several lines. Line breaks and tabs stay; a carriage return before a line
/// break is removed.
pub(crate) fn lines(text: &str) -> Cow<'_, str> {
    let is_kept = |c| matches!(c, '\n' | '\t');
    if text.contains("\r\n") {
        return Cow::Owned(escape(&text.replace("\r\n", "\n"), is_kept).into_owned());
    }
    escape(text, is_kept)
}

/// Escapes JSON on one line; the value stays the same. In valid JSON, ASCII control characters
/// occur only between tokens, where spaces can replace them, and all others only inside
/// strings, where escapes can.
pub(crate) fn json_line(json: &str) -> Cow<'_, str> {
    if json.contains(['\n', '\r', '\t']) {
        return Cow::Owned(line(&json.replace(['\n', '\r', '\t'], " ")).into_owned());
    }
    line(json)
}

/// Escapes JSON of several lines; the value stays the same.
pub(crate) fn json_lines(json: &str) -> Cow<'_, str> {
    lines(json)
}

/// Escapes a line of an application. Its colours (`ESC [ … m`) and tabs stay; every other
/// sequence is escaped. Colours end with the line.
pub(super) fn application_line(text: &str) -> Cow<'_, str> {
    let is_kept = |c| c == '\t';
    if !text.contains(ESC) {
        return escape(text, is_kept);
    }
    let mut shown = String::with_capacity(text.len() + RESET.len());
    let mut rest = text;
    while let Some(start) = rest.find(ESC) {
        shown.push_str(&escape(&rest[..start], is_kept));
        let length = colour_length(&rest[start..]);
        match length {
            Some(length) => shown.push_str(&rest[start..start + length]),
            None => push_escaped(&mut shown, ESC),
        }
        rest = &rest[start + length.unwrap_or(1)..];
    }
    shown.push_str(&escape(rest, is_kept));
    shown.push_str(RESET);
    Cow::Owned(shown)
}

const ESC: char = '\u{1b}';
/// Ends all colours.
const RESET: &str = "\u{1b}[0m";
/// Maximum number of bytes of the parameters of a colour. A longer sequence is text.
const MAX_PARAMETERS: usize = 32;

/// The number of bytes of the colour (`ESC [ numbers m`) that a text begins with.
fn colour_length(text: &str) -> Option<usize> {
    let parameters = text.strip_prefix("\u{1b}[")?;
    let end = parameters.find(|c: char| !(c.is_ascii_digit() || matches!(c, ';' | ':')))?;
    let is_colour = end <= MAX_PARAMETERS && parameters[end..].starts_with('m');
    is_colour.then_some(2 + end + 1)
}

fn escape(text: &str, is_kept: impl Fn(char) -> bool) -> Cow<'_, str> {
    let is_escaped = |c: char| is_unsafe(c) && !is_kept(c);
    let Some(first) = text.find(is_escaped) else { return Cow::Borrowed(text) };
    let mut shown = String::with_capacity(text.len() + 16);
    shown.push_str(&text[..first]);
    for c in text[first..].chars() {
        match is_escaped(c) {
            true => push_escaped(&mut shown, c),
            false => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

fn push_escaped(to: &mut String, c: char) {
    match c {
        '\n' => to.push_str("\\n"),
        '\r' => to.push_str("\\r"),
        '\t' => to.push_str("\\t"),
        c => {
            for unit in c.encode_utf16(&mut [0; 2]) {
                to.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
}

/// Whether a character can mislead a terminal or a reader: it controls the terminal, changes
/// the direction or order of the displayed text, breaks the line, or is invisible. The joiners
/// U+200C and U+200D are part of words and emoji, so they stay.
fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How a text is shown on one line, and on several.
    #[track_caller]
    fn check(text: &str, on_line: &str, on_lines: &str) {
        assert_eq!((&*line(text), &*lines(text)), (on_line, on_lines), "{text:?}");
    }

    #[test]
    fn characters_that_mislead_are_made_visible() {
        check("plain é 猫 👩‍🚀", "plain é 猫 👩‍🚀", "plain é 猫 👩‍🚀");
        check("\u{1b}]52;c;AAAA\u{7}", "\\u001b]52;c;AAAA\\u0007", "\\u001b]52;c;AAAA\\u0007");
        check("a\nb\tc", "a\\nb\\tc", "a\nb\tc");
        check("a\r\nb", "a\\r\\nb", "a\nb");
        check("good\rbad\u{8}", "good\\rbad\\u0008", "good\\rbad\\u0008");
        check("\u{9b}31m\u{85}\u{7f}", "\\u009b31m\\u0085\\u007f", "\\u009b31m\\u0085\\u007f");
        check("\u{202e}x\u{2066}\u{200f}", "\\u202ex\\u2066\\u200f", "\\u202ex\\u2066\\u200f");
        check("a\u{2028}b\u{2029}", "a\\u2028b\\u2029", "a\\u2028b\\u2029");
        check("\u{e0041}", "\\udb40\\udc41", "\\udb40\\udc41");
        check("\0", "\\u0000", "\\u0000");
    }

    #[test]
    fn what_is_shown_is_not_changed_again() {
        let shown = line("\u{1b}[31m\n\u{202e}").into_owned();
        assert!(matches!(line(&shown), Cow::Borrowed(_)));
    }

    #[test]
    fn json_stays_the_same_value() {
        let value = serde_json::json!({
            "\u{9b}31m": "\u{1b}]0;x\u{7}\r\n\t", "b": ["\u{7f}\u{85}\u{202e}\u{2028}\u{e0041}", "\\u001b"],
        });
        for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
            for shown in [json_line(&text), json_lines(&text)] {
                assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
                assert!(!shown.chars().any(|c| c != '\n' && is_unsafe(c)), "{shown:?}");
            }
            assert!(!json_line(&text).contains('\n'));
        }
    }

    #[test]
    fn an_application_keeps_its_colours_and_nothing_else() {
        let shown = |text| application_line(text).into_owned();
        assert_eq!(shown("plain\ttext"), "plain\ttext");
        assert_eq!(shown("\u{1b}[1;31mred\u{1b}[m"), "\u{1b}[1;31mred\u{1b}[m\u{1b}[0m");
        assert_eq!(shown("\u{1b}[38:2:1:2:3mx"), "\u{1b}[38:2:1:2:3mx\u{1b}[0m");
        for (text, expected) in [
            ("\u{1b}[2J", "\\u001b[2J\u{1b}[0m"),
            ("\u{1b}]52;c;AA\u{7}", "\\u001b]52;c;AA\\u0007\u{1b}[0m"),
            ("\u{1b}[?25l", "\\u001b[?25l\u{1b}[0m"),
            ("\u{1b}[31", "\\u001b[31\u{1b}[0m"),
            ("\u{1b}\u{1b}[K", "\\u001b\\u001b[K\u{1b}[0m"),
            ("\u{1b}", "\\u001b\u{1b}[0m"),
            ("\u{9b}31m\r", "\\u009b31m\\r"),
        ] {
            assert_eq!(shown(text), expected, "{text:?}");
        }
        let long = format!("\u{1b}[{}m", "1;".repeat(40));
        assert!(shown(&long).starts_with("\\u001b["));
    }
}
