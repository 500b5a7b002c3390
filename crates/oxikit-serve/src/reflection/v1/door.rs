//! Who may come in: nobody without the token.

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, Response, StatusCode as HttpStatus};
use axum::middleware::{self, Next};
use oxikit_core::{Registry, Status};
use subtle::ConstantTimeEq;
use uuid::Uuid;

use crate::gate::Gate;
use crate::panic_guard::guarded;
use crate::reflection::identity::GENKIT_VERSION;
use crate::reply::{self, Failed};

const VERSION: HeaderName = HeaderName::from_static("x-genkit-version");

/// What stands before the token in a path.
const BEFORE: &str = "/s/";

/// The gates in front of every route.
#[derive(Clone)]
pub(super) struct Door {
    gate: Gate,
    token: String,
}

impl Door {
    /// A door with a new token.
    pub(super) fn new(is_loopback: bool) -> Self {
        // 244 random bits of the operating system.
        let token = format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple());
        Self { gate: Gate { is_loopback, ..Gate::default() }, token }
    }

    /// What all paths begin with.
    pub(super) fn path(&self) -> String {
        format!("{BEFORE}{}", self.token)
    }

    /// These routes behind the door. What is not among them is told as JSON.
    pub(super) fn guard(self, routes: Router, registry: Registry) -> Router {
        let routes = routes.fallback(nothing_here).method_not_allowed_fallback(not_by_this_method);
        Router::new()
            .nest(&format!("{BEFORE}{{token}}"), routes)
            .fallback(nothing_here)
            .layer(middleware::from_fn_with_state((self, registry), enter))
    }

    fn check(&self, request: &Request) -> Result<(), Status> {
        self.gate.check(request.uri(), request.headers())?;
        let after = request.uri().path().strip_prefix(BEFORE).unwrap_or_default();
        let token = after.split('/').next().unwrap_or_default();
        if bool::from(token.as_bytes().ct_eq(self.token.as_bytes())) {
            return Ok(());
        }
        Err(Status::permission_denied(
            "the path does not begin with this runtime's token; take the URL of its runtime file",
        ))
    }
}

/// Checked before a route is looked for and a body is read. The path is never logged:
/// it holds the token.
async fn enter(
    State((door, registry)): State<(Door, Registry)>,
    request: Request,
    next: Next,
) -> Response<Body> {
    let mut response = match door.check(&request) {
        Ok(()) => guarded(async { Ok(next.run(request).await) })
            .await
            .unwrap_or_else(|failed: Failed| failed.report(&registry, "reflection")),
        Err(status) => reply::error(&status),
    };
    response.headers_mut().insert(VERSION, HeaderValue::from_static(GENKIT_VERSION));
    response
}

async fn nothing_here() -> Response<Body> {
    reply::error(&Status::not_found("there is nothing at this path"))
}

async fn not_by_this_method() -> Response<Body> {
    let status = Status::invalid_argument("this path takes another method");
    reply::error_with(HttpStatus::METHOD_NOT_ALLOWED, &status)
}
