//! Agents and their sessions as a REST API, for tools and other clients that are
//! no Genkit client: `/api/agents` and what is below it.
//!
//! Nothing here knows how an agent works. Turns are runs of the agent's action;
//! content of snapshots is read through its companion actions, which decide what
//! a client may see; only lists, trees and deletion go to the store itself.

mod agent;
mod event_shapes;
mod event_stream;
mod events;
mod execute;
mod execute_body;
mod fork;
mod openapi;
mod route;
mod sessions;
mod snapshots;

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

use crate::access_log::Watch;
use crate::action_http::{App, Slot, busy};
use crate::gate::Gate;
use crate::panic_guard::guarded;
use crate::reply::{self, Failed};
use crate::request;
use route::{Place, Route};

pub(crate) use agent::{Agent, AgentScope};
pub use event_shapes::TurnEvent;
pub use events::{Events, StreamHead};
pub use execute_body::ExecuteBody;
#[cfg(feature = "dev-tools")]
pub(crate) use fork::fork;
pub(crate) use openapi::{TAG, add_paths};
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

/// Behind the same gate, log and guard as actions.
async fn handle(State(app): State<Arc<App>>, request: Request) -> Response<Body> {
    let (head, body) = request.into_parts();
    let mut watch = Watch::start(&head);
    let is_preflight = Gate::is_preflight(&head.method, &head.headers);
    let mut response = match app.gate.check(&head.uri, &head.headers) {
        Err(status) => Failed::from(status).report(&app.registry, head.uri.path()),
        Ok(()) if is_preflight => reply::json_response(HttpStatus::NO_CONTENT, Body::empty()),
        Ok(()) => answer_or_refuse(&app, &head, body, &mut watch).await,
    };
    app.gate.add_cors(&head.headers, response.headers_mut(), is_preflight);
    watch.answered(&response);
    response
}

async fn answer_or_refuse(
    app: &Arc<App>,
    head: &Parts,
    body: Body,
    watch: &mut Watch,
) -> Response<Body> {
    let Some(route) = Route::parse(head.uri.path()) else {
        watch.measure(app.metrics.as_ref().map(|metrics| &metrics.nowhere));
        return reply::error(&Status::not_found("there is nothing at this path"));
    };
    watch.measure(app.agents.meters(app, &route.agent));
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
) -> Result<Response<Body>, Failed> {
    let action = route.action();
    let Route { agent, place } = route;
    if !place.allows(&head.method) {
        return Ok(wrong_method(&place));
    }
    let slot = Slot::take(app).ok_or_else(busy)?;
    if let Place::Agents = place {
        // A stranger learns nothing, not even which agents there are.
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

/// The body, within its limits. One that is not empty says that it is JSON.
async fn read_json(
    app: &App,
    head: &Parts,
    body: Body,
    watch: &mut Watch,
) -> Result<bytes::Bytes, Failed> {
    let body = request::read_json(&head.headers, body, &app.limits).await?;
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

fn json(answer: &impl Serialize) -> Result<Response<Body>, Failed> {
    let body = serde_json::to_vec(answer).map_err(Status::from)?;
    Ok(reply::json_response(HttpStatus::OK, body))
}
