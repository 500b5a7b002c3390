//! The flows behind a function handler, for platforms that freeze an instance between two requests.
//!
//! The handler is the router of the server, called with one request at a time. Spans are sent before
//! the response is complete, because nothing runs after it. Agents are not served here: their tasks
//! outlive a request.

use std::convert::Infallible;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Request, Response, StatusCode};
use axum::response::IntoResponse;
use oxikit::Registry;
use oxikit::serve::Server;
use tower::ServiceExt;

use crate::{App, flows};

/// Maximum size of a response in bytes. A larger one is answered with 500.
const MAX_BYTES: usize = 6 * 1024 * 1024;
/// Timeout of sending the spans of a request. The rest is dropped.
const FLUSH: Duration = Duration::from_secs(2);

/// Calls the flows.
#[derive(Debug, Clone)]
pub struct Function {
    router: Router,
    registry: Registry,
}

impl Function {
    /// The flows of an application. Their spans go to the collector of the environment.
    ///
    /// # Errors
    ///
    /// If a flow cannot be defined, or a variable of the collector is wrong.
    pub fn new(app: &App) -> oxikit::Result<Self> {
        oxikit::serve::export_spans(&app.ai)?;
        let mut server = Server::new(&app.ai);
        for flow in flows::define(app)? {
            server = server.expose(flow);
        }
        if let Some(auth) = app.auth() {
            server = server.auth(auth);
        }
        Ok(Self { router: server.router(), registry: app.ai.registry().clone() })
    }

    /// Answers one request. The whole response is made, and all spans are sent, when this returns.
    pub async fn call(&self, request: Request<Body>) -> Result<Response<Body>, Infallible> {
        let (head, body) = self.router.clone().oneshot(request).await?.into_parts();
        let body = to_bytes(body, MAX_BYTES).await;
        if let Some(exporter) = self.registry.exporter()
            && tokio::time::timeout(FLUSH, exporter.flush()).await.is_err()
        {
            tracing::warn!("spans of a request were not sent in time");
        }
        Ok(match body {
            Ok(body) => Response::from_parts(head, Body::from(body)),
            Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        })
    }
}
