//! What the OpenAPI document says besides its routes: tags, errors, and the messages of WebSockets.

mod failures;

use oxikit_http::api::OpenApi;
use oxikit_wire::prompts::{ClientMessage, Detail, ServerMessage};

/// What the document says besides its routes.
pub(crate) const OPEN_API: OpenApi = OpenApi {
    title: "oxikit prompt manager",
    version: env!("CARGO_PKG_VERSION"),
    description: "Prompts and fragments in files. A document is named by a segment of the path, \
        percent-encoded, or by `?id=`. Live editing is a WebSocket at `/api/prompts/ws/{id}` and \
        `/api/prompts/ws/fragments/{id}`: clients send `ClientMessage`, the server sends \
        `ServerMessage`. `ETag` of a document is its revision; `PUT` takes it in `If-Match`.",
    tags: TAGS,
    tag_of,
    errors: failures::NAMES,
    error: |generator| generator.subschema_for::<Detail>(),
    failures: failures::of,
    also_sent: &[|generator| generator.subschema_for::<ServerMessage>()],
    also_taken: &[|generator| generator.subschema_for::<ClientMessage>()],
};

/// The tags of operations, each with its description.
const TAGS: &[(&str, &str)] = &[
    ("documents", "Prompts and fragments"),
    ("history", "Revisions and labels"),
    ("directories", "Registered directories"),
    ("expansion", "Inclusion and preview"),
    ("server", "The server itself"),
];

/// The tag of an operation, by its path.
fn tag_of(path: &str) -> &'static str {
    const HISTORY: [&str; 5] = ["history", "diff", "restore", "undelete", "labels"];
    let mut segments = path.split('/').skip(3);
    let (first, second) = (segments.next().unwrap_or_default(), segments.next());
    match first {
        "directories" | "filesystem" => "directories",
        "expand" | "preview" | "render" => "expansion",
        "changes" | "openapi.json" => "server",
        first if HISTORY.contains(&first) => "history",
        "{id}" if second == Some("render") => "expansion",
        "{id}" if second.is_some_and(|second| HISTORY.contains(&second)) => "history",
        _ => "documents",
    }
}
