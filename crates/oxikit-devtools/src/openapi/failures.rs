//! The error responses of routes in the OpenAPI document.

use std::collections::BTreeSet;

use oxikit_core::StatusCode;
use oxikit_http::api::{About, StatusMeaning};

/// Statuses of the checks of sender and token.
const GATES: [u16; 3] = [401, 403, 429];
/// Statuses of a request body: too slow, too large, of another type.
const BODY: [u16; 3] = [408, 413, 415];
/// Statuses of the store: conflict, full, damaged, unavailable.
const STORE: [u16; 4] = [409, 429, 500, 503];

/// Statuses of the application: none was started, or it cannot be started or stopped.
const APP: [u16; 4] = [400, 500, 503, 504];

/// Every HTTP status that an error has, with its name and what it means.
pub(super) const NAMES: &[StatusMeaning] = &[
    (400, "BadRequest", "The request cannot be read, or not now; the message says why"),
    (401, "Unauthenticated", "The token is missing or not the right one"),
    (403, "Forbidden", "The host, the origin or the caller is not allowed"),
    (404, "NotFound", "There is no such thing"),
    (408, "BodyTimeout", "The body took too long to arrive"),
    (409, "Conflict", "It conflicts with existing data"),
    (413, "TooLarge", "The body is too large"),
    (415, "UnsupportedType", "The body is not `application/json`"),
    (429, "TooMany", "Too many wrong tokens, or the store is full"),
    (499, "Cancelled", "The call was cancelled"),
    (500, "Internal", "The runtime, or the tools themselves, have failed"),
    (501, "Unimplemented", "The runtime cannot do this"),
    (503, "Unavailable", "The runtime is not connected, or does not respond"),
    (504, "DeadlineExceeded", "The runtime took too long"),
];

/// The HTTP statuses of the errors of a route.
pub(super) fn of(method: &str, about: &About, has_parameters: bool) -> BTreeSet<u16> {
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
    codes.extend(failures.also);
    codes
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
