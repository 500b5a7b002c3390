//! One run over HTTP: chunks are lines, the last of which is the end.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use oxikit_core::StatusCode;
use oxikit_wire::rpc::ErrorData;
use reqwest::Response;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use super::lines::Lines;
use super::{HttpPeer, too_long};
use crate::manager::failure::{failure, from_data, gone, unread};
use crate::manager::incoming::{is_trace_id, object, outcome};
use crate::manager::mailbox::{End, Offered};
use crate::manager::run::{Link, Run, RunHandle, Traces};
use crate::manager::spec::RunSpec;

/// A run that nobody reads any more has so long to name its trace, by which it can
/// be cancelled.
const TRACE_TIME: Duration = Duration::from_secs(30);

/// The end of a run: an error, or else a result.
#[derive(Deserialize)]
struct Last<'a> {
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

impl HttpPeer {
    /// Starts a run.
    pub(crate) fn start(
        self: &Arc<Self>,
        spec: &RunSpec,
        traces: &Arc<Traces>,
    ) -> Result<RunHandle, ErrorData> {
        if spec.stream_input {
            return Err(failure(
                StatusCode::FailedPrecondition,
                "this runtime is called over HTTP (Reflection V1), which takes no inputs while an \
                 action runs: start it with `GENKIT_REFLECTION_V2_SERVER` set, as `oxikit start` does",
            ));
        }
        if self.pending() >= self.options.max_pending {
            let message = format!("the runtime `{}` has too many calls to answer", self.id);
            return Err(failure(StatusCode::ResourceExhausted, message));
        }
        let mut body = String::new();
        spec.write_params(&mut body, false)?;
        let stop = CancellationToken::new();
        let link = Link::Http { peer: self.clone(), stop: stop.clone() };
        let run = Run::new(link, false, traces);
        let (peer, task_run, streams) = (self.clone(), run.clone(), spec.stream);
        self.runs.fetch_add(1, Ordering::Relaxed);
        self.tasks.spawn(async move {
            peer.drive(&task_run, body, streams, &stop).await;
            peer.runs.fetch_sub(1, Ordering::Relaxed);
        });
        Ok(RunHandle::new(run))
    }

    /// Brings a run to its end, whoever makes it.
    async fn drive(&self, run: &Arc<Run>, body: String, streams: bool, stop: &CancellationToken) {
        let answer = tokio::select! {
            answer = self.begin(body, streams) => answer,
            () = self.gone.cancelled() => Err(gone(&self.id)),
            () = too_late(stop) => return,
        };
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => return run.end(Err(error)),
        };
        let trace_id = answer.headers().get("x-genkit-trace-id");
        let trace_id = trace_id.and_then(|id| id.to_str().ok()).filter(|id| is_trace_id(id));
        let trace_id = trace_id.map(str::to_owned);
        if let Some(trace_id) = &trace_id {
            run.started(trace_id);
        }
        let end = tokio::select! {
            end = self.read(run, answer, streams) => end,
            () = self.gone.cancelled() => Err(gone(&self.id)),
            () = stop.cancelled() => {
                self.cancel_quietly(trace_id.as_deref()).await;
                return;
            }
        };
        let end = end.map_err(|error| cancelled_instead(error, run));
        let is_unread = end.as_ref().is_err_and(|error| error.code == Some(8));
        run.end(end);
        if is_unread {
            self.cancel_quietly(trace_id.as_deref()).await;
        }
    }

    async fn begin(&self, body: String, streams: bool) -> Result<Response, ErrorData> {
        let method = if streams { "runAction?stream=true" } else { "runAction" };
        let answer = self.post(method, body).send().await;
        self.accepted(answer.map_err(|error| self.unreachable(&error))?).await
    }

    async fn read(&self, run: &Run, mut answer: Response, streams: bool) -> End {
        if !streams {
            return last(&self.body(answer, self.options.max_message).await?, run);
        }
        let mut lines = Lines::default();
        while let Some(piece) = answer.chunk().await.map_err(|error| self.unreachable(&error))? {
            lines.push(&piece);
            while let Some(line) = lines.next() {
                // A line may end with a carriage return, too, and a blank one is no chunk.
                let line = line.slice_ref(line.trim_ascii());
                if !line.is_empty() {
                    self.pass_on(run, line).await?;
                }
            }
            if lines.pending() > self.options.max_message {
                return Err(too_long());
            }
        }
        last(&lines.rest(), run)
    }

    /// Gives a chunk to the reader, who has its time to take it.
    async fn pass_on(&self, run: &Run, line: Bytes) -> Result<(), ErrorData> {
        if serde_json::from_slice::<&RawValue>(&line).is_err() {
            return Err(failure(StatusCode::Internal, "the runtime sent a chunk that is no JSON"));
        }
        let mut chunk = line;
        // The connection is this run's own: nobody else waits.
        while let Offered::Full(back) = run.mailbox.offer(chunk) {
            chunk = back;
            let room = poll_fn(|cx| run.mailbox.poll_room(cx));
            if tokio::time::timeout(self.options.reader_time, room).await.is_err() {
                return Err(unread());
            }
        }
        Ok(())
    }

    /// Nobody waits for the answer.
    async fn cancel_quietly(&self, trace_id: Option<&str>) {
        if let Some(trace_id) = trace_id
            && let Err(error) = self.cancel(trace_id).await
        {
            tracing::debug!(runtime_id = %self.id, ?error, "run not cancelled");
        }
    }
}

/// Reads the end of a run.
fn last(text: &Bytes, run: &Run) -> End {
    let unreadable =
        || failure(StatusCode::Unavailable, "the runtime ended its answer without a result");
    let line = std::str::from_utf8(text).map_err(|_| unreadable())?;
    let raw: &RawValue = serde_json::from_str(line).map_err(|_| unreadable())?;
    match object::<Last<'_>>(raw.get()).map_err(|_| unreadable())?.error {
        Some(error) => Err(from_data(error)),
        None => outcome(text, raw, run),
    }
}

/// Python's runtime says nothing more of a run that was cancelled.
fn cancelled_instead(error: ErrorData, run: &Run) -> ErrorData {
    if run.is_cancelled() && error.code == Some(StatusCode::Unavailable.grpc()) {
        return failure(StatusCode::Cancelled, "Action was cancelled");
    }
    error
}

async fn too_late(stop: &CancellationToken) {
    stop.cancelled().await;
    tokio::time::sleep(TRACE_TIME).await;
}
