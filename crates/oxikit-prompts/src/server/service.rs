//! Serves connections: checks, routes, and the headers of responses.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response};
use axum::response::IntoResponse;
use hyper::body::Incoming;
use hyper::service::{Service, service_fn};
use hyper_util::service::TowerToHyperService;
use oxikit_core::Status;
use oxikit_http::{Limits, Watch, accept, answer_and_drain, guarded};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::gate::Gate;
use crate::http::Failure;

/// The checks and the routes behind them.
#[derive(Clone)]
pub(super) struct PromptService {
    gate: Arc<Gate>,
    routes: TowerToHyperService<Router>,
}

impl PromptService {
    pub(super) fn new(gate: Gate, router: Router) -> Self {
        Self { gate: Arc::new(gate), routes: TowerToHyperService::new(router) }
    }

    /// Serves connections until `closing` is cancelled; open requests then end in their tasks.
    pub(super) async fn serve(
        self,
        listener: TcpListener,
        limits: Limits,
        closing: CancellationToken,
        connections: TaskTracker,
    ) {
        let service_of = |_: &TcpStream, peer: SocketAddr| {
            let service = self.clone();
            service_fn(move |request| {
                let service = service.clone();
                async move { Ok::<_, Infallible>(service.respond(peer, request).await) }
            })
        };
        accept(listener, service_of, &limits, &closing, &connections).await;
    }

    async fn respond(&self, peer: SocketAddr, mut request: Request<Incoming>) -> Response<Body> {
        let admitted = self.gate.admit(peer.ip(), &mut request);
        // After the check, which takes the token out of the path.
        let (head, body) = request.into_parts();
        let mut watch = Watch::start(&head);
        let request = Request::from_parts(head, body);
        let origin = self.gate.allowed_origin(&request);
        let mut response = match admitted {
            Ok(()) => self.answer(request).await,
            Err(response) => *response,
        };
        Gate::finish(origin.as_ref(), &mut response);
        watch.answered(&response);
        response
    }

    /// Answers a request. The rest of its body is drained first, because a client that still sends
    /// may never receive the response.
    async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        let answer = |request| async {
            let work = async {
                let Ok(response) = self.routes.call(request).await;
                Ok(response)
            };
            guarded(work).await.unwrap_or_else(|status: Status| {
                tracing::error!(%status, "a request failed");
                Failure::from(status).into_response()
            })
        };
        answer_and_drain(request, answer).await
    }
}
