//! Shows a value after a label, folded to one line or in full.

use serde_json::Value;

use crate::terminal::{self, Text};

/// Maximum number of columns of a folded value. Longer ones are cut.
const FOLDED: usize = 200;
/// Maximum number of characters that are read to fold a value, so that long values cost little.
const MAX_READ: usize = 2_000;

/// The length to which values are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    /// One line.
    Folded,
    /// In full, JSON indented.
    Full,
}

impl Detail {
    pub(super) fn of(is_full: bool) -> Self {
        if is_full { Self::Full } else { Self::Folded }
    }
}

/// A value after its label, indented by this number of columns; `None` if it is null.
pub(super) fn labelled(indent: usize, label: &str, value: &Value, detail: Detail) -> Option<Text> {
    let text = match (value, detail) {
        (Value::Null, _) => return None,
        (value, Detail::Folded) => value.to_string(),
        (Value::String(text), Detail::Full) => text.clone(),
        (value, Detail::Full) => serde_json::to_string_pretty(value).unwrap_or_default(),
    };
    Some(labelled_text(indent, label, &text, detail))
}

/// Text after its label, see [`labelled`].
pub(super) fn labelled_text(indent: usize, label: &str, text: &str, detail: Detail) -> Text {
    let head = Text::from(" ".repeat(indent)).dimmed(format!("{label}:")).plain(" ");
    match detail {
        Detail::Folded => head.plain(folded(text)),
        Detail::Full => head.lines(indented(text, indent + 2)),
    }
}

/// The beginning of a text on one line. Line breaks become spaces.
fn folded(text: &str) -> String {
    let end = text.char_indices().nth(MAX_READ).map_or(text.len(), |(at, _)| at);
    let beginning = text[..end].replace(['\n', '\r', '\t'], " ");
    terminal::cut(&terminal::line(&beginning), FOLDED)
}

/// Indents all lines but the first, so that text of others cannot imitate a line of this
/// program.
fn indented(text: &str, columns: usize) -> String {
    text.replace("\r\n", "\n").replace('\n', &format!("\n{}", " ".repeat(columns)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(value: Value, detail: Detail, expected: Option<&str>) {
        let text = labelled(2, "input", &value, detail).map(|text| text.uncoloured());
        assert_eq!(text.as_deref(), expected);
    }

    #[test]
    fn a_value_is_folded_to_one_line() {
        check(json!({"city": "Rome"}), Detail::Folded, Some(r#"  input: {"city":"Rome"}"#));
        check(json!("a\nb"), Detail::Folded, Some(r#"  input: "a\nb""#));
        check(Value::Null, Detail::Folded, None);
        let long = labelled(0, "x", &json!("é".repeat(100_000)), Detail::Folded).unwrap();
        let long = long.uncoloured();
        assert!(long.ends_with('…') && long.chars().count() < 210, "{long}");
        let text = labelled_text(2, "error", "no luck\nat line 7", Detail::Folded).uncoloured();
        assert_eq!(text, "  error: no luck at line 7");
    }

    #[test]
    fn in_full_all_lines_but_the_first_are_indented() {
        check(json!({"a": 1}), Detail::Full, Some("  input: {\n      \"a\": 1\n    }"));
        check(json!("a\nb"), Detail::Full, Some("  input: a\n    b"));
        let text = labelled_text(0, "error", "a\r\nb", Detail::Full).uncoloured();
        assert_eq!(text, "error: a\n  b");
    }
}
