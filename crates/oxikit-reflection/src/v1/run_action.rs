//! `POST /api/runAction`: one run. The response is one JSON object, or a line for each chunk and
//! then the object.

use std::convert::Infallible;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, Response, StatusCode as HttpStatus};
use bytes::Bytes;
use futures_util::stream;
use oxikit_core::{Event, Payload, Status, StatusCode, TraceId};
use oxikit_wire::rpc::{ErrorReply, RunActionParams, frame};
use tokio_util::sync::CancellationToken;

use super::Reflection;
use super::manage::{json, parameter, text};
use crate::failure::error_data;
use crate::runs::{RunRequest, Running, Runs};
use oxikit_http::body;
use oxikit_http::caught;
use oxikit_http::reply;
use oxikit_http::reply::shutting_down;
use oxikit_http::sse::{PIECE_BYTES, escape_from};

/// Starts a run. The head of the response, with the trace id, is sent at once, so that the tools
/// can show the trace and cancel the run. The status is 200 even if the run fails later: the body
/// contains the outcome.
pub(super) async fn run_action(
    State(reflection): State<Reflection>,
    request: Request,
) -> Response<Body> {
    let (head, body) = request.into_parts();
    let streams = parameter(&head.uri, "stream").as_deref() == Some("true");
    let body = match body::read_json(&head.headers, body, &reflection.limits).await {
        Ok(body) => body,
        Err(error) => return refused(error.http(), error.status()),
    };
    let request = match read(&body, streams) {
        Ok(request) => request,
        Err(status) => return refused(HttpStatus::OK, &status),
    };
    let action = match reflection.runs.find(&request.key).await {
        Ok(action) => action,
        Err(status) if status.code() == StatusCode::NotFound => {
            return text(HttpStatus::NOT_FOUND, status.message().to_owned());
        }
        Err(status) => return refused(HttpStatus::OK, &status),
    };
    match reflection.runs.start(&action, request) {
        Ok(running) => respond(running, streams, reflection),
        Err(status) => refused(HttpStatus::OK, &status),
    }
}

/// Parses the body. Only the query decides whether the response is streamed.
fn read(body: &Bytes, streams: bool) -> Result<RunRequest, Status> {
    let mut params: RunActionParams<'_> = body::parse_object(body)?;
    params.stream = streams;
    Ok(RunRequest::new(body, params))
}

/// The response to a request that started no run, and so has no trace.
fn refused(http: HttpStatus, status: &Status) -> Response<Body> {
    json(http, &ErrorReply { error: error_data(status, None) })
}

/// The response to a run that has started.
fn respond(running: Running, streams: bool, reflection: Reflection) -> Response<Body> {
    let ids = (running.run.trace_id(), running.run.span_id());
    let answer = Answer { running, runs: reflection.runs, cut: reflection.shutdown.cut };
    // The connection polls the stream: when the client disconnects, the run is dropped and so
    // cancelled.
    let pieces = stream::unfold(Some(answer), async |answer| {
        let mut answer = answer?;
        let (piece, is_last) = answer.next_piece().await;
        Some((Ok::<_, Infallible>(piece), (!is_last).then_some(answer)))
    });
    let mut response = Response::new(Body::from_stream(pieces));
    let media_type = if streams { "text/plain" } else { "application/json" };
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    reply::name_run(&mut response, ids);
    response
}

/// The body of a response: a line for each chunk, then the outcome without a line feed.
struct Answer {
    running: Running,
    runs: Runs,
    /// Cancelled when open responses must end.
    cut: CancellationToken,
}

impl Answer {
    /// The next piece of the body, and whether it is the last.
    async fn next_piece(&mut self) -> (Vec<u8>, bool) {
        let run = &mut self.running.run;
        let trace_id = run.trace_id();
        let event = tokio::select! {
            biased;
            event = run.next() => event,
            () = self.cut.cancelled() => Some(Event::Failed(shutting_down())),
        };
        let mut piece = Vec::new();
        match event {
            Some(Event::Chunk(chunk)) => {
                let mut next = Some(chunk);
                while let Some(chunk) = next {
                    write_line(&mut piece, &chunk);
                    next = if piece.len() < PIECE_BYTES { run.ready_chunk() } else { None };
                }
                return (piece, false);
            }
            Some(Event::Done(output)) => self.write_result(&mut piece, &output, trace_id),
            Some(Event::Failed(status)) => self.write_failure(&mut piece, &status, trace_id),
            None => self.write_failure(&mut piece, &Status::cancelled(), trace_id),
        }
        self.runs.flush().await;
        (piece, true)
    }

    /// Appends the output of the run, or an error if it cannot be serialized.
    fn write_result(&self, out: &mut Vec<u8>, output: &Payload, trace_id: TraceId) {
        let id = trace_id.to_string();
        let write = |out: &mut Vec<u8>| output.write_json(out);
        if let Err(status) = caught(|| Ok(frame::run_action_result(out, Some(&id), write)?)) {
            out.clear();
            return self.write_failure(out, &status, trace_id);
        }
        escape_from(out, 0);
    }

    /// Logs the error of the run and appends it.
    fn write_failure(&self, out: &mut Vec<u8>, status: &Status, trace_id: TraceId) {
        self.running.log(status);
        let failure = ErrorReply { error: error_data(status, Some(trace_id)) };
        serde_json::to_writer(&mut *out, &failure).expect("texts and numbers can be written");
        escape_from(out, 0);
    }
}

/// Appends a chunk and a line feed.
fn write_line(out: &mut Vec<u8>, chunk: &Payload) {
    let begin = out.len();
    if let Err(error) = chunk.write_json(out) {
        // Chunks were serialized when the action sent them, so this is not expected.
        tracing::error!(%error, "could not write a chunk");
        return out.truncate(begin);
    }
    escape_from(out, begin);
    out.push(b'\n');
}
