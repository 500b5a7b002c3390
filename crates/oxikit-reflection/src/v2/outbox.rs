//! The queue of frames to the manager. It outlives connections.
//!
//! **Lanes.** Frames wait in one of two lanes, so that short responses never wait behind the
//! chunks of runs. Each lane holds 256 frames or 1 MiB; senders of more wait, which slows the
//! actions that produce chunks.
//!
//! **Delivery.** The connection takes a frame when its socket accepts it. That does not mean
//! that the manager has read it, so a response stays in `unconfirmed` until a pong confirms its
//! number. When a new connection opens, unconfirmed responses move to `resend` and go out
//! first. A manager may thus receive a response twice, and ignores the second one, because its
//! request is no longer pending. Chunks and other notifications are not kept: a chunk that was
//! written to a lost connection is lost.
//!
//! **Epochs.** After a reconnect it is first unknown whether the manager is still the same
//! (`manager_identity`). Until then [`take`](Outbox::take) returns nothing. For the same manager
//! sending continues; for another one [`start_epoch`](Outbox::start_epoch) drops all frames. A
//! run keeps the [`Epoch`] in which it was requested, so frames that it sends later are
//! rejected too: a result can never answer a request of another manager. A manager that is not
//! identified in time has sent no request, so no frame can be mistaken for a response to one;
//! sending continues then.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use tokio::sync::Semaphore;

use super::frames::Frame;

/// Capacity of a lane in bytes. Senders wait while it is exhausted.
const LANE_BYTES: usize = 1024 * 1024;
/// Minimum number of bytes that a frame is charged with, which limits a lane to 256 frames.
const MIN_FRAME_COST: usize = LANE_BYTES / 256;
/// Maximum number of unconfirmed responses. Beyond it the oldest one counts as confirmed,
/// because the socket has accepted that many after it.
const MAX_UNCONFIRMED: usize = 256;
/// Maximum number of bytes of unconfirmed responses; as above. The newest is always kept.
const MAX_UNCONFIRMED_BYTES: usize = 4 * 1024 * 1024;

/// The queue of frames to the manager.
pub(super) struct Outbox {
    /// Free bytes of the lane `Runs`. A permit is one byte.
    runs_capacity: Semaphore,
    /// Free bytes of the lane `Short`.
    short_capacity: Semaphore,
    state: Mutex<State>,
}

/// Identifies the manager that a frame is for. Each manager has a new epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Epoch(u64);

/// The frames belong to a previous epoch and were dropped: no manager waits for them.
#[derive(Debug)]
pub(super) struct StaleEpoch;

/// The part of the queue that a frame waits in.
#[derive(Debug, Clone, Copy)]
pub(super) enum Lane {
    /// Chunks, states and results of runs, in the order in which they were sent.
    Runs,
    /// Responses that do not belong to runs. They are sent before all frames of runs.
    Short,
}

/// The frames and the delivery state, under one lock.
#[derive(Default)]
struct State {
    epoch: Epoch,
    /// Responses that were written to a lost connection and are sent again on the next one.
    resend: VecDeque<Frame>,
    short: VecDeque<Frame>,
    runs: VecDeque<Frame>,
    /// Responses that were taken and are not confirmed, with their numbers.
    unconfirmed: VecDeque<(u64, Frame)>,
    unconfirmed_bytes: usize,
    /// The number of the last frame that was taken.
    last_taken: u64,
    /// Whether frames may be taken at present.
    sending: Sending,
    writer: Option<Waker>,
}

/// Whether frames may be taken, and why not.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Sending {
    #[default]
    Allowed,
    /// A connection has opened, and its manager is not identified yet.
    ManagerUnknown,
    /// The manager rejected the registration, and so drops all frames.
    Rejected,
}

impl Outbox {
    pub(super) fn new() -> Self {
        let lane = || Semaphore::new(LANE_BYTES);
        Self { runs_capacity: lane(), short_capacity: lane(), state: Mutex::default() }
    }

    /// Queues frames in this order. Waits for capacity. `frames` is empty afterwards.
    ///
    /// # Errors
    ///
    /// If the epoch has ended.
    pub(super) async fn send(
        &self,
        epoch: Epoch,
        lane: Lane,
        frames: &mut Vec<Frame>,
    ) -> Result<(), StaleEpoch> {
        // Frames that fit are queued in one step, so no frame of another run gets in between.
        // A larger batch is queued one by one, because it could never get all permits.
        let together = frames.iter().map(cost).sum();
        if together <= LANE_BYTES {
            return self.queue(epoch, lane, together, frames.drain(..)).await;
        }
        for frame in frames.drain(..) {
            self.queue(epoch, lane, cost(&frame), std::iter::once(frame)).await?;
        }
        Ok(())
    }

    /// Queues frames that cost `cost` bytes in total.
    async fn queue(
        &self,
        epoch: Epoch,
        lane: Lane,
        cost: usize,
        frames: impl Iterator<Item = Frame>,
    ) -> Result<(), StaleEpoch> {
        let permits = u32::try_from(cost).expect("a lane is smaller than that");
        // The permits return when the frames are taken. The semaphore is never closed.
        if let Ok(capacity) = self.capacity(lane).acquire_many(permits).await {
            capacity.forget();
        }
        let mut state = self.lock();
        // The epoch may have changed while this task waited for capacity.
        if state.epoch != epoch {
            self.capacity(lane).add_permits(cost);
            return Err(StaleEpoch);
        }
        state.lane(lane).extend(frames);
        state.wake();
        Ok(())
    }

    /// Waits until [`take`](Self::take) returns a frame.
    pub(super) async fn ready(&self) {
        poll_fn(|cx| {
            let mut state = self.lock();
            if state.is_ready() {
                return Poll::Ready(());
            }
            state.writer = Some(cx.waker().clone());
            Poll::Pending
        })
        .await;
    }

    /// Takes the next frame, for a socket that accepts it at once. A response counts as
    /// unconfirmed from now on.
    pub(super) fn take(&self) -> Option<Frame> {
        let mut state = self.lock();
        if state.sending != Sending::Allowed {
            return None;
        }
        // Resent responses come first: they are the oldest. They were charged when they were first
        // taken, so they hold no capacity of a lane.
        let (frame, capacity) = if let Some(frame) = state.resend.pop_front() {
            (frame, None)
        } else if let Some(frame) = state.short.pop_front() {
            (frame, Some(&self.short_capacity))
        } else {
            (state.runs.pop_front()?, Some(&self.runs_capacity))
        };
        state.last_taken += 1;
        if frame.is_response {
            state.keep(frame.clone());
        }
        drop(state);
        if let Some(capacity) = capacity {
            capacity.add_permits(cost(&frame));
        }
        Some(frame)
    }

    /// The number of the last frame that was taken.
    pub(super) fn last_taken(&self) -> u64 {
        self.lock().last_taken
    }

    /// Whether a response was taken after the last ping, which had the number `pinged`. Its
    /// confirmation needs another ping.
    pub(super) fn needs_ping(&self, pinged: u64) -> bool {
        self.lock().unconfirmed.back().is_some_and(|(number, _)| *number > pinged)
    }

    /// Confirms that the manager has read all frames up to this number.
    pub(super) fn confirm(&self, number: u64) {
        let mut state = self.lock();
        while state.unconfirmed.front().is_some_and(|(own, _)| *own <= number) {
            state.drop_oldest_unconfirmed();
        }
    }

    /// A connection was opened, possibly to another manager. Prepares unconfirmed responses to
    /// be sent again, and pauses until [`resume`](Self::resume).
    pub(super) fn connection_opened(&self) {
        let mut state = self.lock();
        state.unconfirmed_bytes = 0;
        let unconfirmed = std::mem::take(&mut state.unconfirmed);
        // In front of responses that an earlier connection did not get to resend, in their old order.
        for (_, frame) in unconfirmed.into_iter().rev() {
            state.resend.push_front(frame);
        }
        state.sending = Sending::ManagerUnknown;
    }

    /// The manager is identified, and all queued frames are for it: continues to send.
    pub(super) fn resume(&self) {
        let mut state = self.lock();
        state.sending = Sending::Allowed;
        state.wake();
    }

    /// Continues to send if the manager could not be identified in time.
    pub(super) fn resume_if_unknown(&self) {
        let mut state = self.lock();
        if state.sending == Sending::ManagerUnknown {
            state.sending = Sending::Allowed;
            state.wake();
        }
    }

    /// The manager rejected the registration. Frames are kept until it sends a request all the
    /// same, or for the next connection.
    pub(super) fn registration_rejected(&self) {
        self.lock().sending = Sending::Rejected;
    }

    /// Starts a new epoch, because the manager is another one or did not return. Drops all
    /// frames of the old epoch; its runs can queue no more. Returns the number of dropped frames.
    pub(super) fn start_epoch(&self) -> usize {
        let mut state = self.lock();
        // Senders that wait for capacity see the new epoch when they get it: the capacity that is
        // released below wakes them, and `queue` rejects their frames.
        state.epoch.0 += 1;
        let State { resend, short, runs, unconfirmed, .. } = &mut *state;
        let dropped = resend.len() + short.len() + runs.len() + unconfirmed.len();
        resend.clear();
        unconfirmed.clear();
        for (lane, capacity) in [(short, &self.short_capacity), (runs, &self.runs_capacity)] {
            capacity.add_permits(lane.drain(..).map(|frame| cost(&frame)).sum());
        }
        state.unconfirmed_bytes = 0;
        dropped
    }

    /// The current epoch, for requests of the current manager.
    pub(super) fn epoch(&self) -> Epoch {
        self.lock().epoch
    }

    fn capacity(&self, lane: Lane) -> &Semaphore {
        match lane {
            Lane::Runs => &self.runs_capacity,
            Lane::Short => &self.short_capacity,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn lane(&mut self, lane: Lane) -> &mut VecDeque<Frame> {
        match lane {
            Lane::Runs => &mut self.runs,
            Lane::Short => &mut self.short,
        }
    }

    /// Whether `take` returns a frame.
    fn is_ready(&self) -> bool {
        let has_some = !(self.resend.is_empty() && self.short.is_empty() && self.runs.is_empty());
        has_some && self.sending == Sending::Allowed
    }

    /// Keeps a response that was taken until it is confirmed.
    fn keep(&mut self, answer: Frame) {
        self.unconfirmed_bytes += answer.text.len();
        self.unconfirmed.push_back((self.last_taken, answer));
        while self.unconfirmed.len() > MAX_UNCONFIRMED
            || self.unconfirmed.len() > 1 && self.unconfirmed_bytes > MAX_UNCONFIRMED_BYTES
        {
            self.drop_oldest_unconfirmed();
        }
    }

    fn drop_oldest_unconfirmed(&mut self) {
        if let Some((_, answer)) = self.unconfirmed.pop_front() {
            self.unconfirmed_bytes -= answer.text.len();
        }
    }

    fn wake(&mut self) {
        if self.is_ready()
            && let Some(writer) = self.writer.take()
        {
            writer.wake();
        }
    }
}

/// The number of bytes of its lane that a frame is charged with. A frame that is larger than
/// the lane is charged with all of it, and so waits until it is alone.
fn cost(frame: &Frame) -> usize {
    frame.text.len().clamp(MIN_FRAME_COST, LANE_BYTES)
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn frame(text: impl Into<String>, is_response: bool) -> Frame {
        Frame { text: text.into().into(), is_response }
    }

    fn open() -> Outbox {
        let outbox = Outbox::new();
        outbox.connection_opened();
        outbox.resume();
        outbox
    }

    /// Queues a frame without waiting. Returns whether the lane had capacity.
    fn try_send(outbox: &Outbox, epoch: Epoch, lane: Lane, frame: Frame) -> bool {
        outbox.send(epoch, lane, &mut vec![frame]).now_or_never().is_some()
    }

    fn send(outbox: &Outbox, text: &str, is_response: bool) {
        assert!(try_send(outbox, outbox.epoch(), Lane::Runs, frame(text, is_response)));
    }

    fn take_all(outbox: &Outbox) -> Vec<String> {
        let texts = std::iter::from_fn(|| outbox.take()).map(|frame| frame.text.to_vec());
        texts.map(|text| String::from_utf8(text).unwrap()).collect()
    }

    #[test]
    fn a_lane_holds_256_frames_or_a_mebibyte() {
        let (outbox, epoch) = (open(), Epoch::default());
        for n in 0..256 {
            assert!(try_send(&outbox, epoch, Lane::Runs, frame(n.to_string(), false)));
        }
        assert!(!try_send(&outbox, epoch, Lane::Runs, frame("more", false)));
        assert!(try_send(&outbox, epoch, Lane::Short, frame("short", true)), "it has its own");
        assert_eq!(take_all(&outbox)[..2], ["short", "0"]);

        let large = "x".repeat(LANE_BYTES * 3);
        assert!(try_send(&outbox, epoch, Lane::Runs, frame(&large, false)), "alone it may be");
        assert!(!try_send(&outbox, epoch, Lane::Runs, frame("more", false)));
        assert_eq!(take_all(&outbox), [large]);
        let half = "x".repeat(LANE_BYTES / 2);
        let mut three = vec![frame(&half, false), frame(&half, false), frame(&half, false)];
        assert!(outbox.send(epoch, Lane::Runs, &mut three).now_or_never().is_none());
        assert_eq!(take_all(&outbox), [half.clone(), half], "the third waited for capacity");
    }

    #[test]
    fn responses_are_kept_until_they_are_confirmed() {
        let outbox = open();
        for (text, is_response) in [("chunk", false), ("first", true), ("second", true)] {
            send(&outbox, text, is_response);
        }
        take_all(&outbox);
        assert!(outbox.needs_ping(2) && !outbox.needs_ping(3));
        send(&outbox, "third", true);
        outbox.confirm(2);
        outbox.connection_opened();
        assert_eq!(take_all(&outbox), [] as [&str; 0], "it is held back");
        outbox.resume();
        assert_eq!(take_all(&outbox), ["second", "third"]);
        outbox.confirm(outbox.last_taken());
        outbox.connection_opened();
        outbox.resume();
        assert_eq!(take_all(&outbox), [] as [&str; 0]);
    }

    #[test]
    fn unconfirmed_responses_are_bounded() {
        let outbox = open();
        for n in 0..1000 {
            send(&outbox, &n.to_string(), true);
            take_all(&outbox);
        }
        outbox.connection_opened();
        outbox.resume();
        assert_eq!(take_all(&outbox).len(), MAX_UNCONFIRMED);
        let large = "x".repeat(MAX_UNCONFIRMED_BYTES);
        for _ in 0..3 {
            send(&outbox, &large, true);
            take_all(&outbox);
        }
        outbox.connection_opened();
        outbox.resume();
        assert_eq!(take_all(&outbox).len(), 1);
    }

    #[test]
    fn another_manager_receives_no_frames_of_the_previous_one() {
        let (outbox, previous) = (open(), Epoch::default());
        send(&outbox, "written", true);
        take_all(&outbox);
        for n in 0..256 {
            send(&outbox, &n.to_string(), true);
        }
        let mut waiting = vec![frame("waits", true)];
        let mut waits = Box::pin(outbox.send(previous, Lane::Runs, &mut waiting));
        assert!((&mut waits).now_or_never().is_none());
        assert_eq!(outbox.start_epoch(), 257);
        assert!(waits.now_or_never().unwrap().is_err(), "nobody reads it");
        let mut late = vec![frame("late", true)];
        assert!(outbox.send(previous, Lane::Short, &mut late).now_or_never().unwrap().is_err());
        assert_eq!(take_all(&outbox), [] as [&str; 0]);
        for n in 0..256 {
            send(&outbox, &n.to_string(), true);
        }
        assert_eq!(take_all(&outbox).len(), 256, "the whole capacity is free again");
    }
}
