//! Inputs that arrive while a run goes on.
//!
//! The reader of the socket never waits for an action. What an action does not
//! take is kept up to a limit; beyond it the run fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use oxikit_core::{InputSender, Payload, Status};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// What waits for one run.
const MAX_CHUNKS: usize = 1024;
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// Where the reader of the socket puts inputs; dropping it ends them.
#[derive(Debug)]
pub(super) struct InputQueue {
    chunks: mpsc::Sender<(Payload, usize)>,
    waiting: Arc<AtomicUsize>,
    overflow: CancellationToken,
}

/// Where a run takes them from.
#[derive(Debug)]
pub(super) struct QueuedInputs {
    chunks: mpsc::Receiver<(Payload, usize)>,
    waiting: Arc<AtomicUsize>,
    overflow: CancellationToken,
}

pub(super) fn queue() -> (InputQueue, QueuedInputs) {
    let (sender, receiver) = mpsc::channel(MAX_CHUNKS);
    let (waiting, overflow) = (Arc::<AtomicUsize>::default(), CancellationToken::new());
    let queue = InputQueue { chunks: sender, waiting: waiting.clone(), overflow: overflow.clone() };
    (queue, QueuedInputs { chunks: receiver, waiting, overflow })
}

impl InputQueue {
    /// Adds an input of so many bytes. Says whether there can be more.
    pub(super) fn push(&self, input: Payload, bytes: usize) -> bool {
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
    /// Hands the inputs to the run as it takes them. Ends only when there were too
    /// many of them for it.
    pub(super) async fn feed(mut self, sender: Option<InputSender>) -> Status {
        let overflow = self.overflow.clone();
        tokio::select! {
            biased;
            () = overflow.cancelled() => too_many(),
            () = self.pass_on(sender) => std::future::pending().await,
        }
    }

    async fn pass_on(&mut self, sender: Option<InputSender>) {
        // An action that takes one input has got it with the request.
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
        "the action has not taken its inputs: {MAX_CHUNKS} of them, or {} MiB, are waiting. \
         Send the next ones when it has answered the last",
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
