//! Runs an action and makes the response: one body, lines of JSON, or events. Inputs, chunks and
//! results pass through as JSON text; they are not parsed.
//!
//! The run belongs to the response. When the client disconnects, the body is dropped, with it the
//! [`RunHandle`], and the run is cancelled. A slow client delays its own run only: its chunks wait in
//! the bounded queue of the handle.

use std::borrow::Cow;
use std::convert::Infallible;

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, Response, StatusCode as HttpStatus};
use bytes::Bytes;
use futures_util::{FutureExt, Stream, StreamExt, stream};
use oxikit_core::{Status, StatusCode};
use oxikit_http::reply::{TRACE_ID, error as error_response, json_response, stream_response};
use oxikit_http::sse::{begin_event, end_event, write_event, write_id};
use oxikit_wire::rpc::{ErrorData, ErrorReply, frame};
use serde::Deserialize;
use serde_json::{Value, json};

use oxikit_http::api::object;
use oxikit_manager::{RunHandle, RunOutcome, RunSpec, Runtimes};

/// The clients for which errors are formatted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Clients of the developer tools' own API.
    Own,
    /// Clients of the official tools' API.
    Official,
    /// The official tools, to which this server acts as a runtime.
    Runtime,
}

/// The run that a body describes. The runtime is that of the body, else that of the query.
pub(crate) fn spec(body: Bytes, runtime: Option<String>) -> Result<RunSpec, Status> {
    #[derive(Deserialize)]
    struct Addressed<'a> {
        #[serde(borrow, default, rename = "runtimeId")]
        runtime_id: Option<Cow<'a, str>>,
    }
    let addressed: Addressed<'_> = object(&body)?;
    let runtime = addressed.runtime_id.map(Cow::into_owned).or(runtime);
    let spec = RunSpec::new(body);
    Ok(match runtime {
        Some(runtime) => spec.on(runtime),
        None => spec,
    })
}

/// Runs an action and sends its result as one body. The headers with the trace are sent as soon as
/// the trace is known, before the run has ended.
pub(crate) async fn whole(runtimes: &Runtimes, spec: RunSpec, form: Form) -> Response<Body> {
    let mut run = match runtimes.run(spec).await {
        Ok(run) => run,
        Err(error) => return failed(form, &error),
    };
    let trace_id = run.trace_id().await;
    let mut finish = Box::pin(run.finish());
    let Some(trace_id) = trace_id else {
        return match finish.await {
            Ok(outcome) => json_response(HttpStatus::OK, end(form, Ok(outcome))),
            Err(error) => failed(form, &error),
        };
    };
    // A run that has ended already gets a body with a length. Otherwise the body is a stream of one
    // piece, so that the headers can be sent now.
    let body = match finish.as_mut().now_or_never() {
        Some(outcome) => Body::from(end(form, outcome)),
        None => Body::from_stream(
            async move { Ok::<_, Infallible>(end(form, finish.await)) }.into_stream(),
        ),
    };
    named(json_response(HttpStatus::OK, body), Some(&trace_id))
}

/// Runs an action and sends its chunks as lines of JSON, then the result without a line feed.
pub(crate) async fn lines(runtimes: &Runtimes, spec: RunSpec) -> Response<Body> {
    let text = |body| {
        let mut response = Response::new(body);
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
        response
    };
    let mut run = match runtimes.run(spec).await {
        Ok(run) => run,
        Err(error) => return text(Body::from(end(Form::Official, Err(error)))),
    };
    let trace_id = run.trace_id().await;
    let pieces = pieces(run, |piece: &mut Vec<u8>, part| match part {
        Part::Chunk(chunk) => {
            push_line(piece, chunk);
            piece.push(b'\n');
        }
        Part::End(outcome) => piece.extend_from_slice(&end(Form::Official, outcome)),
    });
    named(text(Body::from_stream(pieces)), trace_id.as_deref())
}

/// Runs an action and sends server-sent events: `state` with the trace, `chunk`s, then `done` or
/// `error`. All but the first have their number as id.
pub(crate) async fn events(runtimes: &Runtimes, spec: RunSpec) -> Response<Body> {
    let mut run = match runtimes.run(spec).await {
        Ok(run) => run,
        Err(error) => return failed(Form::Own, &error),
    };
    let trace_id = run.trace_id().await;
    // Sent at once: the first chunk may depend on an input, and the client needs the id of the
    // trace to send one.
    let state = trace_id.as_deref().map(|trace_id| {
        let mut event = Vec::new();
        write_event(&mut event, "state", format!("{{\"traceId\":\"{trace_id}\"}}").as_bytes());
        Ok(event)
    });
    let mut number = 0_u64;
    let pieces = pieces(run, move |piece, part| {
        let (event, data): (_, Cow<'_, [u8]>) = match part {
            Part::Chunk(chunk) => ("chunk", Cow::Borrowed(chunk)),
            Part::End(Ok(outcome)) => ("done", Cow::Owned(good_end(&outcome))),
            Part::End(Err(error)) => ("error", Cow::Owned(written(&own_error(&error)))),
        };
        number += 1;
        write_id(piece, number);
        begin_event(piece, event);
        push_line(piece, &data);
        end_event(piece);
    });
    let body = Body::from_stream(stream::iter(state).chain(pieces));
    named(stream_response(body), trace_id.as_deref())
}

/// One part of a run.
enum Part<'a> {
    Chunk(&'a Bytes),
    End(Result<RunOutcome, ErrorData>),
}

/// The body of a streamed run. All chunks that have arrived are sent together.
fn pieces(
    run: RunHandle,
    write: impl FnMut(&mut Vec<u8>, Part<'_>) + Send + 'static,
) -> impl Stream<Item = Result<Vec<u8>, Infallible>> + Send {
    stream::unfold(Some((run, Vec::new(), write)), |reader| async move {
        let (mut run, mut taken, mut write) = reader?;
        let mut piece = Vec::with_capacity(256);
        if run.next_chunks(&mut taken).await > 0 {
            for chunk in taken.drain(..) {
                write(&mut piece, Part::Chunk(&chunk));
            }
            return Some((Ok(piece), Some((run, taken, write))));
        }
        write(&mut piece, Part::End(run.finish().await));
        Some((Ok(piece), None))
    })
}

/// Writes JSON on one line. Line feeds are replaced by spaces: in JSON they occur between tokens
/// only.
fn push_line(piece: &mut Vec<u8>, json: &[u8]) {
    let start = piece.len();
    piece.extend_from_slice(json);
    for byte in &mut piece[start..] {
        if matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
}

/// The end of a run as JSON.
fn end(form: Form, outcome: Result<RunOutcome, ErrorData>) -> Vec<u8> {
    match outcome {
        Ok(outcome) => good_end(&outcome),
        Err(error) => error_body(form, &error),
    }
}

/// `{"result":…,"telemetry":{"traceId":…}}`.
fn good_end(outcome: &RunOutcome) -> Vec<u8> {
    let mut text = Vec::with_capacity(96 + outcome.result.as_ref().map_or(0, Bytes::len));
    let Ok(()) = frame::run_action_result(&mut text, outcome.trace_id.as_deref(), |text| {
        if let Some(result) = &outcome.result {
            push_line(text, result);
        }
        Ok::<_, Infallible>(())
    });
    text
}

/// `{"error":…}`.
fn error_body(form: Form, error: &ErrorData) -> Vec<u8> {
    let error = match form {
        Form::Own => own_error(error),
        Form::Official | Form::Runtime => official_error(error),
    };
    // Texts and numbers can always be written.
    serde_json::to_vec(&ErrorReply { error }).unwrap_or_default()
}

/// The error in the form of the tools' own API, with the gRPC code and its name.
fn own_error(error: &ErrorData) -> Value {
    let code = code_of(error);
    json!({
        "code": code.grpc(),
        "status": code.name(),
        "message": error.message,
        "details": error.details,
    })
}

/// The error with everything twice, because official clients read either place.
fn official_error(error: &ErrorData) -> Value {
    let ErrorData { code, message, details, .. } = error;
    let mut body = json!({"code": code, "message": message, "details": details});
    if let Some(stack) = details.as_ref().and_then(|details| details.stack.as_deref()) {
        body["stack"] = stack.into();
    }
    body["data"] = json!({"genkitErrorMessage": message, "genkitErrorDetails": details});
    body
}

/// The JSON text of a value.
fn written(value: &Value) -> Vec<u8> {
    value.to_string().into_bytes()
}

/// The response if a run did not begin. Clients of the own API get an ordinary error response.
fn failed(form: Form, error: &ErrorData) -> Response<Body> {
    let http = match form {
        Form::Own => {
            let status = Status::from(error.clone());
            return error_response(&match &error.details {
                Some(details) => status.with_details(json!(details)),
                None => status,
            });
        }
        Form::Official => HttpStatus::INTERNAL_SERVER_ERROR,
        // The official tools read the error only from a response with status 200.
        Form::Runtime => HttpStatus::OK,
    };
    json_response(http, error_body(form, error))
}

/// The status code of an error. Runtimes may send none, or one that does not exist.
fn code_of(error: &ErrorData) -> StatusCode {
    error.code.and_then(StatusCode::from_grpc).unwrap_or(StatusCode::Unknown)
}

/// Adds the header with the trace of the run.
pub(crate) fn named(mut response: Response<Body>, trace_id: Option<&str>) -> Response<Body> {
    if let Some(trace_id) = trace_id.and_then(|id| HeaderValue::from_str(id).ok()) {
        response.headers_mut().insert(TRACE_ID, trace_id);
    }
    response
}
