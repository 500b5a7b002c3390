//! The server's own pages: health, readiness, metrics, and the API's description.
//!
//! They are at the root, whatever the prefix of the actions is, as probes and
//! scrapers expect. An action at the same path wins: the application's names are
//! the application's, and a warning is logged.

use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{FromRequestParts, Request, State};
use axum::http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode as HttpStatus};
use axum::middleware::{Next, from_fn_with_state};
use axum::routing::{MethodRouter, get};
use bytes::Bytes;
use oxikit_core::{Result, Status, StatusCode};

use crate::access_log::Watch;
use crate::action_http::App;
use crate::gate::Gate;
use crate::openapi::Api;
use crate::panic_guard::guarded;
use crate::reply::{self, Failed};

/// A probe does not wait longer than this for the application's own check.
const CHECK_TIME: Duration = Duration::from_secs(5);

/// Own assets only, nothing inline, nobody frames it.
const PAGE_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Whether the application can work, asked by `/readyz`.
pub(crate) type ReadyCheck =
    Arc<dyn Fn() -> Pin<Box<dyn Future<Output = Result<()>> + Send>> + Send + Sync>;

/// What the pages show.
pub(crate) struct Operations {
    ready_check: Option<ReadyCheck>,
    has_agents_api: bool,
    /// Written when it is first asked for; most servers are never asked.
    openapi: OnceLock<Document>,
}

impl Operations {
    pub(crate) fn new(ready_check: Option<ReadyCheck>, has_agents_api: bool) -> Self {
        Self { ready_check, has_agents_api, openapi: OnceLock::new() }
    }

    fn openapi(&self, app: &App) -> &Document {
        self.openapi.get_or_init(|| {
            let api = Api {
                exposed: &app.exposed,
                prefix: &app.prefix,
                security_scheme: app.provider.as_ref().and_then(|who| who.security_scheme()),
                has_agents_api: self.has_agents_api,
                has_streams: app.streams.is_some(),
            };
            Document::new(&api.document())
        })
    }
}

/// The OpenAPI document, written once.
struct Document {
    bytes: Bytes,
    etag: HeaderValue,
}

/// All pages.
fn pages() -> [(&'static str, MethodRouter<Arc<App>>); 7] {
    [
        ("/healthz", get(health)),
        ("/readyz", get(ready)),
        ("/metrics", get(metrics)),
        ("/openapi.json", get(openapi)),
        ("/docs", get(docs_page)),
        ("/docs.js", get(docs_script)),
        ("/docs.css", get(docs_style)),
    ]
}

/// The paths of the pages.
pub(crate) fn paths() -> impl Iterator<Item = &'static str> {
    pages().into_iter().map(|(path, _)| path)
}

/// The routes of the pages. `is_taken` says which paths belong to an action.
pub(crate) fn routes(app: &Arc<App>, is_taken: impl Fn(&str) -> bool) -> Router<Arc<App>> {
    let mut router = Router::new();
    for (path, page) in pages() {
        if is_taken(path) {
            tracing::warn!(path, "an action has the path of a page of the server; it is served");
        } else {
            router = router.route(path, page.fallback(wrong_method));
        }
    }
    router.layer(from_fn_with_state(app.clone(), guard))
}

/// The same gate and log as for actions.
async fn guard(State(app): State<Arc<App>>, request: Request, next: Next) -> Response<Body> {
    let (head, body) = request.into_parts();
    let mut watch = Watch::start(&head);
    let (asked, path) = (head.headers.clone(), head.uri.path().to_owned());
    let is_preflight = Gate::is_preflight(&head.method, &asked);
    let mut response = match app.gate.check(&head.uri, &asked) {
        Err(status) => Failed::from(status).report(&app.registry, &path),
        Ok(()) if is_preflight => reply::json_response(HttpStatus::NO_CONTENT, Body::empty()),
        Ok(()) => guarded(async { Ok(next.run(Request::from_parts(head, body)).await) })
            .await
            .unwrap_or_else(|failed: Failed| failed.report(&app.registry, &path)),
    };
    app.gate.add_cors(&asked, response.headers_mut(), is_preflight);
    watch.answered(&response);
    response
}

/// Somebody whom the context provider lets in.
struct Caller;

impl FromRequestParts<Arc<App>> for Caller {
    type Rejection = Response<Body>;

    async fn from_request_parts(head: &mut Parts, app: &Arc<App>) -> Result<Self, Self::Rejection> {
        let path = head.uri.path();
        match app.caller(head, None, path).await {
            Ok(_) => Ok(Self),
            Err(status) => Err(Failed::from(status).report(&app.registry, path)),
        }
    }
}

/// The process is up.
async fn health() -> Response<Body> {
    fresh(reply::json_response(HttpStatus::OK, r#"{"status":"ok"}"#))
}

/// New requests are welcome.
async fn ready(State(app): State<Arc<App>>) -> Response<Body> {
    fresh(match check_ready(&app).await {
        Ok(()) => reply::json_response(HttpStatus::OK, r#"{"status":"ok"}"#),
        Err(status) => reply::error(&status),
    })
}

async fn check_ready(app: &App) -> Result<()> {
    if app.ending.draining.is_cancelled() {
        return Err(not_ready("the server is shutting down"));
    }
    let Some(check) = app.operations.as_ref().and_then(|pages| pages.ready_check.as_ref()) else {
        return Ok(());
    };
    match tokio::time::timeout(CHECK_TIME, check()).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(status)) => {
            tracing::warn!(%status, "the application is not ready");
            Err(not_ready("the application is not ready"))
        }
        Err(_) => {
            tracing::warn!("the check of readiness took too long");
            Err(not_ready("the application is not ready"))
        }
    }
}

/// Anybody may probe, so the application's own words stay in the log.
fn not_ready(message: &str) -> Status {
    Status::public(StatusCode::Unavailable, message)
}

async fn metrics(_: Caller, State(app): State<Arc<App>>) -> Response<Body> {
    let text = app.metrics.as_ref().map(|metrics| metrics.render()).unwrap_or_default();
    fresh(content("text/plain; version=0.0.4; charset=utf-8", text))
}

async fn openapi(_: Caller, State(app): State<Arc<App>>, asked: HeaderMap) -> Response<Body> {
    match &app.operations {
        Some(pages) => pages.openapi(&app).answer(&asked),
        None => reply::error(&Status::not_found("there is no description")),
    }
}

async fn docs_page(_: Caller) -> Response<Body> {
    let mut page = content("text/html; charset=utf-8", include_str!("docs_page.html"));
    let policy = HeaderValue::from_static(PAGE_POLICY);
    page.headers_mut().insert(HeaderName::from_static("content-security-policy"), policy);
    page
}

async fn docs_script(_: Caller) -> Response<Body> {
    content("text/javascript; charset=utf-8", include_str!("docs_page.js"))
}

async fn docs_style(_: Caller) -> Response<Body> {
    content("text/css; charset=utf-8", include_str!("docs_page.css"))
}

async fn wrong_method() -> Response<Body> {
    let status = Status::invalid_argument("this page is read by GET");
    let mut response = reply::error_with(HttpStatus::METHOD_NOT_ALLOWED, &status);
    response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
    response
}

impl Document {
    fn new(document: &serde_json::Value) -> Self {
        let bytes = Bytes::from(document.to_string());
        let etag = format!("\"{:016x}\"", fingerprint(&bytes));
        let etag =
            HeaderValue::from_str(&etag).unwrap_or_else(|_| HeaderValue::from_static("\"\""));
        Self { bytes, etag }
    }

    fn answer(&self, asked: &HeaderMap) -> Response<Body> {
        let is_known = asked.get_all(IF_NONE_MATCH).iter().any(|known| {
            known.to_str().is_ok_and(|known| {
                known.split(',').any(|tag| tag.trim().trim_start_matches("W/") == self.etag)
            })
        });
        let mut response = content("application/json", self.bytes.clone());
        if is_known {
            *response.status_mut() = HttpStatus::NOT_MODIFIED;
            *response.body_mut() = Body::empty();
        }
        let headers = response.headers_mut();
        headers.insert(ETAG, self.etag.clone());
        // Kept, but asked for again each time: it changes with the application.
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
        response
    }
}

/// Tells versions of the document apart; it protects nothing. FNV-1a, so that all
/// replicas of one build answer the same tag.
fn fingerprint(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

fn content(media_type: &'static str, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    let guards = [("x-content-type-options", "nosniff"), ("referrer-policy", "no-referrer")];
    for (name, value) in guards {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    response
}

fn fresh(mut response: Response<Body>) -> Response<Body> {
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
