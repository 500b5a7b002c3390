//! Requests over HTTP: which agent and binding they are for, and who sends them.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{Method, Response, StatusCode as HttpStatus};
use axum::routing::any;
use oxikit_core::Status;
use oxikit_http::{HttpError, Watch, body, guarded, reply};
use oxikit_wire::a2a::CARD_PATH;

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
pub(crate) fn routes(a2a: &Arc<A2a>) -> Router<Arc<App>> {
    let mut router = Router::new();
    for agent in &a2a.agents {
        if agent.is_first {
            router = route(router, CARD_PATH, a2a, agent, "");
        }
        let path = agent.options.url_path();
        for below in ["", "/", "/{*rest}"] {
            router = route(router, &format!("{path}{below}"), a2a, agent, &path);
        }
    }
    router
}

/// Adds a route for the requests of one agent, whose paths begin with `base`.
fn route(
    router: Router<Arc<App>>,
    path: &str,
    a2a: &Arc<A2a>,
    agent: &Arc<Served>,
    base: &str,
) -> Router<Arc<App>> {
    let (a2a, agent, base) = (a2a.clone(), agent.clone(), base.len());
    let handler = move |State(app): State<Arc<App>>, request: Request| {
        let (a2a, agent) = (a2a.clone(), agent.clone());
        async move { handle(app, &a2a, &agent, base, request).await }
    };
    router.route(path, any(handler))
}

/// Handles a request with the same checks, log and limits as actions.
async fn handle(
    app: Arc<App>,
    a2a: &A2a,
    agent: &Arc<Served>,
    base: usize,
    request: Request,
) -> Response<Body> {
    a2a.start();
    let (head, body) = request.into_parts();
    let mut watch = Watch::start(&head);
    let mut response = match app.edge.admit(&head, &app.registry) {
        Ok(()) => {
            let answer = guarded(answer(&app, a2a, agent, base, &head, body, &mut watch)).await;
            answer.unwrap_or_else(|failed| refuse(&app, agent, base, &head, failed))
        }
        Err(refused) => *refused,
    };
    app.edge.finish(&head.headers, &mut response);
    watch.answered(&response);
    response
}

async fn answer(
    app: &Arc<App>,
    a2a: &A2a,
    agent: &Arc<Served>,
    base: usize,
    head: &Parts,
    body: Body,
    watch: &mut Watch,
) -> Result<Response<Body>, HttpError> {
    let slot = Slot::take(app).ok_or_else(reply::busy)?;
    let below = below(head, base);
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
    agent: &Served,
    base: usize,
    head: &Parts,
    failed: HttpError,
) -> Response<Body> {
    let status = failed.status().outgoing();
    let response = failed.report(&app.registry, &agent.key);
    let form = match Route::parse(below(head, base)) {
        Some(route) => rest_form(app, agent, head, route.version),
        None => jsonrpc::error_form(app, agent, head),
    };
    form.edge_error(response, &status)
}
