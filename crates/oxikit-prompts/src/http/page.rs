//! The built web page, which `oxikit-web` contains.

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Response, Uri};
use axum::response::IntoResponse;
use axum::routing::get;

use super::answer::{nowhere, wrong_method};

/// The paths of the page. The page refers to its files relative to itself: at `/prompts` a browser
/// asks for `/assets/…`, at `/prompts/` for `/prompts/assets/…`.
pub(crate) const PAGE_PATHS: [&str; 4] =
    ["/prompts", "/prompts/", "/prompts/{*path}", "/assets/{*path}"];

/// The routes of the web page: `/prompts`, and its files. They contain no secret and need no token. A
/// program that was built without the page serves a text that says what to run.
///
/// ```
/// let router: axum::Router = oxikit_prompts::page_routes();
/// ```
pub fn page_routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    let add = |router: Router<S>, path: &&str| router.route(path, get(page));
    PAGE_PATHS.iter().fold(Router::new(), add).method_not_allowed_fallback(wrong_method)
}

/// Whether a path is that of a page or of one of its files: the built page, and the page to try
/// WebSockets. They contain no secret and need no token.
///
/// ```
/// use oxikit_prompts::is_page_path;
///
/// assert!(is_page_path("/prompts/") && is_page_path("/assets/index.js"));
/// assert!(!is_page_path("/api/prompts/all"));
/// ```
pub fn is_page_path(path: &str) -> bool {
    matches!(path, "/" | "/prompts" | "/debug/websocket")
        || matches!(path, "/debug/websocket.js" | "/debug/websocket.css")
        || path.starts_with("/prompts/")
        || path.starts_with("/assets/")
}

/// A file of the page.
pub(crate) async fn page(uri: Uri, headers: HeaderMap) -> Response<Body> {
    let path = uri.path().strip_prefix("/prompts").unwrap_or(uri.path());
    match oxikit_web::page(path) {
        Some(asset) => asset.response(&headers),
        None => nowhere().await.into_response(),
    }
}
