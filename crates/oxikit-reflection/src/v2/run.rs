//! One `runAction` request: sends the trace id, the chunks and exactly one response.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use oxikit_core::{Event, Payload, Run, Status, StatusCode};
use oxikit_wire::rpc::{RpcError, rpc_code};

use super::frames::{self, Frame, RequestId};
use super::inputs::QueuedInputs;
use super::outbox::{Epoch, Lane, StaleEpoch};
use super::session::Session;
use crate::failure;
use crate::runs::RunRequest;

/// Maximum number of ready chunks that are queued together.
const MAX_BATCH_CHUNKS: usize = 64;
/// Maximum number of bytes of ready chunks that are queued together.
const MAX_BATCH_BYTES: usize = 64 * 1024;

/// A `runAction` request in progress.
pub(super) struct RunAction {
    pub(super) session: Arc<Session>,
    pub(super) id: RequestId,
    /// The epoch in which it was requested.
    pub(super) epoch: Epoch,
}

impl RunAction {
    /// Runs the action and sends its frames. If the epoch ends meanwhile, the run continues, and
    /// its frames are dropped.
    pub(super) async fn serve(self, request: RunRequest, inputs: Option<QueuedInputs>) {
        if let Err(error) = or_panicked(self.run(request, inputs)).await.and_then(|end| end) {
            // If the epoch has ended, no manager waits for the response.
            _ = self.answer(frames::error(&self.id, &error)).await;
        }
    }

    /// Runs the action. An error is the response to the request; on success the response was sent.
    async fn run(
        &self,
        request: RunRequest,
        inputs: Option<QueuedInputs>,
    ) -> Result<(), Box<RpcError>> {
        let runs = &self.session.runs;
        let action = runs.find(&request.key).await.map_err(|status| match status.code() {
            StatusCode::NotFound => failure::refusal(rpc_code::INVALID_PARAMS, &status),
            _ => failure::rpc_error(&status, None),
        })?;
        let started = runs.start(&action, request);
        let mut running = started.map_err(|status| failure::rpc_error(&status, None))?;
        let trace_id = running.trace_id().to_owned();
        let state = frames::state(&self.id, &trace_id);
        let is_read = self.send(&mut vec![state]).await.is_ok();

        let feeding = inputs.map(|inputs| inputs.feed(running.inputs.take()));
        // `biased`: if the run has ended and the queue has overflowed, the result counts.
        let end = tokio::select! {
            biased;
            end = self.forward(&mut running.run, is_read) => end,
            Some(too_many) = async { Some(feeding?.await) } => Err(too_many),
        };
        let trace = running.run.trace_id();
        let answer = end.and_then(|output| frames::output(&self.id, &output, &trace_id));
        let answer = answer.inspect_err(|status| running.log(status));
        // Dropping cancels a run that failed above before its trace is flushed. A run that has
        // ended can no longer be cancelled by its trace id.
        drop(running);
        // The tools read the trace as soon as they have the response.
        runs.flush().await;
        let answer = answer.map_err(|status| failure::rpc_error(&status, Some(trace)))?;
        _ = self.answer(answer).await;
        Ok(())
    }

    /// Sends the chunks while a manager waits for them (`is_read`). Returns the output.
    async fn forward(&self, run: &mut Run, mut is_read: bool) -> Result<Payload, Status> {
        let mut ready = Vec::new();
        while let Some(event) = run.next().await {
            match event {
                // The manager is gone for good. The run continues; only its chunks are dropped.
                Event::Chunk(_) if !is_read => {}
                Event::Chunk(chunk) => {
                    self.collect(run, chunk, &mut ready)?;
                    is_read = self.send(&mut ready).await.is_ok();
                }
                Event::Done(output) => return Ok(output),
                Event::Failed(status) => return Err(status),
            }
        }
        Err(Status::cancelled())
    }

    /// Collects this chunk and the following ones that are ready.
    fn collect(&self, run: &mut Run, chunk: Payload, ready: &mut Vec<Frame>) -> Result<(), Status> {
        let (mut next, mut bytes) = (Some(chunk), 0);
        while let Some(chunk) = next {
            let frame = frames::chunk(&self.id, &chunk)?;
            bytes += frame.text.len();
            ready.push(frame);
            let has_room = ready.len() < MAX_BATCH_CHUNKS && bytes < MAX_BATCH_BYTES;
            next = if has_room { run.ready_chunk() } else { None };
        }
        Ok(())
    }

    async fn answer(&self, answer: Frame) -> Result<(), StaleEpoch> {
        self.send(&mut vec![answer]).await
    }

    async fn send(&self, frames: &mut Vec<Frame>) -> Result<(), StaleEpoch> {
        self.session.outbox.send(self.epoch, Lane::Runs, frames).await
    }
}

/// Converts a panic into an error response. Runs catch panics of actions themselves; this is for
/// other code of the user, such as resolvers and serializers.
pub(super) async fn or_panicked<T>(work: impl Future<Output = T>) -> Result<T, Box<RpcError>> {
    AssertUnwindSafe(work).catch_unwind().await.map_err(|_| {
        let status = Status::internal("the code around an action panicked");
        failure::rpc_error(&status, None)
    })
}
