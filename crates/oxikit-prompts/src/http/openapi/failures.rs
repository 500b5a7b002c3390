//! The errors of routes in the OpenAPI document.

use std::collections::BTreeSet;

use oxikit_http::api::{About, StatusMeaning};

/// Every HTTP status that an error has, with its name and what it means.
pub(super) const NAMES: &[StatusMeaning] = &[
    (400, "BadRequest", "The request asks for something that is not possible"),
    (401, "Unauthenticated", "The token is missing or not the right one"),
    (403, "Forbidden", "The host or the origin is not allowed, or the prompts are read-only"),
    (404, "NotFound", "There is no such document, revision or directory"),
    (408, "BodyTimeout", "The body took too long to arrive"),
    (409, "Conflict", "The id is ambiguous or in use, or the change conflicts with another one"),
    (412, "PreconditionFailed", "The document has another revision; it is in the response"),
    (413, "TooLarge", "The body or the content is too large"),
    (415, "UnsupportedType", "The body is not `application/json`"),
    (422, "Unprocessable", "The body or the query cannot be read; `detail` is a list of errors"),
    (429, "TooMany", "Too many wrong tokens"),
    (500, "Internal", "The store or a file could not be read or written"),
    (503, "Unavailable", "The server is busy or shuts down; try again"),
];

/// Statuses of the checks of sender and token.
const GATES: [u16; 3] = [401, 403, 429];
/// Statuses of a request body: too slow, too large, not valid.
const BODY: [u16; 3] = [408, 413, 422];

/// The HTTP statuses of the errors of a route.
pub(super) fn of(method: &str, about: &About, has_parameters: bool) -> BTreeSet<u16> {
    let mut codes = BTreeSet::from(GATES);
    if has_parameters {
        // A path or a query that is not UTF-8, and one that cannot be read.
        codes.extend([400, 422]);
    }
    if about.body.is_some() {
        codes.extend(BODY);
        codes.insert(400);
    }
    if method != "GET" {
        codes.insert(415);
    }
    codes.extend(about.failures.also);
    codes
}
