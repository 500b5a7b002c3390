//! The last gate: effects come only with a type that a foreign page cannot send without
//! its browser asking first.
//!
//! It stands behind the table of routes: a method that a path does not have is told
//! first, whatever comes with it.

use axum::body::{Body, HttpBody};
use axum::extract::Request;
use axum::http::header::{ALLOW, CONTENT_TYPE};
use axum::http::{HeaderValue, Method, Response, StatusCode as HttpStatus};
use axum::middleware::Next;
use oxikit_core::Status;
use oxikit_serve::inside::{Refusal, check_media_type, error_with};

/// Refuses what has an effect and does not say that it is JSON.
pub(crate) async fn check_effect(request: Request, next: Next) -> Response<Body> {
    match check(&request) {
        Ok(()) => next.run(request).await,
        Err((http, status)) => error_with(http, &status),
    }
}

/// "Missing" is not JSON: a page can send a body without a type, and without its
/// browser asking. For `DELETE` a browser always asks, so that one without a body needs
/// no type.
pub(crate) fn check(request: &Request) -> Result<(), Refusal> {
    let has_effect = !matches!(*request.method(), Method::GET | Method::HEAD);
    let is_bare = *request.method() == Method::DELETE && request.body().is_end_stream();
    if !has_effect || (is_bare && !request.headers().contains_key(CONTENT_TYPE)) {
        return Ok(());
    }
    check_media_type(request.headers())?;
    if request.headers().contains_key(CONTENT_TYPE) {
        return Ok(());
    }
    let status = Status::invalid_argument("send the header `content-type: application/json`");
    Err((HttpStatus::UNSUPPORTED_MEDIA_TYPE, status))
}

/// 405 with the methods of the path.
pub(crate) fn wrong_method(method: &Method, allowed: &'static str) -> Response<Body> {
    let status = Status::invalid_argument(format!("this path takes {allowed}, not {method}"));
    let mut response = error_with(HttpStatus::METHOD_NOT_ALLOWED, &status);
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    response
}
