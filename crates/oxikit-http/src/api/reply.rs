//! JSON responses of an API.

use axum::http::StatusCode as HttpStatus;
use oxikit_core::Status;
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::HttpResult;
use crate::reply::json_response;

/// The response of a route that has no data to return: `{}`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Done {}

/// The response 200 with this value as JSON.
///
/// # Errors
///
/// If it cannot be written as JSON.
pub fn json(value: &impl Serialize) -> HttpResult {
    let body = serde_json::to_vec(value).map_err(Status::from)?;
    Ok(json_response(HttpStatus::OK, body))
}
