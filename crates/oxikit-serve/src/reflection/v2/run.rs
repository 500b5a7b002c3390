//! One `runAction`: its state, its chunks, and one answer.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use oxikit_core::{Event, Payload, Run, Status, StatusCode};
use oxikit_wire::rpc::{RpcError, rpc_code};

use super::frames::{self, Frame, RequestId};
use super::inputs::QueuedInputs;
use super::outbox::{Epoch, Lane, Unread};
use super::session::Session;
use crate::reflection::failure;
use crate::reflection::runs::RunRequest;

/// So many chunks go out together, if they are ready.
const TOGETHER: usize = 64;
const TOGETHER_BYTES: usize = 64 * 1024;

/// A `runAction` at work.
pub(super) struct RunAction {
    pub(super) session: Arc<Session>,
    pub(super) id: RequestId,
    /// The manager that asked for it.
    pub(super) epoch: Epoch,
}

impl RunAction {
    /// Runs the action and tells the manager. If it is gone for good, the run ends
    /// unread.
    pub(super) async fn serve(self, request: RunRequest, inputs: Option<QueuedInputs>) {
        if let Err(error) = or_panicked(self.run(request, inputs)).await.and_then(|end| end) {
            // Nobody reads it: the end.
            _ = self.answer(frames::error(&self.id, &error)).await;
        }
    }

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
        let end = tokio::select! {
            biased;
            end = self.pass_on(&mut running.run, is_read) => end,
            Some(too_many) = async { Some(feeding?.await) } => Err(too_many),
        };
        let trace = running.run.trace_id();
        let answer = end.and_then(|output| frames::output(&self.id, &output, &trace_id));
        let answer = answer.inspect_err(|status| running.log(status));
        // What was refused above is called off before its trace is sent, and a run
        // that has ended cannot be cancelled any more.
        drop(running);
        // The tools read the trace as soon as they have the answer.
        runs.flush().await;
        let answer = answer.map_err(|status| failure::rpc_error(&status, Some(trace)))?;
        _ = self.answer(answer).await;
        Ok(())
    }

    /// Sends the chunks while there is somebody to read them; answers the output.
    async fn pass_on(&self, run: &mut Run, mut is_read: bool) -> Result<Payload, Status> {
        let mut ready = Vec::new();
        while let Some(event) = run.next().await {
            match event {
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

    /// This chunk and those that are ready behind it.
    fn collect(&self, run: &mut Run, chunk: Payload, ready: &mut Vec<Frame>) -> Result<(), Status> {
        let (mut next, mut bytes) = (Some(chunk), 0);
        while let Some(chunk) = next {
            let frame = frames::chunk(&self.id, &chunk)?;
            bytes += frame.text.len();
            ready.push(frame);
            let has_room = ready.len() < TOGETHER && bytes < TOGETHER_BYTES;
            next = if has_room { run.ready_chunk() } else { None };
        }
        Ok(())
    }

    async fn answer(&self, answer: Frame) -> Result<(), Unread> {
        self.send(&mut vec![answer]).await
    }

    async fn send(&self, frames: &mut Vec<Frame>) -> Result<(), Unread> {
        self.session.outbox.send(self.epoch, Lane::Runs, frames).await
    }
}

/// Runs have guards of their own. This one is for the rest of the user's code, such
/// as resolvers and serialisers: a request must not stay without an answer.
pub(super) async fn or_panicked<T>(work: impl Future<Output = T>) -> Result<T, Box<RpcError>> {
    AssertUnwindSafe(work).catch_unwind().await.map_err(|_| {
        let status = Status::internal("the code around an action panicked");
        failure::rpc_error(&status, None)
    })
}
