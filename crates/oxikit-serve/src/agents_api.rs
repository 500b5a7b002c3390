//! Agents and their sessions as a REST API below `/api/agents`, for tools and clients that do
//! not speak Genkit's protocol.
//!
//! This module does not implement agents. Turns are runs of the agent's action. Snapshots are
//! read through its companion actions, which decide what a client may see. Only lists, trees
//! and deletion use the store directly.
//!
//! | request | answer |
//! | --- | --- |
//! | `GET /api/agents` | the agents that the caller may call |
//! | `GET …/{agent}` | one agent with its schemas |
//! | `POST …/{agent}/execute` | one turn, as JSON or as a stream of [`TurnEvent`]s |
//! | `GET …/{agent}/streams/{stream}` | the events of a recorded turn again |
//! | `GET …/{agent}/sessions` | a page of the caller's sessions |
//! | `GET`, `DELETE …/sessions/{session}` | one session; deletes it |
//! | `POST …/sessions/{session}/abort` | stops the detached work of the session |
//! | `POST …/sessions/{session}/fork` | a new session that begins with a snapshot of this one |
//! | `GET …/sessions/{session}/tree` | the snapshots and their parents |
//! | `GET …/snapshots/{snapshot}`, `…/diff` | one snapshot; what its turn has changed |
//!
//! A session or stream of another caller is answered like one that does not exist.
//! [`ExecuteBody`] and [`Events`] are public for servers that run agents of other processes,
//! such as the manager of the developer tools, and have to speak the same format.

mod agent;
mod event_shapes;
mod event_stream;
mod events;
mod execute;
mod execute_body;
mod fork;
mod route;
mod sessions;
mod snapshots;
mod turn_result;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::ALLOW;
use axum::http::request::Parts;
use axum::http::{HeaderValue, Response, StatusCode as HttpStatus};
use axum::routing::any;
use oxikit_core::Status;
use serde::Serialize;

use crate::app::{App, Slot};
use oxikit_http::Watch;
use oxikit_http::guarded;
use oxikit_http::reply::busy;
use oxikit_http::{HttpError, body, reply};
use route::{Place, Route};

pub(crate) use agent::{Agent, has_store};
pub use event_shapes::TurnEvent;
pub use events::{Events, StreamHead};
pub use execute_body::ExecuteBody;
#[cfg(feature = "dev-tools")]
pub(crate) use fork::fork;
pub(crate) use route::{ROOT, templates};
#[cfg(feature = "dev-tools")]
pub(crate) use sessions::{Page, delete, details, list};
pub use sessions::{activity, shown_state};

/// The routes of the API.
pub(crate) fn routes() -> Router<Arc<App>> {
    let mut router = Router::new();
    for below in ["", "/", "/{*rest}"] {
        router = router.route(&format!("{ROOT}{below}"), any(handle));
    }
    router
}

/// Handles a request with the same checks, log and limits as actions.
async fn handle(State(app): State<Arc<App>>, request: Request) -> Response<Body> {
    let (head, body) = request.into_parts();
    let mut watch = Watch::start(&head);
    let mut response = match app.edge.admit(&head, &app.registry) {
        Ok(()) => answer_or_refuse(&app, &head, body, &mut watch).await,
        Err(refused) => *refused,
    };
    app.edge.finish(&head.headers, &mut response);
    watch.answered(&response);
    response
}

/// Answers a request whose sender is allowed; failures are logged here, once.
async fn answer_or_refuse(
    app: &Arc<App>,
    head: &Parts,
    body: Body,
    watch: &mut Watch,
) -> Response<Body> {
    let Some(route) = Route::parse(head.uri.path()) else {
        watch.measure(app.metrics.as_ref().map(|metrics| &metrics.unmatched));
        return reply::error(&Status::not_found("there is nothing at this path"));
    };
    watch.measure(agent::meters(app, &route.agent));
    let action = route.action();
    let answer = guarded(answer(app, head, body, route, watch)).await;
    answer.unwrap_or_else(|failed| failed.report(&app.registry, &action))
}

async fn answer(
    app: &Arc<App>,
    head: &Parts,
    body: Body,
    route: Route,
    watch: &mut Watch,
) -> Result<Response<Body>, HttpError> {
    let action = route.action();
    let Route { agent, place } = route;
    if !place.allows(&head.method) {
        return Ok(wrong_method(&place));
    }
    let slot = Slot::take(app).ok_or_else(busy)?;
    if let Place::Agents = place {
        // Before the lookup, so that an unknown caller cannot find out which agents exist.
        let context = app.caller(head, None, &action).await?;
        return json(&agent::list(app, head, &context).await);
    }
    let context = app.caller(head, agent::exposed(app, &agent), &action).await?;
    let agent = Agent::find(app, &agent, context)?;
    match &place {
        Place::Agents | Place::Agent => json(&agent.details()),
        Place::Execute => execute::execute(app, head, body, agent, watch, slot).await,
        Place::Stream(id) => execute::read_again(app, head, agent, id, watch, slot).await,
        Place::Sessions => {
            let page = sessions::Page::parse(head.uri.query().unwrap_or_default())?;
            json(&sessions::list(&agent, page).await?)
        }
        Place::Session(id) if head.method == axum::http::Method::DELETE => {
            json(&sessions::delete(&agent, id).await?)
        }
        Place::Session(id) => json(&sessions::details(&agent, id).await?),
        Place::Abort(id) => {
            let body = read_json(app, head, body, watch).await?;
            json(&sessions::abort(&agent, id, &body).await?)
        }
        Place::Fork(id) => {
            let body = read_json(app, head, body, watch).await?;
            let snapshot = sessions::SnapshotBody::parse(&body)?.snapshot_id;
            json(&fork::fork(&agent, id, snapshot.as_deref()).await?)
        }
        Place::Tree(id) => json(&sessions::tree(&agent, id).await?),
        Place::Snapshot(session, id) => json(&snapshots::get(&agent, session, id).await?),
        Place::Diff(session, id) => json(&snapshots::diff(&agent, session, id).await?),
    }
}

/// Reads the body, within its limits. One that is not empty must be declared as JSON.
async fn read_json(
    app: &App,
    head: &Parts,
    body: Body,
    watch: &mut Watch,
) -> Result<bytes::Bytes, HttpError> {
    let body = body::read_json(&head.headers, body, &app.limits).await?;
    watch.read(body.len());
    Ok(body)
}

fn wrong_method(place: &Place) -> Response<Body> {
    let methods = place.allowed();
    let status = Status::invalid_argument(format!("this path takes {methods}"));
    let mut response = reply::error_with(HttpStatus::METHOD_NOT_ALLOWED, &status);
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(methods));
    response
}

fn json(answer: &impl Serialize) -> Result<Response<Body>, HttpError> {
    let body = serde_json::to_vec(answer).map_err(Status::from)?;
    Ok(reply::json_response(HttpStatus::OK, body))
}
