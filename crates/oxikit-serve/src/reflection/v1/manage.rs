//! Everything but runs: what there is, and what the runtime is told.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, Response, StatusCode as HttpStatus, Uri};
use oxikit_core::Status;
use oxikit_wire::rpc::{
    CancelActionParams, CancelActionResult, NotifyParams, REFLECTION_API_SPEC_VERSION,
};
use percent_encoding::percent_decode_str;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::Reflection;
use crate::reflection::identity;
use crate::reply;
use crate::request::{self, Refusal};

/// Whether this runtime is here, or whether it is the one that is asked for.
pub(super) async fn health(State(reflection): State<Reflection>, uri: Uri) -> Response<Body> {
    match parameter(&uri, "id") {
        Some(id) if id != *reflection.id => {
            text(HttpStatus::SERVICE_UNAVAILABLE, "Invalid runtime ID")
        }
        _ => text(HttpStatus::OK, "OK"),
    }
}

/// Ends the developer tools' door; the application goes on.
pub(super) async fn quit(State(reflection): State<Reflection>) -> Response<Body> {
    reflection.quit.cancel();
    text(HttpStatus::OK, "OK")
}

pub(super) async fn envs() -> Response<Body> {
    json(HttpStatus::OK, &["dev"])
}

/// A manager says hello, and where spans may go.
pub(super) async fn notify(
    State(reflection): State<Reflection>,
    request: Request,
) -> Response<Body> {
    let notice: NotifyParams = match read(&reflection, request).await {
        Ok(notice) => notice,
        Err((http, status)) => return refused(http, status.message()),
    };
    if let Some(version) = notice.reflection_api_spec_version
        && version != REFLECTION_API_SPEC_VERSION
    {
        let ours = REFLECTION_API_SPEC_VERSION;
        tracing::warn!(theirs = version, ours, "the developer tools speak another version");
    }
    if let (Some(exporter), Some(url)) = (&reflection.telemetry, notice.telemetry_server_url)
        && let Err(status) = exporter.set_server(url)
    {
        tracing::warn!(%status, "spans cannot be sent where the developer tools say");
    }
    text(HttpStatus::OK, "OK")
}

pub(super) async fn actions(State(reflection): State<Reflection>) -> Response<Body> {
    json(HttpStatus::OK, &identity::actions(reflection.runs.registry()).await)
}

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

pub(super) async fn cancel_action(
    State(reflection): State<Reflection>,
    request: Request,
) -> Response<Body> {
    let run: CancelActionParams = match read(&reflection, request).await {
        Ok(run) => run,
        Err((HttpStatus::BAD_REQUEST, _)) => {
            return refused(HttpStatus::BAD_REQUEST, "traceId is required");
        }
        Err((http, status)) => return refused(http, status.message()),
    };
    let cancelled = reflection.runs.cancel(&run.trace_id);
    let (http, message) = match cancelled {
        Ok(()) => (HttpStatus::OK, "Action cancelled".to_owned()),
        Err(status) => (HttpStatus::NOT_FOUND, status.message().to_owned()),
    };
    json(http, &CancelActionResult { message })
}

/// The body of a request that is not a run.
async fn read<T: DeserializeOwned>(
    reflection: &Reflection,
    request: Request,
) -> Result<T, Refusal> {
    let (head, body) = request.into_parts();
    let body = request::read_json(&head.headers, body, &reflection.limits).await?;
    request::parse_object(&body).map_err(|status| (HttpStatus::BAD_REQUEST, status))
}

fn refused(http: HttpStatus, why: &str) -> Response<Body> {
    json(http, &json!({ "error": why }))
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
