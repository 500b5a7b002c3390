//! The table of routes. It makes the router and the OpenAPI document, and tests attack each of
//! its routes.
//!
//! A new route is one entry of [`ROUTES`]: method, path, operation id, description and handler, then
//! the types of its query, body and response. The further methods of the entry say which errors it
//! can have (`finds` 404, `uses_store` errors of the database, `asks_runtime` errors of a runtime),
//! which only changes the document. Routes of the official tools have no description, because their
//! own documentation describes them.

use std::sync::{Arc, LazyLock};

use axum::Router;
use axum::body::Body;
use axum::http::{Method, Response, StatusCode as HttpStatus};
use axum::routing::{MethodRouter, any, delete, get, patch, post};
use bytes::Bytes;
use oxikit_core::Status;
use oxikit_http::reply::{error, error_with, json_response};
use oxikit_serve::agents_api::TurnEvent;
use oxikit_wire::{
    ActionDescriptor, AgentDetails, AgentList, ExecuteRequest, ExecuteResponse, JsonObject,
    SessionAborted, SessionDeleted, SessionDetails, SessionForked, SessionSnapshot,
};
use serde_json::Value;

use super::api::{
    a2a, actions, apps, datasets, doctor, evaluations, events, info, runs, runtimes, sign_in,
};
use super::gate::SIGN_IN_PATH;
use super::openapi::OPEN_API;
use super::shared::Shared;
use super::trpc::procedures;
use super::{AppStatus, agents, bridge, official as tools, shapes, trpc};
use oxikit_evaluation::{
    DatasetChange, DatasetInfo, EvalRun, EvalRunKey, Extracted, Imported, NewDataset, RunRequest,
    ValidateRequest, Validity,
};
use oxikit_http::api::Done;
use oxikit_http::api::EffectCheck;
use oxikit_http::api::{self, DescribedRoute, Route, official, route};
use oxikit_http::api::{FollowQuery, Nothing, RuntimeQuery};
use oxikit_prompts::{page_routes, prompt_route_table};
use oxikit_traces::{TRACE_ROUTES, trace_routes};

/// The beginning of the paths of the developer tools' own API.
const V1: &str = "/api/v1";

type Draft = oxikit_http::api::Draft<Arc<Shared>>;
type Handler = fn() -> MethodRouter<Arc<Shared>>;

/// A route that reads.
const fn read(path: &'static str, id: &'static str, about: &'static str, to: Handler) -> Draft {
    route("GET", path, id, about, to)
}

/// A route with an effect.
const fn act(path: &'static str, id: &'static str, about: &'static str, to: Handler) -> Draft {
    route("POST", path, id, about, to)
}

/// A route that changes something.
const fn change(path: &'static str, id: &'static str, about: &'static str, to: Handler) -> Draft {
    route("PATCH", path, id, about, to)
}

/// A route that deletes something.
const fn remove(path: &'static str, id: &'static str, about: &'static str, to: Handler) -> Draft {
    route("DELETE", path, id, about, to)
}

/// The routes of the API.
const ROUTES: &[Route<Arc<Shared>>] = &[
    read("/api/v1/info", "getInfo", "The version, the project and the names of variables", || {
        get(info::info)
    })
    .answers::<info::Info>(),
    read("/api/v1/doctor", "examine", "The findings of `oxikit doctor`", || get(doctor::examine))
        .needs_app()
        .answers::<doctor::Findings>(),
    act(SIGN_IN_PATH, "signIn", "Exchanges a one-time code for a cookie; needs no token", || {
        post(sign_in::sign_in)
    })
    .takes::<sign_in::SignInRequest>()
    .answers::<Done>(),
    act("/api/v1/sign-out", "signOut", "Ends the cookie of a browser", || post(sign_in::sign_out))
        .takes::<Nothing>()
        .answers::<Done>(),
    act(
        "/api/v1/sign-in/codes",
        "createCode",
        "Makes a one-time code with which a browser signs in",
        || post(sign_in::create_code),
    )
    .takes::<Nothing>()
    .answers::<sign_in::NewCode>(),
    read("/api/v1/events", "watchChanges", "Everything that changes, from now on", || {
        get(events::follow)
    })
    .query::<events::EventsQuery>()
    .streams::<events::FeedEvent>(),
    read("/api/v1/runtimes", "listRuntimes", "The runtimes, oldest first", || get(runtimes::list))
        .answers::<runtimes::RuntimeList>(),
    read(
        "/api/v1/runtimes/events",
        "watchRuntimes",
        "The list of runtimes, now and whenever it changes",
        || get(runtimes::events),
    )
    .query::<FollowQuery>()
    .streams::<runtimes::RuntimesEvent>(),
    read("/api/v1/actions", "listActions", "The actions of a runtime", || get(actions::list))
        .query::<RuntimeQuery>()
        .asks_runtime()
        .answers::<actions::ActionList>(),
    read("/api/v1/actions/{*key}", "getAction", "One action", || get(actions::get))
        .query::<RuntimeQuery>()
        .asks_runtime()
        .answers::<ActionDescriptor>(),
    read("/api/v1/values/{type}", "listValues", "Values of a runtime that are not actions", || {
        get(actions::values)
    })
    .query::<RuntimeQuery>()
    .asks_runtime()
    .answers::<JsonObject>(),
    act("/api/v1/run", "runAction", "Runs an action to its end", || post(runs::run))
        .query::<RuntimeQuery>()
        .takes::<shapes::RunRequest>()
        .asks_runtime()
        .names_trace()
        .answers::<shapes::RunEnd>(),
    act("/api/v1/stream", "streamAction", "Runs an action and streams its chunks", || {
        post(runs::stream)
    })
    .query::<runs::StreamQuery>()
    .takes::<shapes::RunRequest>()
    .asks_runtime()
    .names_trace()
    .streams::<shapes::RunEvent>(),
    act("/api/v1/runs/{traceId}/cancel", "cancelRun", "Cancels a run", || post(runs::cancel))
        .query::<RuntimeQuery>()
        .takes::<Nothing>()
        .asks_runtime()
        .answers::<runs::Cancelled>(),
    act("/api/v1/runs/{traceId}/input", "sendRunInput", "Sends an input to a run", || {
        post(runs::input)
    })
    .takes::<Value>()
    .asks_runtime()
    .answers::<Done>(),
    act("/api/v1/runs/{traceId}/end-input", "endRunInput", "Ends the inputs of a run", || {
        post(runs::end_input)
    })
    .takes::<Nothing>()
    .asks_runtime()
    .answers::<Done>(),
    read("/api/v1/app", "getApp", "The status of the application", || get(apps::status))
        .needs_app()
        .answers::<AppStatus>(),
    act("/api/v1/app/restart", "restartApp", "Restarts the application", || post(apps::restart))
        .takes::<Nothing>()
        .needs_app()
        .answers::<AppStatus>(),
    act("/api/v1/app/stop", "stopApp", "Stops the application", || post(apps::stop))
        .takes::<Nothing>()
        .needs_app()
        .answers::<AppStatus>(),
    read("/api/v1/datasets", "listDatasets", "The data sets", || get(datasets::list))
        .uses_store()
        .answers::<datasets::DatasetList>(),
    act("/api/v1/datasets", "createDataset", "Creates a data set", || post(datasets::create))
        .takes::<NewDataset>()
        .uses_store()
        .answers::<DatasetInfo>(),
    read("/api/v1/datasets/{dataset}", "getDataset", "One data set with its samples", || {
        get(datasets::get)
    })
    .finds()
    .uses_store()
    .answers::<datasets::Dataset>(),
    change(
        "/api/v1/datasets/{dataset}",
        "updateDataset",
        "Changes a data set and its samples",
        || patch(datasets::update),
    )
    .takes::<DatasetChange>()
    .finds()
    .uses_store()
    .answers::<DatasetInfo>(),
    remove("/api/v1/datasets/{dataset}", "deleteDataset", "Deletes a data set", || {
        delete(datasets::delete)
    })
    .finds()
    .uses_store()
    .answers::<Done>(),
    read("/api/v1/evaluations", "listEvaluations", "Evaluations, newest first", || {
        get(evaluations::list)
    })
    .query::<evaluations::ListQuery>()
    .uses_store()
    .answers::<evaluations::EvaluationList>(),
    act(
        "/api/v1/evaluations",
        "runEvaluation",
        "Runs an action on data and calls evaluators",
        || post(evaluations::run),
    )
    .takes::<RunRequest>()
    .uses_store()
    .asks_runtime()
    .answers::<EvalRunKey>(),
    act(
        "/api/v1/evaluations/stream",
        "streamEvaluation",
        "Makes an evaluation and streams its progress",
        || post(evaluations::stream),
    )
    .takes::<RunRequest>()
    .streams::<evaluations::EvaluationEvent>(),
    act(
        "/api/v1/evaluations/validate",
        "validateData",
        "Validates data against the schema of an action",
        || post(evaluations::validate),
    )
    .takes::<ValidateRequest>()
    .uses_store()
    .asks_runtime()
    .answers::<Validity>(),
    act(
        "/api/v1/evaluations/import",
        "importEvaluations",
        "Imports data sets and evaluations of the official tools",
        || post(evaluations::import),
    )
    .takes::<Nothing>()
    .uses_store()
    .answers::<Imported>(),
    read(
        "/api/v1/evaluations/extract",
        "extractCases",
        "Makes cases from the traces of a flow",
        || get(evaluations::extract),
    )
    .query::<evaluations::ExtractQuery>()
    .uses_store()
    .answers::<Extracted>(),
    read("/api/v1/evaluations/{evaluation}", "getEvaluation", "One evaluation", || {
        get(evaluations::get)
    })
    .finds()
    .uses_store()
    .answers::<EvalRun>(),
    remove("/api/v1/evaluations/{evaluation}", "deleteEvaluation", "Deletes an evaluation", || {
        delete(evaluations::delete)
    })
    .finds()
    .uses_store()
    .answers::<Done>(),
    act("/api/v1/a2a/card", "readAgentCard", "The card of an A2A agent, and its faults", || {
        post(a2a::card)
    })
    .takes::<a2a::A2aRequest>()
    .asks_runtime()
    .answers::<a2a::FoundAgent>(),
    act("/api/v1/a2a/send", "sendToAgent", "Sends a message to an A2A agent", || post(a2a::send))
        .takes::<a2a::A2aRequest>()
        .streams::<a2a::A2aEvent>(),
    act("/api/v1/a2a/subscribe", "followAgentTask", "The events of a task of an A2A agent", || {
        post(a2a::subscribe)
    })
    .takes::<a2a::A2aRequest>()
    .streams::<a2a::A2aEvent>(),
    act("/api/v1/a2a/task", "getAgentTask", "A task of an A2A agent", || post(a2a::task))
        .takes::<a2a::A2aRequest>()
        .asks_runtime()
        .answers::<a2a::FoundTask>(),
    act("/api/v1/a2a/cancel", "cancelAgentTask", "Cancels a task of an A2A agent", || {
        post(a2a::cancel)
    })
    .takes::<a2a::A2aRequest>()
    .asks_runtime()
    .answers::<a2a::FoundTask>(),
    read("/api/v1/openapi.json", "getOpenapi", "This OpenAPI document", || get(openapi_document))
        .answers::<JsonObject>(),
    read("/api/agents", "listAgents", "The agents of a runtime", || get(agents::list))
        .query::<RuntimeQuery>()
        .asks_runtime()
        .answers::<AgentList>(),
    read("/api/agents/{agent}", "getAgent", "One agent with its schemas", || get(agents::details))
        .query::<agents::AgentQuery>()
        .asks_runtime()
        .answers::<AgentDetails>(),
    act("/api/agents/{agent}/execute", "executeTurn", "Executes a turn", || post(agents::execute))
        .query::<agents::AgentQuery>()
        .takes::<ExecuteRequest>()
        .asks_runtime()
        .names_trace()
        .answers_or_streams::<ExecuteResponse, TurnEvent>(),
    read(
        "/api/agents/{agent}/snapshot",
        "getSnapshot",
        "The latest snapshot of a session, or one by its id; leaves no trace",
        || get(agents::snapshot),
    )
    .query::<agents::SnapshotQuery>()
    .asks_runtime()
    .answers::<SessionSnapshot>(),
    read("/api/agents/{agent}/sessions", "listSessions", "Sessions", || get(agents::list_sessions))
        .query::<agents::SessionsQuery>()
        .asks_runtime()
        .answers::<agents::SessionPage>(),
    read("/api/agents/{agent}/sessions/{session}", "getSession", "One session", || {
        get(agents::session)
    })
    .query::<agents::AgentQuery>()
    .asks_runtime()
    .answers::<SessionDetails>(),
    remove("/api/agents/{agent}/sessions/{session}", "deleteSession", "Deletes a session", || {
        delete(agents::delete_session)
    })
    .query::<agents::AgentQuery>()
    .asks_runtime()
    .answers::<SessionDeleted>(),
    act(
        "/api/agents/{agent}/sessions/{session}/abort",
        "abortSession",
        "Aborts the turn of a session",
        || post(agents::abort),
    )
    .query::<agents::AgentQuery>()
    .takes::<Nothing>()
    .asks_runtime()
    .answers::<SessionAborted>(),
    act("/api/agents/{agent}/sessions/{session}/fork", "forkSession", "Forks a session", || {
        post(agents::fork)
    })
    .query::<agents::AgentQuery>()
    .takes::<agents::ForkBody>()
    .asks_runtime()
    .answers::<SessionForked>(),
    official("POST", "/api/runAction", || post(tools::run)),
    official("POST", "/api/streamAction", || post(tools::stream)),
    official("POST", "/api/sendBidiInput", || post(tools::send_input)),
    official("POST", "/api/endBidiInput", || post(tools::end_input)),
    official("POST", "/api/streamTrace", || post(tools::stream_trace)),
    official("GET", "/api/__health", || get(tools::health)),
    official("POST", "/api/__quitquitquit", || post(tools::quit)),
    official("GET", "/reflection/{runtime}/api/__health", || get(bridge::health)),
    official("GET", "/reflection/{runtime}/api/actions", || get(bridge::actions)),
    official("GET", "/reflection/{runtime}/api/values", || get(bridge::values)),
    official("POST", "/reflection/{runtime}/api/notify", || post(bridge::notify)),
    official("POST", "/reflection/{runtime}/api/runAction", || post(bridge::run)),
    official("POST", "/reflection/{runtime}/api/cancelAction", || post(bridge::cancel)),
];

/// The text of the OpenAPI document, made at the first request: nothing in it depends on the process.
static OPENAPI: LazyLock<Bytes> = LazyLock::new(|| openapi().to_string().into());

/// The OpenAPI document of the developer tools' own API, which `GET /api/v1/openapi.json` sends.
///
/// ```
/// assert_eq!(oxikit_devtools::openapi()["openapi"], "3.1.0");
/// ```
pub fn openapi() -> Value {
    OPEN_API.describe(described())
}

/// `GET /api/v1/openapi.json`. It is here and not in `openapi` because it needs the table
/// that it is itself a part of.
async fn openapi_document() -> Response<Body> {
    json_response(HttpStatus::OK, OPENAPI.clone())
}

/// The routes of this table and of traces that the OpenAPI document describes.
fn described() -> impl Iterator<Item = DescribedRoute> {
    let own = ROUTES.iter().filter_map(|route| {
        let (method, path) = (route.method, route.path.to_owned());
        route.about.map(|about| DescribedRoute { method, path, about })
    });
    let traces = TRACE_ROUTES.iter().filter_map(|route| {
        let (method, path) = (route.method, format!("{V1}{}", route.path));
        route.about.map(|about| DescribedRoute { method, path, about })
    });
    own.chain(traces)
}

/// Method and path of every route and procedure, for tests that call all of them.
#[doc(hidden)]
pub fn route_table() -> Vec<(&'static str, String)> {
    let own = ROUTES.iter().map(|route| (route.method, route.path.to_owned()));
    let traces = TRACE_ROUTES.iter().map(|route| (route.method, format!("{V1}{}", route.path)));
    let procedures = procedures().map(|(name, verb)| (verb.method(), format!("/api/{name}")));
    let prompts = prompt_route_table().into_iter().map(|(method, path)| (method, path.to_owned()));
    own.chain(traces).chain(procedures).chain(prompts).collect()
}

/// All routes, ready to serve.
pub(crate) fn router(shared: Arc<Shared>) -> Router {
    let traces = trace_routes(shared.traces.clone(), &shared.options.root);
    let prompts = shared.prompts.router().merge(page_routes());
    // `route_layer` applies to the routes above it only: procedures and the routes of prompts check
    // their content type themselves, after their method, and have errors of their own form. `layer`
    // applies to everything.
    api::router(ROUTES)
        .nest(V1, traces.with_state(()))
        .route_layer(EffectCheck::default())
        .route("/api/{procedures}", any(trpc::call))
        .method_not_allowed_fallback(wrong_method)
        .merge(prompts.with_state(()))
        .fallback(nowhere)
        .with_state(shared)
}

/// The response 404 to an unknown path. It is sent after the checks, so it needs the token.
async fn nowhere() -> Response<Body> {
    error(&Status::not_found("there is nothing at this path"))
}

/// The response 405. The router adds the header `Allow`.
async fn wrong_method(method: Method) -> Response<Body> {
    let message = format!("this path does not take {method}; `Allow` lists what it takes");
    error_with(HttpStatus::METHOD_NOT_ALLOWED, &Status::invalid_argument(message))
}
