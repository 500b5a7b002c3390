//! A JSON API as a table of routes that describe themselves.
//!
//! A route says its method, its path, its handler, and the types of its query, body and
//! response; the same table makes the router and the OpenAPI document. The extractors read
//! requests into the described types, and their errors name what was wrong.
//!
//! ```
//! use axum::routing::get;
//! use oxikit_http::HttpResult;
//! use oxikit_http::api::{Query, Route, RuntimeQuery, json, route, router};
//!
//! async fn list(Query(query): Query<RuntimeQuery>) -> HttpResult {
//!     json(&query.runtime)
//! }
//!
//! const ROUTES: &[Route<()>] = &[
//!     route("GET", "/actions", "listActions", "The actions of a runtime", || get(list))
//!         .query::<RuntimeQuery>()
//!         .answers::<Option<String>>(),
//! ];
//!
//! let app: axum::Router = router(ROUTES);
//! assert_eq!(ROUTES[0].about.unwrap().id, "listActions");
//! # _ = app;
//! ```

mod components;
mod effect;
mod objects;
mod openapi;
mod query;
mod reply;
mod request;
mod route;

pub use effect::{CheckedEffect, EffectCheck, check_json, wrong_method};
pub use objects::{object as object_member, objects, some_object, some_objects};
pub use openapi::{DescribedRoute, OpenApi, StatusMeaning};
pub use query::{Limit, Query, Seconds, elapsed, non_empty};
pub use reply::{Done, json};
pub use request::{
    FollowQuery, JsonText, Nothing, Path, RuntimeQuery, exact_object, object, query as query_value,
};
pub use route::{About, Describe, Draft, Failures, Route, official, route, router};
