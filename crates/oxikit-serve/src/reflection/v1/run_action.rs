//! `POST /api/runAction`: one run, as one JSON object or line by line.

use std::convert::Infallible;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, Response, StatusCode as HttpStatus};
use bytes::Bytes;
use futures_util::stream;
use oxikit_core::{Event, Payload, Status, StatusCode, TraceId};
use oxikit_wire::rpc::{ErrorData, RunActionParams};
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::Reflection;
use super::manage::{json, parameter, text};
use crate::durable::shutting_down;
use crate::panic_guard::caught;
use crate::reflection::failure::error_data;
use crate::reflection::runs::{RunRequest, Running, Runs};
use crate::reply;
use crate::request;
use crate::stream::{PIECE, escape_from};

/// A run that has failed, also one that never began.
#[derive(Serialize)]
struct Failure {
    error: ErrorData,
}

/// The head is sent when the run begins, so that its trace can be looked at and
/// the run be cancelled; how it ended is in the body.
pub(super) async fn run_action(
    State(reflection): State<Reflection>,
    request: Request,
) -> Response<Body> {
    let (head, body) = request.into_parts();
    let streams = parameter(&head.uri, "stream").as_deref() == Some("true");
    let body = match request::read_json(&head.headers, body, &reflection.limits).await {
        Ok(body) => body,
        Err((http, status)) => return refused(http, &status),
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

fn read(body: &Bytes, streams: bool) -> Result<RunRequest, Status> {
    let mut params: RunActionParams<'_> = request::parse_object(body)?;
    params.stream = streams;
    Ok(RunRequest::new(body, params))
}

/// Nothing has run, and there is no trace.
fn refused(http: HttpStatus, status: &Status) -> Response<Body> {
    json(http, &Failure { error: error_data(status, None) })
}

fn respond(running: Running, streams: bool, reflection: Reflection) -> Response<Body> {
    let ids = (running.run.trace_id(), running.run.span_id());
    let answer = Answer { running, runs: reflection.runs, cut: reflection.ending.cut };
    // Read by the connection itself: a client that leaves drops the run.
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

/// The body of an answer: a line for each chunk, then how it ended, without a
/// line feed.
struct Answer {
    running: Running,
    runs: Runs,
    /// Fires when open answers have to end.
    cut: CancellationToken,
}

impl Answer {
    /// What is to be sent next, and whether it is the last.
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
                    next = if piece.len() < PIECE { run.ready_chunk() } else { None };
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

    fn write_result(&self, out: &mut Vec<u8>, output: &Payload, trace_id: TraceId) {
        out.extend_from_slice(b"{\"result\":");
        if let Err(status) = caught(|| Ok(output.write_json(out)?)) {
            out.clear();
            return self.write_failure(out, &status, trace_id);
        }
        out.extend_from_slice(format!(r#","telemetry":{{"traceId":"{trace_id}"}}}}"#).as_bytes());
        escape_from(out, 0);
    }

    fn write_failure(&self, out: &mut Vec<u8>, status: &Status, trace_id: TraceId) {
        self.running.log(status);
        let failure = Failure { error: error_data(status, Some(trace_id)) };
        serde_json::to_writer(&mut *out, &failure).expect("texts and numbers can be written");
        escape_from(out, 0);
    }
}

fn write_line(out: &mut Vec<u8>, chunk: &Payload) {
    let begin = out.len();
    if let Err(error) = chunk.write_json(out) {
        // Chunks are JSON since they were sent.
        tracing::error!(%error, "a chunk cannot be written");
        return out.truncate(begin);
    }
    escape_from(out, begin);
    out.push(b'\n');
}
