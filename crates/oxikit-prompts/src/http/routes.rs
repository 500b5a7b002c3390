//! The table of routes. It makes the router and the OpenAPI document, and tests attack each of its
//! routes.
//!
//! Documents are named by a segment of the path, or by `?id=` on a path of its own: both forms have
//! an entry.

mod directories;
mod documents;
mod history;

use std::sync::{Arc, LazyLock};

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Response};
use axum::routing::{MethodRouter, get, post};
use oxikit_http::api::{self, DescribedRoute, FollowQuery, Route, official, route};
use oxikit_http::static_content::Document;
use oxikit_wire::JsonObject;
use oxikit_wire::prompts as wire;
use serde_json::Value;

use super::openapi::OPEN_API;
use super::page::PAGE_PATHS;
use super::{PromptApi, answer, applications, changes, debug_page, echo, expansion, socket};

type Draft = oxikit_http::api::Draft<Arc<PromptApi>>;
type Handler = fn() -> MethodRouter<Arc<PromptApi>>;
type Table = &'static [Route<Arc<PromptApi>>];

/// A route that reads.
const fn read(path: &'static str, id: &'static str, about: &'static str, to: Handler) -> Draft {
    route("GET", path, id, about, to)
}

/// A route with an effect.
const fn act(path: &'static str, id: &'static str, about: &'static str, to: Handler) -> Draft {
    route("POST", path, id, about, to)
}

/// A route that changes something.
const fn change(path: &'static str, id: &'static str, about: &'static str, to: Handler) -> Draft {
    route("PUT", path, id, about, to)
}

/// A route that deletes something.
const fn remove(path: &'static str, id: &'static str, about: &'static str, to: Handler) -> Draft {
    route("DELETE", path, id, about, to)
}

/// Statuses of a document that does not exist or whose id is ambiguous.
const FINDS: &[u16] = &[404, 409];
/// Statuses of a document whose history is read.
const READS: &[u16] = &[400, 404, 409, 500, 503];
/// Statuses of a change of a document.
const CHANGES: &[u16] = &[400, 404, 409, 412, 500, 503];
/// Statuses of directories.
const DIRECTORY: &[u16] = &[400, 404, 500, 503];

/// Inclusion, preview, the feed of changes and the description of the API.
const OTHERS: Table = &[
    act("/api/prompts/expand", "expandText", "A text with its inclusions replaced", || {
        post(expansion::expand)
    })
    .takes::<wire::ExpandRequest>()
    .fails(FINDS)
    .answers::<wire::Expansion>(),
    act("/api/prompts/preview", "previewPrompt", "The messages that a model would get", || {
        post(expansion::preview)
    })
    .takes::<wire::PreviewRequest>()
    .fails(FINDS)
    .answers::<wire::Preview>(),
    read(
        "/api/prompts/changes",
        "watchPrompts",
        "The changes of all documents, from now on or from `Last-Event-ID`",
        || get(changes::follow),
    )
    .query::<FollowQuery>()
    .streams::<changes::ChangesEvent>(),
    read(
        "/api/prompts/export",
        "exportPrompts",
        "All prompts for an application, with their inclusions replaced",
        || get(applications::export),
    )
    .query::<applications::ExportQuery>()
    .fails(&[500, 503])
    .answers::<wire::Export>(),
    read("/api/prompts/lint", "lintPrompts", "The mistakes in all documents", || {
        get(applications::lint)
    })
    .fails(&[500, 503])
    .answers::<wire::LintReport>(),
    read("/api/prompts/openapi.json", "getPromptsOpenapi", "This OpenAPI document", || {
        get(openapi_document)
    })
    .answers::<JsonObject>(),
];

/// WebSockets, the page to try them, and paths that Prompt Manager names and does not serve. They
/// are not part of the OpenAPI document.
const SOCKETS: Table = &[
    official("GET", "/api/prompts/ws/{id}", || get(socket::open)),
    official("GET", "/api/prompts/ws/fragments/{id}", || get(socket::open)),
    official("GET", "/ws/prompts/{id}", || get(socket::open)),
    official("GET", "/api/ws/test", || get(echo::open)),
    official("GET", "/debug/websocket", || get(debug_page::html)),
    official("GET", "/debug/websocket.js", || get(debug_page::script)),
    official("GET", "/debug/websocket.css", || get(debug_page::style)),
    official("GET", "/api/prompts/templates", || get(answer::nowhere)),
];

/// All tables.
const TABLES: [Table; 5] =
    [documents::ROUTES, history::ROUTES, directories::ROUTES, OTHERS, SOCKETS];

/// The router of all tables.
pub(crate) fn router() -> Router<Arc<PromptApi>> {
    TABLES.iter().fold(Router::new(), |router, table| router.merge(api::router(table)))
}

/// Method and path of every route of [`PromptRoutes`](super::PromptRoutes) and
/// [`page_routes`](super::page_routes), for tests that call all of them.
#[doc(hidden)]
pub fn prompt_route_table() -> Vec<(&'static str, &'static str)> {
    let routes = TABLES.iter().flat_map(|table| table.iter());
    let routes = routes.map(|route| (route.method, route.path));
    routes.chain(PAGE_PATHS.map(|path| ("GET", path))).collect()
}

/// The OpenAPI document of [`PromptRoutes`](crate::PromptRoutes). It also has the schemas of the
/// messages of WebSockets, `ClientMessage` and `ServerMessage`.
///
/// ```
/// let document = oxikit_prompts::openapi();
/// assert!(document["paths"]["/api/prompts/{id}"]["get"].is_object());
/// ```
pub fn openapi() -> Value {
    let described = TABLES.iter().flat_map(|table| table.iter()).filter_map(|route| {
        let (method, path) = (route.method, route.path.to_owned());
        route.about.map(|about| DescribedRoute { method, path, about })
    });
    OPEN_API.describe(described)
}

/// Made at the first request: nothing in it depends on the process.
static DOCUMENT: LazyLock<Document> =
    LazyLock::new(|| Document::new("application/json", openapi().to_string().into()));

/// `GET /openapi.json`. It is here and not in `openapi` because it needs the table that it is itself a
/// part of.
async fn openapi_document(headers: HeaderMap) -> Response<Body> {
    DOCUMENT.response(&headers)
}
