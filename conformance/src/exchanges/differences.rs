//! Where our server answers otherwise than the recorded one, and how. Each has
//! its reason in `docs/action-http.md`.

use serde_json::{Value, json};

use super::{Answer, Content};

/// How our answer differs.
#[derive(Clone, Copy)]
pub(crate) enum Ours {
    /// An HTTP error with a JSON body and this status.
    Error(u16, &'static str),
    /// A result in JSON.
    Result(&'static str),
    /// Blocks, as `[["data", {…}], …]`.
    Blocks(&'static str),
    /// The same errors at the same places; message and schema in other words.
    Validation,
    /// The same but for the text that stands for what is not told.
    Masked,
    /// The recorded result without this member.
    Without(&'static str),
}

const DIFFERENCES: &[(&[&str], Ours)] = &[
    (
        &["unary-string-body", "malformed-json", "malformed-json-sse", "readme-express-malformed"],
        Ours::Error(400, "INVALID_ARGUMENT"),
    ),
    (&["unknown-flow", "unknown-flow-sse"], Ours::Error(404, "NOT_FOUND")),
    (&["json-charset-bad", "text-content-type"], Ours::Error(415, "INVALID_ARGUMENT")),
    (&["wrong-method-get", "wrong-method-put"], Ours::Error(405, "INVALID_ARGUMENT")),
    (&["case-insensitive-path"], Ours::Error(404, "NOT_FOUND")),
    (&["cors-preflight", "cors-simple"], Ours::Error(403, "PERMISSION_DENIED")),
    (
        &[
            "missing-content-type",
            "json-suffix-content-type",
            "readme-express-noct",
            "no-json-middleware",
        ],
        Ours::Result(r#"{"got":1}"#),
    ),
    (
        &["unary-unwrapped-object", "unary-unwrapped-typed", "unary-array-body"],
        Ours::Error(400, "INVALID_ARGUMENT"),
    ),
    (&["non-utf8"], Ours::Error(400, "INVALID_ARGUMENT")),
    (&["unary-undefined-output"], Ours::Result("null")),
    (&["stream-undefined-output"], Ours::Blocks(r#"[["data",{"result":null}]]"#)),
    (
        &["stream-query-1", "stream-query-True"],
        Ours::Blocks(r#"[["data",{"message":{"count":0}}],["data",{"result":"done"}]]"#),
    ),
    (
        &[
            "unary-bad-output",
            "unary-bad-input",
            "unary-bad-input-missing",
            "stream-bad-input",
            "init-bad",
            "init-bad-sse",
        ],
        Ours::Validation,
    ),
    (&["init-missing"], Ours::Error(400, "INVALID_ARGUMENT")),
    (&["status-plain", "status-string", "status-duck", "stream-error-plain"], Ours::Masked),
    (&["ctx-headers"], Ours::Without("/result/context/seen/input")),
    (&["body-100kb-limit"], Ours::Result("102400 times x")),
];

/// How our answer to this exchange differs, if it may.
pub(crate) fn find(exchange: &str) -> Option<Ours> {
    let row = DIFFERENCES.iter().find(|(names, _)| names.contains(&exchange));
    row.map(|(_, ours)| *ours)
}

impl Ours {
    /// Whether the answer differs as the table says, and in nothing else.
    pub(crate) fn check(self, expected: &Answer, actual: &Answer) -> Result<(), String> {
        let is_right = match self {
            Self::Error(status, name) => {
                actual.status == status
                    && matches!(&actual.content, Content::Json(body) if body["status"] == name)
            }
            Self::Result(result) => {
                let body = json!({ "result": parse(result) });
                *actual == Answer { status: 200, content: Content::Json(body) }
            }
            Self::Blocks(blocks) => {
                let blocks = serde_json::from_value(parse(blocks)).unwrap_or_default();
                *actual == Answer { status: 200, content: Content::Blocks(blocks) }
            }
            Self::Validation => {
                actual.status == expected.status && errors(actual) == errors(expected)
            }
            Self::Masked => {
                actual.status == expected.status
                    && masked(&actual.content) == Some(("INTERNAL", "Internal error"))
                    && masked(&expected.content) == Some(("INTERNAL", "Internal Error"))
            }
            Self::Without(member) => {
                let Content::Json(body) = &expected.content else {
                    return Err("nothing was recorded".to_owned());
                };
                let content = Content::Json(without(body.clone(), member));
                *actual == Answer { status: expected.status, content }
            }
        };
        if is_right { Ok(()) } else { Err(format!("not as the table says: {actual:?}")) }
    }
}

/// Status and message of an error that tells nothing else.
fn masked(content: &Content) -> Option<(&str, &str)> {
    let error = match content {
        Content::Json(error) => error,
        Content::Blocks(blocks) => &blocks.last()?.1["error"],
        _ => return None,
    };
    let is_all = error.as_object().is_some_and(|members| members.len() == 2);
    is_all.then_some((error["status"].as_str()?, error["message"].as_str()?))
}

/// The places and reasons of a failed validation, with its status.
fn errors(answer: &Answer) -> Option<(&Value, &Value)> {
    let error = match &answer.content {
        Content::Json(error) => error,
        Content::Blocks(blocks) => &blocks.first()?.1["error"],
        _ => return None,
    };
    Some((&error["status"], error.pointer("/details/errors")?))
}

fn without(mut body: Value, member: &str) -> Value {
    let (parent, name) = member.rsplit_once('/').unwrap_or_default();
    if let Some(members) = body.pointer_mut(parent).and_then(Value::as_object_mut) {
        members.shift_remove(name);
    }
    body
}

fn parse(text: &str) -> Value {
    match text {
        "102400 times x" => json!({ "got": "x".repeat(102_400) }),
        json => serde_json::from_str(json).expect("it is written here"),
    }
}
