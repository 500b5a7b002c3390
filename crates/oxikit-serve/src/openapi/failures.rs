//! The error responses of operations, in the OpenAPI document.

use std::collections::BTreeSet;

use oxikit_core::StatusCode;
use serde_json::{Map, Value, json};

/// The HTTP statuses of a rejected body: too slow, too large, not JSON.
const BODY: [u16; 3] = [408, 413, 415];

/// The HTTP statuses of all status codes: actions, stores and context providers may fail with
/// each of them.
fn codes() -> BTreeSet<u16> {
    let codes = StatusCode::ALL.iter().filter(|code| **code != StatusCode::Ok);
    codes.map(|code| code.http()).collect()
}

/// The answers that all operations share.
pub(crate) fn responses() -> Map<String, Value> {
    let response = |code: u16| {
        let names = StatusCode::ALL.iter().filter(|it| it.http() == code).map(|it| it.name());
        let meaning = match code {
            408 => "The body took too long to arrive.".to_owned(),
            413 => "The body is too large.".to_owned(),
            415 => "The body is not JSON.".to_owned(),
            _ => names.collect::<Vec<_>>().join(", "),
        };
        let error = json!({ "$ref": "#/components/schemas/Error" });
        let content = json!({ "application/json": { "schema": error } });
        (name(code), json!({ "description": meaning, "content": content }))
    };
    codes().into_iter().chain(BODY).map(response).collect()
}

/// The answers of an operation that are errors.
pub(crate) fn of(has_body: bool) -> Map<String, Value> {
    let body = BODY.into_iter().filter(|_| has_body);
    let reference = |code: u16| {
        let reference = format!("#/components/responses/{}", name(code));
        (code.to_string(), json!({ "$ref": reference }))
    };
    codes().into_iter().chain(body).map(reference).collect()
}

fn name(code: u16) -> String {
    format!("Error{code}")
}
