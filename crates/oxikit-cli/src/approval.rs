//! Tools that have interrupted a turn of an agent to ask for approval: how their questions are
//! shown, and how answers are parsed.

use oxikit_core::chat::ToolInterrupt;
use oxikit_wire::Part;
use serde_json::{Value, json};

/// Explains the accepted answers.
pub(super) const ANSWERS: &str = "`yes` runs the tool, `yes {…}` also passes it this JSON, `no` or `no <reason>` declines, any other JSON is used as its output";

/// An answer to a waiting tool.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Decision {
    /// Run the tool again; the value is its `resumed` metadata.
    Approve(Value),
    /// Do not run the tool. The model gets this as the output, with the reason if there is
    /// one.
    Decline(Option<String>),
    /// Use this value as the output of the tool.
    Respond(Value),
}

impl Decision {
    /// Parses a typed answer; `None` if the text is not a valid one.
    pub(super) fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let rest = rest.trim();
        match word.to_ascii_lowercase().as_str() {
            "yes" | "y" if rest.is_empty() => Some(Self::Approve(Value::Bool(true))),
            "yes" | "y" => serde_json::from_str(rest).ok().map(Self::Approve),
            "no" | "n" => Some(Self::Decline((!rest.is_empty()).then(|| rest.to_owned()))),
            _ => serde_json::from_str(text).ok().map(Self::Respond),
        }
    }

    /// The part that resumes the turn.
    pub(super) fn resume(self, tool: &ToolInterrupt) -> Part {
        match self {
            Self::Approve(resumed) => tool.restart_with(resumed),
            Self::Decline(None) => tool.respond("The user declined this call."),
            Self::Decline(Some(reason)) => {
                tool.respond(format!("The user declined this call: {reason}"))
            }
            Self::Respond(output) => tool.respond(output),
        }
    }
}

/// The question of a tool: its name, its input and the metadata of its interrupt.
pub(super) fn question(tool: &ToolInterrupt) -> String {
    let input = tool.request().input.as_ref();
    describe(tool.name(), input.unwrap_or(&Value::Null), tool.metadata().unwrap_or(&Value::Null))
}

/// The same for the parts of a tool request in a message.
pub(super) fn describe(name: &str, input: &Value, metadata: &Value) -> String {
    let call = match input {
        Value::Null => name.to_owned(),
        input => format!("{name} {input}"),
    };
    let only = match metadata {
        Value::Object(members) if members.len() == 1 => members.values().next(),
        _ => None,
    };
    match (only, metadata) {
        (_, Value::Null | Value::Bool(_)) => call,
        // `{"question": "Really?"}`: the text alone is the question.
        (Some(Value::String(text)), _) | (_, Value::String(text)) => format!("{call}: {text}"),
        (_, metadata) => format!("{call}: {metadata}"),
    }
}

/// A waiting tool as a member of `interrupts` in JSON output.
pub(super) fn to_json(tool: &ToolInterrupt) -> Value {
    let request = tool.request();
    let mut shown = json!({"name": request.name, "input": request.input});
    if let Some(reference) = &request.reference {
        shown["ref"] = json!(reference);
    }
    if let Some(metadata) = tool.metadata() {
        shown["metadata"] = metadata.clone();
    }
    shown
}

/// All waiting tools in one sentence.
pub(super) fn list(waiting: &[ToolInterrupt]) -> String {
    let tools: Vec<_> = waiting.iter().map(question).collect();
    match tools.len() {
        1 => format!("a tool waits for an answer: {}", tools[0]),
        count => format!("{count} tools wait for an answer: {}", tools.join("; ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_as_they_are_typed() {
        let yes = |resumed: Value| Some(Decision::Approve(resumed));
        let no = |reason: Option<&str>| Some(Decision::Decline(reason.map(str::to_owned)));
        for (typed, expected) in [
            ("yes", yes(json!(true))),
            (" Y ", yes(json!(true))),
            (r#"yes {"status":"APPROVED"}"#, yes(json!({"status": "APPROVED"}))),
            ("yes please", None),
            ("no", no(None)),
            ("N", no(None)),
            ("no too expensive", no(Some("too expensive"))),
            (r#"{"paid":true}"#, Some(Decision::Respond(json!({"paid": true})))),
            ("\"yes\"", Some(Decision::Respond(json!("yes")))),
            ("12", Some(Decision::Respond(json!(12)))),
            ("null", Some(Decision::Respond(Value::Null))),
            ("Please order tea.", None),
            ("yesterday", None),
            ("", None),
        ] {
            assert_eq!(Decision::read(typed), expected, "{typed:?}");
        }
    }

    #[test]
    fn a_question_is_the_text_that_the_tool_has_left() {
        let check = |metadata: Value, expected: &str| {
            assert_eq!(describe("pay", &json!({"amount": 12}), &metadata), expected);
        };
        check(json!({"question": "Really?"}), r#"pay {"amount":12}: Really?"#);
        check(json!({"message": "Sure?"}), r#"pay {"amount":12}: Sure?"#);
        check(
            json!({"message": "Sure?", "limit": 7}),
            r#"pay {"amount":12}: {"message":"Sure?","limit":7}"#,
        );
        check(json!({"limit": 7}), r#"pay {"amount":12}: {"limit":7}"#);
        check(json!("Sure?"), r#"pay {"amount":12}: Sure?"#);
        check(json!(null), r#"pay {"amount":12}"#);
        assert_eq!(describe("pay", &Value::Null, &Value::Null), "pay");
    }
}
