//! The built web page, which `oxikit-web` contains.

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Response, Uri};
use axum::response::{IntoResponse, Redirect};
use axum::routing::get;

use super::answer::{nowhere, wrong_method};

/// The paths of the page: the page itself, the address that it had earlier, and its files.
pub(crate) const PAGE_PATHS: [&str; 4] = ["/", "/prompts", "/prompts/", "/assets/{*path}"];

/// The page, which shows the prompts because of the query. A fragment here would replace that of the
/// link, which may have the token.
const PROMPTS: &str = "/?prompts";

/// The routes of the web page: `/`, its files, and `/prompts`, which redirects to the view of the
/// prompts. They contain no secret and need no token. A program that was built without the page serves
/// a text that says what to run.
///
/// ```
/// let router: axum::Router = oxikit_prompts::page_routes();
/// ```
pub fn page_routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    let add = |router: Router<S>, path: &&str| {
        let is_earlier = path.starts_with("/prompts");
        router.route(path, if is_earlier { get(redirect) } else { get(page) })
    };
    PAGE_PATHS.iter().fold(Router::new(), add).method_not_allowed_fallback(wrong_method)
}

/// Whether a path is that of a page or of one of its files: the built page, and the page to try
/// WebSockets. They contain no secret and need no token.
///
/// ```
/// use oxikit_prompts::is_page_path;
///
/// assert!(is_page_path("/") && is_page_path("/assets/index.js"));
/// assert!(!is_page_path("/api/prompts/all"));
/// ```
pub fn is_page_path(path: &str) -> bool {
    matches!(path, "/" | "/prompts" | "/prompts/" | "/debug/websocket")
        || matches!(path, "/debug/websocket.js" | "/debug/websocket.css")
        || path.starts_with("/assets/")
}

/// A file of the page.
async fn page(uri: Uri, headers: HeaderMap) -> Response<Body> {
    match oxikit_web::page(uri.path()) {
        Some(asset) => asset.response(&headers),
        None => nowhere().await.into_response(),
    }
}

/// Leads old links to the view of the prompts.
async fn redirect() -> Redirect {
    Redirect::temporary(PROMPTS)
}
