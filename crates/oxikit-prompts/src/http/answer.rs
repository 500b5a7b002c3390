//! Successful responses, and the checks that all routes share.

use axum::http::{Method, StatusCode as HttpStatus};
use axum::response::IntoResponse;
use oxikit_core::Status;
use oxikit_http::api::EffectCheck;
use oxikit_http::reply::json_response;
use serde::Serialize;

use super::failure::{Answer, Failure};

/// The response 200 with this value.
pub(crate) fn json(value: &impl Serialize) -> Answer {
    json_with(HttpStatus::OK, value)
}

/// A response with this status and value.
pub(crate) fn json_with(http: HttpStatus, value: &impl Serialize) -> Answer {
    let body = serde_json::to_vec(value).map_err(Status::from)?;
    Ok(json_response(http, body))
}

/// The layer that answers 415 to requests with an effect whose media type is not JSON, which a page
/// of another site could send without a preflight request.
pub(crate) fn effect_check() -> EffectCheck {
    EffectCheck::refusing_with(|refused| Failure::from(refused).into_response())
}

/// The response 405. The router adds the header `Allow`.
pub(crate) async fn wrong_method(method: Method) -> Failure {
    let text = format!("this path does not take {method}; `Allow` lists what it takes");
    Failure::new(HttpStatus::METHOD_NOT_ALLOWED, text)
}

/// The response 404 to an unknown path.
pub(crate) async fn nowhere() -> Failure {
    Failure::new(HttpStatus::NOT_FOUND, "there is nothing at this path")
}
