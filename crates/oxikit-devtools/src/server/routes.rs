//! The table of routes: it makes the router, the description of the API, and the
//! list that the attacks of the tests go through.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{Response, StatusCode as HttpStatus};
use axum::routing::{MethodRouter, get, post};
use oxikit_core::Status;
use oxikit_serve::inside::{error, error_with};

use super::api::{apps, info, runtimes};
use super::openapi;
use super::shared::Shared;

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

/// The routes of the API.
pub(crate) const ROUTES: &[Route] = &[
    read("/", "Says what this is", || get(info::page)),
    read("/api/v1/info", "The version, the project and the names of variables", || get(info::info)),
    read("/api/v1/runtimes", "The runtimes, oldest first", || get(runtimes::list)),
    read("/api/v1/runtimes/events", "The same, whenever it changes", || get(runtimes::events)),
    read("/api/v1/app", "How the application is", || get(apps::status)),
    act("/api/v1/app/restart", "Starts the application again", || post(apps::restart)),
    act("/api/v1/app/stop", "Ends the application", || post(apps::stop)),
    read("/api/v1/openapi.json", "This description", || get(openapi::document)),
];

/// Method and path of every route, for those who try them all.
#[doc(hidden)]
pub fn route_table() -> Vec<(&'static str, &'static str)> {
    ROUTES.iter().map(|route| (route.method, route.path)).collect()
}

/// All routes, ready to serve.
pub(crate) fn router(shared: Arc<Shared>) -> Router {
    let add =
        |router: Router<Arc<Shared>>, route: &Route| router.route(route.path, (route.handler)());
    ROUTES
        .iter()
        .fold(Router::new(), add)
        .method_not_allowed_fallback(wrong_method)
        .fallback(nowhere)
        .with_state(shared)
}

async fn nowhere() -> Response<Body> {
    error(&Status::not_found("there is nothing at this path"))
}

async fn wrong_method(request: Request) -> Response<Body> {
    let message = format!("this path does not take {}", request.method());
    error_with(HttpStatus::METHOD_NOT_ALLOWED, &Status::invalid_argument(message))
}
