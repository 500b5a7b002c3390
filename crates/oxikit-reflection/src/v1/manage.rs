//! All routes except `runAction`: health, lists, settings and cancellation.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, Response, StatusCode as HttpStatus, Uri};
use oxikit_core::Status;
use oxikit_wire::rpc::{
    CancelActionParams, CancelActionResult, ErrorReply, NotifyParams, REFLECTION_API_SPEC_VERSION,
};
use percent_encoding::percent_decode_str;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Reflection;
use crate::identity;
use oxikit_http::reply;
use oxikit_http::{HttpError, body};

/// Whether this runtime is healthy, and has the id in the query if there is one.
pub(super) async fn health(State(reflection): State<Reflection>, uri: Uri) -> Response<Body> {
    match parameter(&uri, "id") {
        Some(id) if id != *reflection.id => {
            text(HttpStatus::SERVICE_UNAVAILABLE, "Invalid runtime ID")
        }
        _ => text(HttpStatus::OK, "OK"),
    }
}

/// Shuts the reflection server down; the application continues.
pub(super) async fn quit(State(reflection): State<Reflection>) -> Response<Body> {
    reflection.quit.cancel();
    text(HttpStatus::OK, "OK")
}

/// The environments of the runtime.
pub(super) async fn envs() -> Response<Body> {
    json(HttpStatus::OK, &["dev"])
}

/// A manager sends its protocol version and the URL for spans.
pub(super) async fn notify(
    State(reflection): State<Reflection>,
    request: Request,
) -> Response<Body> {
    let notice: NotifyParams = match read(&reflection, request).await {
        Ok(notice) => notice,
        Err(error) => return refused(error.http(), error.status().message()),
    };
    if let Some(version) = notice.reflection_api_spec_version
        && version != REFLECTION_API_SPEC_VERSION
    {
        let ours = REFLECTION_API_SPEC_VERSION;
        tracing::warn!(theirs = version, ours, "the developer tools use another protocol version");
    }
    if let (Some(exporter), Some(url)) = (&reflection.telemetry, notice.telemetry_server_url)
        && let Err(status) = exporter.set_server(url)
    {
        tracing::warn!(%status, "the developer tools sent an invalid URL of a telemetry server");
    }
    text(HttpStatus::OK, "OK")
}

/// Lists the actions by key.
pub(super) async fn actions(State(reflection): State<Reflection>) -> Response<Body> {
    json(HttpStatus::OK, &identity::actions(reflection.runs.registry()).await)
}

/// Lists the values of the kind in the query parameter `type`.
pub(super) async fn values(State(reflection): State<Reflection>, uri: Uri) -> Response<Body> {
    let Some(kind) = parameter(&uri, "type") else {
        return text(HttpStatus::BAD_REQUEST, "Query parameter \"type\" is required.");
    };
    match identity::values(reflection.runs.registry(), &kind) {
        Some(values) => json(HttpStatus::OK, &values),
        None => {
            let known = "Only 'defaultModel' and 'middleware' are supported";
            text(HttpStatus::BAD_REQUEST, format!("'type' {kind} is not supported. {known}"))
        }
    }
}

/// Cancels the run with the `traceId` in the body.
pub(super) async fn cancel_action(
    State(reflection): State<Reflection>,
    request: Request,
) -> Response<Body> {
    let run: CancelActionParams = match read(&reflection, request).await {
        Ok(run) => run,
        Err(error) if error.http() == HttpStatus::BAD_REQUEST => {
            return refused(HttpStatus::BAD_REQUEST, "traceId is required");
        }
        Err(error) => return refused(error.http(), error.status().message()),
    };
    let cancelled = reflection.runs.cancel(&run.trace_id);
    let (http, message) = match cancelled {
        Ok(()) => (HttpStatus::OK, "Action cancelled".to_owned()),
        Err(status) => (HttpStatus::NOT_FOUND, status.message().to_owned()),
    };
    json(http, &CancelActionResult { message })
}

/// Reads the JSON body of a request.
async fn read<T: DeserializeOwned>(
    reflection: &Reflection,
    request: Request,
) -> Result<T, HttpError> {
    let (head, body) = request.into_parts();
    let body = body::read_json(&head.headers, body, &reflection.limits).await?;
    body::parse_object(&body).map_err(|status| HttpError::new(HttpStatus::BAD_REQUEST, status))
}

/// An error response in the form `{"error": message}`.
fn refused(http: HttpStatus, why: &str) -> Response<Body> {
    json(http, &ErrorReply { error: why })
}

/// A parameter of the query.
pub(super) fn parameter(uri: &Uri, name: &str) -> Option<String> {
    let mut pairs = uri.query()?.split('&').filter_map(|pair| pair.split_once('='));
    let (_, value) = pairs.find(|(known, _)| *known == name)?;
    Some(percent_decode_str(value).decode_utf8().ok()?.into_owned())
}

pub(super) fn text(http: HttpStatus, text: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(text.into());
    *response.status_mut() = http;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, plain);
    response
}

pub(super) fn json(http: HttpStatus, answer: &impl Serialize) -> Response<Body> {
    match serde_json::to_vec(answer) {
        Ok(body) => reply::json_response(http, body),
        Err(error) => reply::error(&Status::from(error)),
    }
}
