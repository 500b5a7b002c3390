//! The table of routes: it makes the router, the description of the API, and the
//! list that the attacks of the tests go through.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{Method, Response, StatusCode as HttpStatus};
use axum::middleware::from_fn;
use axum::routing::{MethodRouter, any, delete, get, patch, post};
use oxikit_core::Status;
use oxikit_serve::inside::{error, error_with};

use super::api::{actions, apps, datasets, evaluations, info, runs, runtimes};
use super::effect::check_effect;
use super::openapi;
use super::shared::Shared;
use super::trpc::procedures;
use super::{agents, bridge, official, trpc};
use crate::telemetry::{TRACE_ROUTES, trace_routes};

/// What the paths of our own API begin with.
const V1: &str = "/api/v1";

/// One route.
pub(crate) struct Route {
    /// Such as `GET`.
    pub(crate) method: &'static str,
    /// Such as `/api/v1/actions/{*key}`.
    pub(crate) path: &'static str,
    /// What it does, in a line.
    pub(crate) summary: &'static str,
    handler: fn() -> MethodRouter<Arc<Shared>>,
}

/// Reads.
const fn read(
    path: &'static str,
    summary: &'static str,
    handler: fn() -> MethodRouter<Arc<Shared>>,
) -> Route {
    Route { method: "GET", path, summary, handler }
}

/// Has an effect.
const fn act(
    path: &'static str,
    summary: &'static str,
    handler: fn() -> MethodRouter<Arc<Shared>>,
) -> Route {
    Route { method: "POST", path, summary, handler }
}

/// Changes something.
const fn change(
    path: &'static str,
    summary: &'static str,
    handler: fn() -> MethodRouter<Arc<Shared>>,
) -> Route {
    Route { method: "PATCH", path, summary, handler }
}

/// Removes something.
const fn remove(
    path: &'static str,
    summary: &'static str,
    handler: fn() -> MethodRouter<Arc<Shared>>,
) -> Route {
    Route { method: "DELETE", path, summary, handler }
}

/// The routes of the API.
pub(crate) const ROUTES: &[Route] = &[
    read("/", "Says what this is", || get(info::page)),
    read("/api/v1/info", "The version, the project and the names of variables", || get(info::info)),
    read("/api/v1/runtimes", "The runtimes, oldest first", || get(runtimes::list)),
    read("/api/v1/runtimes/events", "The same, whenever it changes", || get(runtimes::events)),
    read("/api/v1/actions", "What a runtime offers", || get(actions::list)),
    read("/api/v1/actions/{*key}", "One action", || get(actions::get)),
    read("/api/v1/values/{type}", "Values that are no actions", || get(actions::values)),
    act("/api/v1/run", "Runs an action to its end", || post(runs::run)),
    act("/api/v1/stream", "Runs an action and tells its chunks", || post(runs::stream)),
    act("/api/v1/runs/{traceId}/cancel", "Cancels a run", || post(runs::cancel)),
    act("/api/v1/runs/{traceId}/input", "Sends an input to a run", || post(runs::input)),
    act("/api/v1/runs/{traceId}/end-input", "Ends the inputs of a run", || post(runs::end_input)),
    read("/api/v1/app", "How the application is", || get(apps::status)),
    act("/api/v1/app/restart", "Starts the application again", || post(apps::restart)),
    act("/api/v1/app/stop", "Ends the application", || post(apps::stop)),
    read("/api/v1/datasets", "The data sets", || get(datasets::list)),
    act("/api/v1/datasets", "Makes a data set", || post(datasets::create)),
    read("/api/v1/datasets/{dataset}", "One data set with its samples", || get(datasets::get)),
    change("/api/v1/datasets/{dataset}", "Adds samples, changes the rest", || {
        patch(datasets::update)
    }),
    remove("/api/v1/datasets/{dataset}", "Removes a data set", || delete(datasets::delete)),
    read("/api/v1/evaluations", "Evaluations, newest first", || get(evaluations::list)),
    act("/api/v1/evaluations", "Runs an action on data and asks evaluators", || {
        post(evaluations::run)
    }),
    act("/api/v1/evaluations/stream", "The same, and tells how it goes", || {
        post(evaluations::stream)
    }),
    act("/api/v1/evaluations/validate", "Holds data against the schema of an action", || {
        post(evaluations::validate)
    }),
    act(
        "/api/v1/evaluations/import",
        "Takes over data sets and evaluations of the official tools",
        || post(evaluations::import),
    ),
    read("/api/v1/evaluations/extract", "Makes cases out of the traces of a flow", || {
        get(evaluations::extract)
    }),
    read("/api/v1/evaluations/{evaluation}", "One evaluation", || get(evaluations::get)),
    remove("/api/v1/evaluations/{evaluation}", "Removes an evaluation", || {
        delete(evaluations::delete)
    }),
    read("/api/v1/openapi.json", "This description", || get(openapi::document)),
    read("/api/agents", "The agents of a runtime", || get(agents::list)),
    read("/api/agents/{agent}", "One agent with its schemas", || get(agents::details)),
    act("/api/agents/{agent}/execute", "One turn", || post(agents::execute)),
    read("/api/agents/{agent}/sessions", "Sessions", || get(agents::list_sessions)),
    read("/api/agents/{agent}/sessions/{session}", "One session", || get(agents::session)),
    remove("/api/agents/{agent}/sessions/{session}", "Removes a session", || {
        delete(agents::delete_session)
    }),
    act("/api/agents/{agent}/sessions/{session}/abort", "Stops the work of a session", || {
        post(agents::abort)
    }),
    act("/api/agents/{agent}/sessions/{session}/fork", "Makes a new session of one", || {
        post(agents::fork)
    }),
    act("/api/runAction", "Runs an action", || post(official::run)),
    act("/api/streamAction", "Runs an action, line by line", || post(official::stream)),
    act("/api/sendBidiInput", "Sends an input", || post(official::send_input)),
    act("/api/endBidiInput", "Ends the inputs", || post(official::end_input)),
    act("/api/streamTrace", "Tells the spans of a trace", || post(official::stream_trace)),
    read("/api/__health", "Answers", || get(official::health)),
    act("/api/__quitquitquit", "Ends the tools", || post(official::quit)),
    read("/reflection/{runtime}/api/__health", "Answers for a runtime", || get(bridge::health)),
    read("/reflection/{runtime}/api/actions", "What it offers", || get(bridge::actions)),
    read("/reflection/{runtime}/api/values", "Its values", || get(bridge::values)),
    act("/reflection/{runtime}/api/notify", "Taken and ignored", || post(bridge::notify)),
    act("/reflection/{runtime}/api/runAction", "Runs an action of it", || post(bridge::run)),
    act("/reflection/{runtime}/api/cancelAction", "Cancels a run of it", || post(bridge::cancel)),
];

/// A route as others see it: method, path and summary.
pub(crate) type Described = (&'static str, String, &'static str);

/// All routes of our own: those of this table and those of traces.
pub(crate) fn described() -> impl Iterator<Item = Described> {
    let own = ROUTES.iter().map(|route| (route.method, route.path.to_owned(), route.summary));
    let traces = TRACE_ROUTES.iter();
    own.chain(traces.map(|route| (route.method, format!("{V1}{}", route.path), route.summary)))
}

/// Method and path of every route and procedure, for those who try them all.
#[doc(hidden)]
pub fn route_table() -> Vec<(&'static str, String)> {
    let procedures = procedures().map(|(name, verb)| (verb.method(), format!("/api/{name}")));
    described().map(|(method, path, _)| (method, path)).chain(procedures).collect()
}

/// All routes, ready to serve.
pub(crate) fn router(shared: Arc<Shared>) -> Router {
    let add =
        |router: Router<Arc<Shared>>, route: &Route| router.route(route.path, (route.handler)());
    let traces = trace_routes(shared.traces.clone(), &shared.options.root);
    ROUTES
        .iter()
        .fold(Router::new(), add)
        .nest(V1, traces.with_state(()))
        .route_layer(from_fn(check_effect))
        .route("/api/{procedures}", any(trpc::call))
        .method_not_allowed_fallback(wrong_method)
        .fallback(nowhere)
        .with_state(shared)
}

async fn nowhere() -> Response<Body> {
    error(&Status::not_found("there is nothing at this path"))
}

/// The methods of the path are added by the router.
async fn wrong_method(method: Method) -> Response<Body> {
    let message = format!("this path does not take {method}; `Allow` lists what it takes");
    error_with(HttpStatus::METHOD_NOT_ALLOWED, &Status::invalid_argument(message))
}
