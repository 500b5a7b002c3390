//! The queue of inputs for a running action.
//!
//! The task that reads the socket never waits for an action. Inputs that the action has not
//! read are queued up to a limit; beyond it the run fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use oxikit_core::{InputSender, Payload, Status};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Maximum number of queued inputs per run.
const MAX_CHUNKS: usize = 1024;
/// Maximum number of queued bytes per run. A single larger input is accepted by an empty queue.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// The sending end of the queue. Dropping it ends the input stream of the run.
#[derive(Debug)]
pub(super) struct InputQueue {
    chunks: mpsc::Sender<(Payload, usize)>,
    waiting: Arc<AtomicUsize>,
    overflow: CancellationToken,
}

/// The receiving end of the queue.
#[derive(Debug)]
pub(super) struct QueuedInputs {
    chunks: mpsc::Receiver<(Payload, usize)>,
    waiting: Arc<AtomicUsize>,
    overflow: CancellationToken,
}

/// Both ends of a new queue.
pub(super) fn queue() -> (InputQueue, QueuedInputs) {
    let (sender, receiver) = mpsc::channel(MAX_CHUNKS);
    let (waiting, overflow) = (Arc::<AtomicUsize>::default(), CancellationToken::new());
    let queue = InputQueue { chunks: sender, waiting: waiting.clone(), overflow: overflow.clone() };
    (queue, QueuedInputs { chunks: receiver, waiting, overflow })
}

impl InputQueue {
    /// Queues an input of `bytes` bytes. Returns `false` if the queue accepts no more.
    pub(super) fn push(&self, input: Payload, bytes: usize) -> bool {
        // `waiting > 0` below: a single input may be larger than the limit.
        let waiting = self.waiting.fetch_add(bytes, Ordering::Relaxed);
        if waiting > 0 && waiting + bytes > MAX_BYTES {
            self.overflow.cancel();
            return false;
        }
        match self.chunks.try_send((input, bytes)) {
            Ok(()) => true,
            Err(mpsc::error::TrySendError::Full(_)) => {
                self.overflow.cancel();
                false
            }
            Err(mpsc::error::TrySendError::Closed(_)) => false,
        }
    }
}

impl QueuedInputs {
    /// Forwards the inputs to the run. Returns only when the queue has overflowed, with the
    /// error for the run.
    pub(super) async fn feed(mut self, sender: Option<InputSender>) -> Status {
        let overflow = self.overflow.clone();
        tokio::select! {
            biased;
            () = overflow.cancelled() => too_many(),
            () = self.forward(sender) => std::future::pending().await,
        }
    }

    /// Forwards inputs until the stream ends or the action reads no more.
    async fn forward(&mut self, sender: Option<InputSender>) {
        // An action that takes a single input has received it with the request.
        let Some(sender) = sender else { return self.chunks.close() };
        while let Some((input, bytes)) = self.chunks.recv().await {
            self.waiting.fetch_sub(bytes, Ordering::Relaxed);
            if sender.send(input).await.is_err() {
                return self.chunks.close();
            }
        }
    }
}

fn too_many() -> Status {
    Status::resource_exhausted(format!(
        "the action does not read its inputs: {MAX_CHUNKS} of them, or {} MiB, are queued. Send \
         further ones when it has answered the previous",
        MAX_BYTES / (1024 * 1024)
    ))
}

#[cfg(test)]
mod tests {
    use oxikit_core::StatusCode;

    use super::*;

    #[tokio::test]
    async fn inputs_beyond_the_limit_fail_the_run() {
        let (queue, inputs) = queue();
        for n in 0..MAX_CHUNKS {
            assert!(queue.push(Payload::of(n), 4));
        }
        assert!(!queue.push(Payload::of("one more"), 4));
        let (sender, _call) = oxikit_core::Call::streaming();
        assert_eq!(inputs.feed(Some(sender)).await.code(), StatusCode::ResourceExhausted);
    }

    #[tokio::test]
    async fn large_inputs_count_by_their_bytes() {
        let (queue, inputs) = queue();
        assert!(queue.push(Payload::null(), MAX_BYTES * 2), "one may be larger when it is alone");
        assert!(!queue.push(Payload::null(), 1));
        assert_eq!(inputs.feed(None).await.code(), StatusCode::ResourceExhausted);
    }
}
