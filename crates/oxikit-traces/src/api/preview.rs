//! What a row of a list says about a trace: the beginning of its input, and why it failed. The root
//! span stays JSON text, because a list has up to a thousand rows.

use oxikit_wire::attribute;
use oxikit_wire::trace::SpanText;

use crate::store::shown;

/// Maximum number of characters of an input or an error in a list. The rest is left out.
const MAX_CHARACTERS: usize = 160;

/// The texts of a row; absent if the root span has none, or cannot be read.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Preview {
    /// The input, as JSON text.
    pub(super) input: Option<String>,
    /// Why it failed.
    pub(super) error: Option<String>,
}

impl Preview {
    /// Reads the JSON of the root span of a trace that has failed, or has not.
    pub(super) fn of(root: &str, has_failed: bool) -> Self {
        let Ok(span) = serde_json::from_str::<SpanText<'_>>(root) else { return Self::default() };
        let input = span.attributes.get(attribute::INPUT).map(|input| beginning(&shown(input)));
        let message = span.status.and_then(|status| status.message);
        let error = message.filter(|_| has_failed).map(|message| beginning(&shown(message)));
        let known = |text: &String| !text.is_empty();
        Self { input: input.filter(known), error: error.filter(known) }
    }
}

/// The beginning of a text, on one line.
fn beginning(text: &str) -> String {
    let mut characters = text.trim().chars().map(|c| if c.is_control() { ' ' } else { c });
    let mut short: String = characters.by_ref().take(MAX_CHARACTERS).collect();
    if characters.next().is_some() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(input: &str, message: &str, has_failed: bool, expected: (Option<&str>, Option<&str>)) {
        let root = json!({"spanId": "s", "traceId": "t", "startTime": 1, "endTime": 2,
            "attributes": {"genkit:input": input}, "displayName": "d", "spanKind": "INTERNAL",
            "instrumentationLibrary": {"name": "l"}, "status": {"code": 2, "message": message}});
        let preview = Preview::of(&root.to_string(), has_failed);
        assert_eq!((preview.input.as_deref(), preview.error.as_deref()), expected);
    }

    #[test]
    fn a_row_has_the_beginning_of_the_input_and_the_error_of_a_failure() {
        check("\"Ada\"", "no", true, (Some("\"Ada\""), Some("no")));
        check("\"Ada\"", "no", false, (Some("\"Ada\""), None));
        check("{\n \"a\": 1}", "", true, (Some("{  \"a\": 1}"), None));
        let long = "é".repeat(200);
        let short = format!("{}…", "é".repeat(160));
        check(&long, &long, true, (Some(&short), Some(&short)));
        assert_eq!(Preview::of("{}", true), Preview::default());
    }
}
