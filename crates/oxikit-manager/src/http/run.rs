//! One run over HTTP (V1). Each line of the response body is a chunk; the text after the last
//! line feed is the result or the error.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use oxikit_core::StatusCode;
use oxikit_wire::headers;
use oxikit_wire::rpc::{ErrorData, RunEnd, method};
use reqwest::Response;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use super::lines::Lines;
use super::{HttpPeer, too_long};
use crate::chunk_queue::Offer;
use crate::failure::{failure, from_data, gone, reader_too_slow};
use crate::incoming::{is_trace_id, object};
use crate::outcome::{Answer, End};
use crate::run::{Run, RunHandle, RunTransport, Traces, no_inputs};
use crate::spec::RunSpec;

/// Time for which an abandoned run is kept until the response head arrives. The head has the
/// trace id, without which the run cannot be cancelled.
const TRACE_TIMEOUT: Duration = Duration::from_secs(30);

/// A run over HTTP. A task reads the response body until `stop` is cancelled.
#[derive(Debug)]
struct HttpTransport {
    peer: Arc<HttpPeer>,
    stop: CancellationToken,
}

#[async_trait]
impl RunTransport for HttpTransport {
    fn runtime_id(&self) -> &str {
        &self.peer.id
    }

    fn abandon(&self, _: Option<Arc<str>>) {
        self.stop.cancel();
    }

    fn give_up(&self, run: &Run, error: ErrorData) {
        run.end(Err(error));
        self.stop.cancel();
    }

    async fn cancel(&self, trace_id: &str, within: Duration) -> Result<String, ErrorData> {
        self.peer.cancel(trace_id, within).await
    }

    async fn send_input(&self, _: &[u8]) -> Result<(), ErrorData> {
        Err(no_inputs())
    }

    async fn end_input(&self) -> Result<(), ErrorData> {
        Err(no_inputs())
    }
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
        let transport = HttpTransport { peer: self.clone(), stop: stop.clone() };
        let run = Run::new(Box::new(transport), false, traces);
        let (peer, task_run, streams) = (self.clone(), run.clone(), spec.stream);
        self.runs.fetch_add(1, Ordering::Relaxed);
        // A task reads the body, so that the run ends even if its handle is never polled.
        self.tasks.spawn(async move {
            peer.execute(&task_run, body, streams, &stop).await;
            peer.runs.fetch_sub(1, Ordering::Relaxed);
        });
        Ok(RunHandle::new(run))
    }

    /// Executes a run until it ends, its handle is dropped or the runtime is removed.
    async fn execute(&self, run: &Arc<Run>, body: String, streams: bool, stop: &CancellationToken) {
        let answer = tokio::select! {
            answer = self.send_request(body, streams) => answer,
            () = self.gone.cancelled() => Err(gone(&self.id)),
            () = trace_timeout(stop) => return,
        };
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => return run.end(Err(error)),
        };
        let trace_id = answer.headers().get(headers::TRACE_ID);
        let trace_id = trace_id.and_then(|id| id.to_str().ok()).filter(|id| is_trace_id(id));
        let trace_id = trace_id.map(str::to_owned);
        if let Some(trace_id) = &trace_id {
            run.started(trace_id);
        }
        // When the handle is dropped, the body is dropped with `read`. The run is cancelled by its
        // trace id too, instead of relying on the runtime to notice the closed connection.
        let end = tokio::select! {
            end = self.read(run, answer, streams) => end,
            () = self.gone.cancelled() => Err(gone(&self.id)),
            () = stop.cancelled() => {
                self.cancel_or_log(trace_id.as_deref()).await;
                return;
            }
        };
        let end = end.map_err(|error| or_cancelled(error, run));
        // The run may still be active: its reader was too slow, or its output too large.
        let exhausted = Some(StatusCode::ResourceExhausted.grpc());
        let must_cancel = end.as_ref().is_err_and(|error| error.code == exhausted);
        run.end(end);
        if must_cancel {
            self.cancel_or_log(trace_id.as_deref()).await;
        }
    }

    /// Sends the request. Returns the head of the response.
    async fn send_request(&self, body: String, streams: bool) -> Result<Response, ErrorData> {
        let query = if streams { "?stream=true" } else { "" };
        let answer = self.post(&format!("{}{query}", method::RUN_ACTION), body).send().await;
        self.ensure_success(answer.map_err(|error| self.unreachable(&error))?).await
    }

    /// Reads the body: queues the chunks and returns the end.
    async fn read(&self, run: &Run, mut answer: Response, streams: bool) -> End {
        if !streams {
            return parse_end(&self.body(answer, self.options.max_message).await?, run);
        }
        let mut lines = Lines::default();
        while let Some(piece) = answer.chunk().await.map_err(|error| self.unreachable(&error))? {
            lines.push(&piece);
            while let Some(line) = lines.next() {
                // A line may end with a carriage return, and a blank line is not a chunk.
                let line = line.slice_ref(line.trim_ascii());
                if !line.is_empty() {
                    self.queue_chunk(run, line).await?;
                }
            }
            if lines.pending() > self.options.max_message {
                return Err(too_long());
            }
        }
        parse_end(&lines.rest(), run)
    }

    /// Queues a chunk. Waits up to `reader_timeout` for the reader.
    async fn queue_chunk(&self, run: &Run, line: Bytes) -> Result<(), ErrorData> {
        if serde_json::from_slice::<&RawValue>(&line).is_err() {
            return Err(failure(
                StatusCode::Internal,
                "the runtime sent a chunk that is not valid JSON",
            ));
        }
        let mut chunk = line;
        // The HTTP connection belongs to this run alone, so waiting delays no other run.
        while let Offer::Full(back) = run.queue.offer(chunk) {
            chunk = back;
            let room = poll_fn(|cx| run.queue.poll_capacity(cx));
            if tokio::time::timeout(self.options.reader_timeout, room).await.is_err() {
                return Err(reader_too_slow());
            }
        }
        Ok(())
    }

    /// Cancels the run in the runtime; a failure is only logged.
    async fn cancel_or_log(&self, trace_id: Option<&str>) {
        if let Some(trace_id) = trace_id
            && let Err(error) = self.cancel(trace_id, self.options.cancel_timeout).await
        {
            tracing::debug!(runtime_id = %self.id, ?error, "could not cancel the run");
        }
    }
}

/// Parses the end of a run.
fn parse_end(text: &Bytes, run: &Run) -> End {
    let unreadable =
        || failure(StatusCode::Unavailable, "the runtime ended its answer without a result");
    let line = std::str::from_utf8(text).map_err(|_| unreadable())?;
    let raw: &RawValue = serde_json::from_str(line).map_err(|_| unreadable())?;
    match object::<RunEnd<'_>>(raw.get()).map_err(|_| unreadable())?.error {
        Some(error) => Err(from_data(error)),
        None => Answer { frame: text, result: raw }.outcome(run.queue.trace_id()),
    }
}

/// The Python runtime closes the body of a cancelled run without a result. Reports the
/// cancellation instead of the missing result.
fn or_cancelled(error: ErrorData, run: &Run) -> ErrorData {
    if run.is_cancelled() && error.code == Some(StatusCode::Unavailable.grpc()) {
        return failure(StatusCode::Cancelled, "Action was cancelled");
    }
    error
}

/// Ready when the run was abandoned and no response head arrived in time.
async fn trace_timeout(stop: &CancellationToken) {
    stop.cancelled().await;
    tokio::time::sleep(TRACE_TIMEOUT).await;
}
