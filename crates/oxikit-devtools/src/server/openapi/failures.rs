//! How routes fail, in the description.

use std::collections::BTreeSet;

use oxikit_core::StatusCode;
use serde_json::{Map, Value, json};

use crate::server::route::About;

/// What the gates answer.
const GATES: [u16; 3] = [401, 403, 429];
/// What comes of a body: too slow, too large, of another type.
const BODY: [u16; 3] = [408, 413, 415];
/// What comes of the store: full, broken, away.
const STORE: [u16; 4] = [409, 429, 500, 503];

/// What comes of the application: there is none, or it does not do what it is told.
const APP: [u16; 4] = [400, 500, 503, 504];

/// Every HTTP status that an error has, with its name and what it means.
const NAMES: [(u16, &str, &str); 14] = [
    (400, "BadRequest", "The request cannot be read, or not now; the message says why"),
    (401, "Unauthenticated", "The token is missing or not the right one"),
    (403, "Forbidden", "The host, the origin or the caller is not let in"),
    (404, "NotFound", "There is no such thing"),
    (408, "BodyTimeout", "The body took too long to arrive"),
    (409, "Conflict", "It clashes with what is there"),
    (413, "TooLarge", "The body is too large"),
    (415, "UnsupportedType", "The body is not `application/json`"),
    (429, "TooMany", "Too many wrong tokens, or there is no room"),
    (499, "Cancelled", "The call was cancelled"),
    (500, "Internal", "The runtime, or the tools themselves, have failed"),
    (501, "Unimplemented", "The runtime cannot do this"),
    (503, "Unavailable", "The runtime is not there, or does not answer"),
    (504, "DeadlineExceeded", "The runtime took too long"),
];

/// The answers that all routes share.
pub(super) fn responses() -> Map<String, Value> {
    let response = |(http, name, meaning): &(u16, &str, &str)| {
        let error = json!({"$ref": "#/components/schemas/Error"});
        let content = json!({"application/json": {"schema": error}});
        let mut response = json!({"description": meaning, "content": content});
        let text = json!({"type": "string"});
        match http {
            401 => response["headers"] = json!({"WWW-Authenticate": {"schema": text}}),
            429 => response["headers"] = json!({"Retry-After": {"schema": text}}),
            _ => {}
        }
        ((*name).to_owned(), response)
    };
    NAMES.iter().map(response).collect()
}

/// The answers of a route that are errors.
pub(super) fn of(method: &str, about: &About, has_parameters: bool) -> Map<String, Value> {
    let mut codes = BTreeSet::from(GATES);
    let failures = about.failures;
    let has_body = about.body.is_some();
    if has_parameters || has_body {
        codes.insert(400);
    }
    if has_body {
        codes.extend(BODY);
    }
    if method != "GET" {
        codes.insert(415);
    }
    if failures.not_found {
        codes.insert(404);
    }
    if failures.of_app {
        codes.extend(APP);
    }
    if failures.of_store {
        codes.extend(STORE);
    }
    if failures.of_runtime {
        let of_code = |code: &StatusCode| code.http();
        codes.extend(StatusCode::ALL.iter().filter(|code| **code != StatusCode::Ok).map(of_code));
    }
    let named = |code: u16| {
        let (_, name, _) = NAMES.iter().find(|(known, ..)| *known == code)?;
        Some((code.to_string(), json!({"$ref": format!("#/components/responses/{name}")})))
    };
    codes.into_iter().filter_map(named).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_name() {
        let codes = StatusCode::ALL.iter().skip(1).map(|code| code.http());
        for code in codes.chain(GATES).chain(BODY).chain(STORE).chain(APP) {
            assert!(NAMES.iter().any(|(known, ..)| *known == code), "{code}");
        }
    }
}
