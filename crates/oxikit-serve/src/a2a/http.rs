//! Requests over HTTP: which agent and binding they are for, and who sends them.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{Method, Response, StatusCode as HttpStatus};
use oxikit_core::Status;
use oxikit_http::{HttpError, Watch, body, guarded, reply};
use oxikit_wire::a2a::CARD_PATH;
use tower::Service;

use super::agent_options::Served;
use super::agents::A2a;
use super::card;
use super::incoming::Incoming;
use super::jsonrpc;
use super::rest::{Route, rest_form};
use crate::app::{App, Slot};

/// The path of a card below the agent's URL, without the first slash.
const CARD_NAME: &str = CARD_PATH.split_at(1).1;

/// The routes of all agents. The first one has a card at the root too.
pub(crate) fn routes(app: &Arc<App>, a2a: &Arc<A2a>) -> Router<Arc<App>> {
    let mut router = Router::new();
    for agent in &a2a.agents {
        let endpoint = |base: &str| {
            let (app, a2a, agent) = (app.clone(), a2a.clone(), agent.clone());
            Endpoint(Arc::new(Parties { app, a2a, agent, base: base.len() }))
        };
        if agent.is_first {
            router = router.route_service(CARD_PATH, endpoint(""));
        }
        let path = agent.options.url_path();
        for below in ["", "/", "/{*rest}"] {
            router = router.route_service(&format!("{path}{below}"), endpoint(&path));
        }
    }
    router
}

/// Handles the requests of one agent.
///
/// A request counts its references to what all requests share in one place, this [`Arc`]: each
/// further count is a cache line that the threads of the server take from each other.
#[derive(Clone)]
struct Endpoint(Arc<Parties>);

/// What a request is handled with.
struct Parties {
    app: Arc<App>,
    a2a: Arc<A2a>,
    agent: Arc<Served>,
    /// The length of the path of the agent, with which the paths of its requests begin.
    base: usize,
}

impl Service<Request> for Endpoint {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let parties = self.0.clone();
        Box::pin(async move { Ok(handle(&parties, request).await) })
    }
}

/// Handles a request with the same checks, log and limits as actions.
async fn handle(parties: &Parties, request: Request) -> Response<Body> {
    let Parties { app, a2a, agent, base } = parties;
    a2a.start();
    let (head, body) = request.into_parts();
    let mut watch = Watch::start(&head);
    let mut response = match app.edge.admit(&head, &app.registry) {
        Ok(()) => {
            let answer = guarded(answer(parties, &head, body, &mut watch)).await;
            answer.unwrap_or_else(|failed| refuse(app, agent, *base, &head, failed))
        }
        Err(refused) => *refused,
    };
    app.edge.finish(&head.headers, &mut response);
    watch.answered(&response);
    response
}

async fn answer(
    parties: &Parties,
    head: &Parts,
    body: Body,
    watch: &mut Watch,
) -> Result<Response<Body>, HttpError> {
    let Parties { app, a2a, agent, base } = parties;
    let slot = Slot::take(app).ok_or_else(reply::busy)?;
    let below = below(head, *base);
    if below == CARD_NAME {
        return card::answer(app, agent, head);
    }
    if below.is_empty() && head.method != Method::POST {
        let path = head.uri.path().trim_end_matches('/');
        let status = Status::invalid_argument(format!(
            "A2A methods are called by POST; the agent's card is at {path}{CARD_PATH}"
        ));
        return Err(HttpError::new(HttpStatus::METHOD_NOT_ALLOWED, status));
    }
    let caller = agent.caller(app, head).await?;
    let body = body::read_body(&head.headers, body, &app.limits).await?;
    watch.read(body.len());
    let incoming = Incoming { app, runner: &a2a.runner, agent, caller, head };
    if below.is_empty() {
        let mut response = incoming.answer_rpc(&body, watch, slot).await;
        agent.name_extensions(&head.headers, &mut response);
        return Ok(response);
    }
    if !body.is_empty() {
        body::check_media_type(&head.headers)?;
    }
    let mut response = Box::pin(incoming.answer_rest(below, &body, watch, slot)).await;
    agent.name_extensions(&head.headers, &mut response);
    Ok(response)
}

/// The path below the agent's URL.
fn below(head: &Parts, base: usize) -> &str {
    head.uri.path().get(base..).unwrap_or_default().trim_start_matches('/')
}

/// An error of the edge, with a body that clients of the protocol can read.
fn refuse(
    app: &App,
    agent: &Arc<Served>,
    base: usize,
    head: &Parts,
    failed: HttpError,
) -> Response<Body> {
    let status = failed.status().outgoing();
    let response = failed.report(&app.registry, &agent.key);
    let form = match Route::parse(below(head, base)) {
        Some(route) => rest_form(agent, head, route.version),
        None => jsonrpc::error_form(agent, head),
    };
    form.edge_error(response, &status)
}
