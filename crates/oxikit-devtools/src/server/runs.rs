//! A run as an answer: whole, as lines, or as events. Inputs, chunks and results
//! pass through as the text they came as.

use std::borrow::Cow;
use std::convert::Infallible;

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, Response, StatusCode as HttpStatus};
use bytes::Bytes;
use futures_util::{FutureExt, Stream, StreamExt, stream};
use oxikit_core::{Status, StatusCode};
use oxikit_serve::inside::{TRACE_ID, error as error_response, json_response, stream_response};
use oxikit_wire::rpc::ErrorData;
use serde::Deserialize;
use serde_json::{Value, json};

use super::reply::status_of;
use super::request::object;
use crate::manager::{RunHandle, RunOutcome, RunSpec, Runtimes};

/// Whose clients read the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Ours.
    Own,
    /// Those of the official tools.
    Official,
    /// The official tools themselves, which take us for the runtime.
    Runtime,
}

/// What a body asks for. The runtime may also be named by the query.
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

/// The end of a run as one body. The head with the trace goes ahead of it, unless
/// the end is there already.
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
    let body = match finish.as_mut().now_or_never() {
        Some(outcome) => Body::from(end(form, outcome)),
        None => Body::from_stream(
            async move { Ok::<_, Infallible>(end(form, finish.await)) }.into_stream(),
        ),
    };
    named(json_response(HttpStatus::OK, body), Some(&trace_id))
}

/// Chunks as lines of JSON, then the end without a line feed behind it.
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

/// Events of SSE: `state` with the trace, `chunk`s, then `done` or `error`. All but
/// the first have their number as id.
pub(crate) async fn events(runtimes: &Runtimes, spec: RunSpec) -> Response<Body> {
    let mut run = match runtimes.run(spec).await {
        Ok(run) => run,
        Err(error) => return failed(Form::Own, &error),
    };
    let trace_id = run.trace_id().await;
    // At once: the first chunk may wait for an input that waits for the trace.
    let state = trace_id.as_deref().map(|trace_id| {
        Ok(format!("event: state\ndata: {{\"traceId\":\"{trace_id}\"}}\n\n").into_bytes())
    });
    let mut number = 0_u64;
    let pieces = pieces(run, move |piece, part| {
        let (event, data): (_, Cow<'_, [u8]>) = match part {
            Part::Chunk(chunk) => ("chunk", Cow::Borrowed(chunk)),
            Part::End(Ok(outcome)) => ("done", Cow::Owned(good_end(&outcome))),
            Part::End(Err(error)) => ("error", Cow::Owned(written(&own_error(&error)))),
        };
        number += 1;
        piece.extend_from_slice(format!("id: {number}\nevent: {event}\ndata: ").as_bytes());
        push_line(piece, &data);
        piece.extend_from_slice(b"\n\n");
    });
    let body = Body::from_stream(stream::iter(state).chain(pieces));
    named(stream_response(body), trace_id.as_deref())
}

/// What a run yields.
enum Part<'a> {
    Chunk(&'a Bytes),
    End(Result<RunOutcome, ErrorData>),
}

/// A run piece by piece: all chunks that are there go out at once.
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

/// Writes JSON on one line: outside of strings a line feed is no more than a space,
/// and inside there is none.
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
    text.push(b'{');
    if let Some(result) = &outcome.result {
        text.extend_from_slice(b"\"result\":");
        push_line(&mut text, result);
    }
    if let Some(trace_id) = &outcome.trace_id {
        if text.len() > 1 {
            text.push(b',');
        }
        text.extend_from_slice(b"\"telemetry\":{\"traceId\":\"");
        text.extend_from_slice(trace_id.as_bytes());
        text.extend_from_slice(b"\"}");
    }
    text.push(b'}');
    text
}

/// `{"error":…}`.
fn error_body(form: Form, error: &ErrorData) -> Vec<u8> {
    let error = match form {
        Form::Own => own_error(error),
        Form::Official | Form::Runtime => official_error(error),
    };
    written(&json!({"error": error}))
}

fn own_error(error: &ErrorData) -> Value {
    let code = code_of(error);
    json!({
        "code": code.grpc(),
        "status": code.name(),
        "message": error.message,
        "details": error.details,
    })
}

/// With everything twice, as official clients look for it in either place.
fn official_error(error: &ErrorData) -> Value {
    let ErrorData { code, message, details, .. } = error;
    let mut body = json!({"code": code, "message": message, "details": details});
    if let Some(stack) = details.as_ref().and_then(|details| details.stack.as_deref()) {
        body["stack"] = stack.into();
    }
    body["data"] = json!({"genkitErrorMessage": message, "genkitErrorDetails": details});
    body
}

fn written(value: &Value) -> Vec<u8> {
    value.to_string().into_bytes()
}

/// A run that did not begin: of our own API a refusal as any other.
fn failed(form: Form, error: &ErrorData) -> Response<Body> {
    let http = match form {
        Form::Own => {
            let status = status_of(error.clone());
            return error_response(&match &error.details {
                Some(details) => status.with_details(json!(details)),
                None => status,
            });
        }
        Form::Official => HttpStatus::INTERNAL_SERVER_ERROR,
        // They read the reason only from an answer that is good.
        Form::Runtime => HttpStatus::OK,
    };
    json_response(http, error_body(form, error))
}

fn code_of(error: &ErrorData) -> StatusCode {
    error.code.and_then(StatusCode::from_grpc).unwrap_or(StatusCode::Unknown)
}

/// Names the run, so that its trace is found.
pub(crate) fn named(mut response: Response<Body>, trace_id: Option<&str>) -> Response<Body> {
    if let Some(trace_id) = trace_id.and_then(|id| HeaderValue::from_str(id).ok()) {
        response.headers_mut().insert(TRACE_ID, trace_id);
    }
    response
}
