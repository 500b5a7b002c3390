//! The server's own pages: health, readiness, metrics, and the API's description.
//!
//! They are at the root, whatever the prefix of the actions is, as probes and
//! scrapers expect. An action at the same path is served instead, and a warning is logged.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{FromRequestParts, Request, State};
use axum::http::header::ALLOW;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode as HttpStatus};
use axum::middleware::{Next, from_fn_with_state};
use axum::routing::{MethodRouter, get};
use oxikit_core::{Result, Status, StatusCode};
use oxikit_http::static_content::{Document, content, not_cached, page};
use oxikit_http::{HttpError, Watch, guarded, reply};

use crate::app::App;
use crate::openapi::Api;

/// Timeout of the application's own readiness check. `/readyz` then fails.
const CHECK_TIME: Duration = Duration::from_secs(5);

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

/// Gives pages the same checks of `Host` and `Origin`, log line and CORS headers as actions.
/// They take no slot: a busy server must still answer its probes.
async fn guard(State(app): State<Arc<App>>, request: Request, next: Next) -> Response<Body> {
    let (head, body) = request.into_parts();
    let mut watch = Watch::start(&head);
    let (asked, path) = (head.headers.clone(), head.uri.path().to_owned());
    let mut response = match app.edge.admit(&head, &app.registry) {
        Ok(()) => guarded(async { Ok(next.run(Request::from_parts(head, body)).await) })
            .await
            .unwrap_or_else(|error: HttpError| error.report(&app.registry, &path)),
        Err(refused) => *refused,
    };
    app.edge.finish(&asked, &mut response);
    watch.answered(&response);
    response
}

/// A caller that the context provider accepts.
struct Caller;

impl FromRequestParts<Arc<App>> for Caller {
    type Rejection = Response<Body>;

    async fn from_request_parts(head: &mut Parts, app: &Arc<App>) -> Result<Self, Self::Rejection> {
        let path = head.uri.path();
        match app.caller(head, None, path).await {
            Ok(_) => Ok(Self),
            Err(status) => Err(HttpError::from(status).report(&app.registry, path)),
        }
    }
}

/// `GET /healthz`: 200 as long as the process can answer at all. It does not run the readiness
/// check, so that an orchestrator does not restart a process because its database is down.
async fn health() -> Response<Body> {
    not_cached(reply::json_response(HttpStatus::OK, r#"{"status":"ok"}"#))
}

/// `GET /readyz`: 200 if the server accepts new requests, 503 while it shuts down or while the
/// application's own check fails.
async fn ready(State(app): State<Arc<App>>) -> Response<Body> {
    not_cached(match check_ready(&app).await {
        Ok(()) => reply::json_response(HttpStatus::OK, r#"{"status":"ok"}"#),
        Err(status) => reply::error(&status),
    })
}

async fn check_ready(app: &App) -> Result<()> {
    if app.shutdown.draining.is_cancelled() {
        return Err(not_ready("the server is shutting down"));
    }
    let Some(check) = app.pages.as_ref().and_then(|pages| pages.ready_check.as_ref()) else {
        return Ok(());
    };
    // Probes give up after a few seconds; a check that hangs must not pile up requests.
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

/// Logs the application's message and hides it from the response, since probes are not
/// authenticated.
fn not_ready(message: &str) -> Status {
    Status::public(StatusCode::Unavailable, message)
}

async fn metrics(_: Caller, State(app): State<Arc<App>>) -> Response<Body> {
    let text = app.metrics.as_ref().map(|metrics| metrics.render()).unwrap_or_default();
    not_cached(content("text/plain; version=0.0.4; charset=utf-8", text))
}

async fn openapi(_: Caller, State(app): State<Arc<App>>, asked: HeaderMap) -> Response<Body> {
    match &app.pages {
        Some(pages) => pages.openapi.get_or_init(|| document(&app)).response(&asked),
        None => reply::error(&Status::not_found("this server has no description of its API")),
    }
}

fn document(app: &App) -> Document {
    let api = Api {
        exposed: &app.exposed,
        prefix: &app.prefix,
        security: app.provider.as_ref().map(|provider| provider.security()).unwrap_or_default(),
        has_agents_api: app.agents.is_served,
        has_streams: app.streams.is_some(),
    };
    Document::new("application/json", api.document().to_string().into())
}

async fn docs_page(_: Caller) -> Response<Body> {
    page(include_str!("docs_page.html"))
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
