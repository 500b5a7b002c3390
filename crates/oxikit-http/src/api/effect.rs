//! Protection against cross-site request forgery: a request with an effect must have the media
//! type JSON, which a page of another site cannot send without a preflight request.
//!
//! The check runs after routing, so that a method that the path does not have is answered
//! with 405 in any case.

use std::future::{Ready, ready};
use std::task::{Context, Poll};

use axum::body::{Body, HttpBody};
use axum::extract::Request;
use axum::http::header::{ALLOW, CONTENT_TYPE};
use axum::http::{HeaderValue, Method, Response, StatusCode as HttpStatus};
use axum::response::IntoResponse;
use futures_util::future::Either;
use oxikit_core::Status;
use tower::{Layer, Service};

use crate::body::check_media_type;
use crate::error::HttpError;
use crate::reply::error_with;

/// A layer for routes that answers 415 to requests with an effect whose media type is not JSON. See
/// [`check_json`].
///
/// ```
/// use axum::Router;
/// use axum::routing::post;
/// use oxikit_http::api::EffectCheck;
///
/// let router: Router = Router::new()
///     .route("/stop", post(|| async { "stopped" }))
///     .route_layer(EffectCheck::default());
/// # _ = router;
/// ```
#[derive(Debug, Clone, Copy)]
pub struct EffectCheck {
    refuse: fn(HttpError) -> Response<Body>,
}

impl EffectCheck {
    /// A check for an API whose errors have another form than [`HttpError`].
    pub fn refusing_with(refuse: fn(HttpError) -> Response<Body>) -> Self {
        Self { refuse }
    }
}

impl Default for EffectCheck {
    fn default() -> Self {
        Self::refusing_with(IntoResponse::into_response)
    }
}

impl<S> Layer<S> for EffectCheck {
    type Service = CheckedEffect<S>;

    fn layer(&self, inner: S) -> CheckedEffect<S> {
        CheckedEffect { inner, check: *self }
    }
}

/// A service behind an [`EffectCheck`].
// Not `axum::middleware::from_fn`, which makes a copy of the service and two boxes for each request.
#[derive(Debug, Clone)]
pub struct CheckedEffect<S> {
    inner: S,
    check: EffectCheck,
}

impl<S: Service<Request, Response = Response<Body>>> Service<Request> for CheckedEffect<S> {
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = Either<S::Future, Ready<Result<Response<Body>, S::Error>>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        match check_json(&request) {
            Ok(()) => Either::Left(self.inner.call(request)),
            Err(refused) => Either::Right(ready(Ok((self.check.refuse)(refused)))),
        }
    }
}

/// Checks that a request with an effect has the media type JSON. `GET` and `HEAD` have none.
///
/// A missing type is refused too: a page can send a body without a type and without a
/// preflight request. For `DELETE` a browser always sends a preflight request, so a `DELETE`
/// without a body needs no type.
///
/// # Errors
///
/// 415, with the header to send.
pub fn check_json(request: &Request) -> Result<(), HttpError> {
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
    Err(HttpError::new(HttpStatus::UNSUPPORTED_MEDIA_TYPE, status))
}

/// The response 405, with the methods of the path in the header `Allow`.
pub fn wrong_method(method: &Method, allowed: &'static str) -> Response<Body> {
    let status = Status::invalid_argument(format!("this path takes {allowed}, not {method}"));
    let mut response = error_with(HttpStatus::METHOD_NOT_ALLOWED, &status);
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    response
}
