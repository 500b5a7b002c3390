//! What waits to be sent to the manager. It outlives connections.
//!
//! There are two lanes, so that the short answers never wait behind the chunks of
//! runs. Each holds 256 frames or 1 MiB; whoever has more to send waits.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use tokio::sync::Semaphore;

use super::frames::Frame;

/// What a lane holds, in bytes; a small frame counts as [`SMALLEST`].
const LANE: usize = 1024 * 1024;
const SMALLEST: usize = LANE / 256;
/// Answers that were written and not confirmed. Beyond it the oldest count as read:
/// the manager was sent so much behind them.
const MAX_UNCONFIRMED: usize = 256;
const MAX_UNCONFIRMED_BYTES: usize = 4 * 1024 * 1024;

/// What waits to be sent to the manager.
pub(super) struct Outbox {
    runs_room: Semaphore,
    quick_room: Semaphore,
    state: Mutex<State>,
}

/// Which manager a frame is for. Old ones are never sent to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Epoch(u64);

/// The manager that asked is gone for good: nobody reads this.
#[derive(Debug)]
pub(super) struct Unread;

/// How a frame is queued.
#[derive(Debug, Clone, Copy)]
pub(super) enum Lane {
    /// In the order of the run, behind other runs.
    Runs,
    /// Before all of them.
    Quick,
}

#[derive(Default)]
struct State {
    epoch: Epoch,
    /// Written to a connection that is gone, for the next one.
    again: VecDeque<Frame>,
    quick: VecDeque<Frame>,
    runs: VecDeque<Frame>,
    /// Answers that were written, with their number.
    unconfirmed: VecDeque<(u64, Frame)>,
    unconfirmed_bytes: usize,
    /// The number of the last frame that was taken.
    taken: u64,
    /// Whether what is left for a former manager may be sent.
    hold: Hold,
    writer: Option<Waker>,
}

/// Why nothing is sent for the time being.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Hold {
    #[default]
    Open,
    /// It is not known yet whether the manager is still the same.
    Unknown,
    /// The manager has refused us: it drops what it is sent.
    Refused,
}

impl Outbox {
    pub(super) fn new() -> Self {
        let room = || Semaphore::new(LANE);
        Self { runs_room: room(), quick_room: room(), state: Mutex::default() }
    }

    /// Queues frames in this order, waiting for room. `frames` is left empty.
    pub(super) async fn send(
        &self,
        epoch: Epoch,
        lane: Lane,
        frames: &mut Vec<Frame>,
    ) -> Result<(), Unread> {
        let together = frames.iter().map(cost).sum();
        if together <= LANE {
            return self.queue(epoch, lane, together, frames.drain(..)).await;
        }
        for frame in frames.drain(..) {
            self.queue(epoch, lane, cost(&frame), std::iter::once(frame)).await?;
        }
        Ok(())
    }

    async fn queue(
        &self,
        epoch: Epoch,
        lane: Lane,
        cost: usize,
        frames: impl Iterator<Item = Frame>,
    ) -> Result<(), Unread> {
        let permits = u32::try_from(cost).expect("a lane is smaller than that");
        // Given back when the frames are taken. It is never closed.
        if let Ok(room) = self.room(lane).acquire_many(permits).await {
            room.forget();
        }
        let mut state = self.lock();
        if state.epoch != epoch {
            self.room(lane).add_permits(cost);
            return Err(Unread);
        }
        state.lane(lane).extend(frames);
        state.wake();
        Ok(())
    }

    /// Waits until there is something to be written.
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

    /// The next frame, for a socket that takes it at once. From here on an answer
    /// counts as unconfirmed.
    pub(super) fn take(&self) -> Option<Frame> {
        let mut state = self.lock();
        if state.hold != Hold::Open {
            return None;
        }
        let (frame, room) = if let Some(frame) = state.again.pop_front() {
            (frame, None)
        } else if let Some(frame) = state.quick.pop_front() {
            (frame, Some(&self.quick_room))
        } else {
            (state.runs.pop_front()?, Some(&self.runs_room))
        };
        state.taken += 1;
        if frame.is_answer {
            state.keep(frame.clone());
        }
        drop(state);
        if let Some(room) = room {
            room.add_permits(cost(&frame));
        }
        Some(frame)
    }

    /// The number of the last frame that was taken.
    pub(super) fn taken(&self) -> u64 {
        self.lock().taken
    }

    /// Whether an answer waits for a confirmation that no ping up to this number
    /// can bring.
    pub(super) fn needs_ping(&self, pinged: u64) -> bool {
        self.lock().unconfirmed.back().is_some_and(|(number, _)| *number > pinged)
    }

    /// The manager has read all frames up to this number.
    pub(super) fn confirm(&self, number: u64) {
        let mut state = self.lock();
        while state.unconfirmed.front().is_some_and(|(own, _)| *own <= number) {
            state.drop_oldest_unconfirmed();
        }
    }

    /// A connection is there, maybe to another manager. Holds back what is left for
    /// the former one until [`release`](Self::release).
    pub(super) fn reopen(&self) {
        let mut state = self.lock();
        state.unconfirmed_bytes = 0;
        let unconfirmed = std::mem::take(&mut state.unconfirmed);
        for (_, frame) in unconfirmed.into_iter().rev() {
            state.again.push_front(frame);
        }
        state.hold = Hold::Unknown;
    }

    /// The manager is the one that all of this is for.
    pub(super) fn release(&self) {
        let mut state = self.lock();
        state.hold = Hold::Open;
        state.wake();
    }

    /// As [`release`](Self::release), for a manager that says nothing at all.
    pub(super) fn release_unasked(&self) {
        let mut state = self.lock();
        if state.hold == Hold::Unknown {
            state.hold = Hold::Open;
            state.wake();
        }
    }

    /// The manager has refused us. What is left is kept until it asks for something,
    /// or for the next connection.
    pub(super) fn hold(&self) {
        self.lock().hold = Hold::Refused;
    }

    /// The manager is another one, or there will be none: what is left for the
    /// former one is dropped, and what its runs send from now on too. Answers how
    /// many frames that were.
    pub(super) fn forget(&self) -> usize {
        let mut state = self.lock();
        state.epoch.0 += 1;
        let State { again, quick, runs, unconfirmed, .. } = &mut *state;
        let dropped = again.len() + quick.len() + runs.len() + unconfirmed.len();
        again.clear();
        unconfirmed.clear();
        for (lane, room) in [(quick, &self.quick_room), (runs, &self.runs_room)] {
            room.add_permits(lane.drain(..).map(|frame| cost(&frame)).sum());
        }
        state.unconfirmed_bytes = 0;
        dropped
    }

    pub(super) fn epoch(&self) -> Epoch {
        self.lock().epoch
    }

    fn room(&self, lane: Lane) -> &Semaphore {
        match lane {
            Lane::Runs => &self.runs_room,
            Lane::Quick => &self.quick_room,
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
            Lane::Quick => &mut self.quick,
        }
    }

    fn is_ready(&self) -> bool {
        let has_some = !(self.again.is_empty() && self.quick.is_empty() && self.runs.is_empty());
        has_some && self.hold == Hold::Open
    }

    /// Keeps an answer that was taken until it is confirmed.
    fn keep(&mut self, answer: Frame) {
        self.unconfirmed_bytes += answer.text.len();
        self.unconfirmed.push_back((self.taken, answer));
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

/// What a frame takes of its lane; one that is larger than the lane takes all of
/// it.
fn cost(frame: &Frame) -> usize {
    frame.text.len().clamp(SMALLEST, LANE)
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn frame(text: impl Into<String>, is_answer: bool) -> Frame {
        Frame { text: text.into().into(), is_answer }
    }

    fn open() -> Outbox {
        let outbox = Outbox::new();
        outbox.reopen();
        outbox.release();
        outbox
    }

    /// Queues it, if there is room.
    fn try_send(outbox: &Outbox, epoch: Epoch, lane: Lane, frame: Frame) -> bool {
        outbox.send(epoch, lane, &mut vec![frame]).now_or_never().is_some()
    }

    fn send(outbox: &Outbox, text: &str, is_answer: bool) {
        assert!(try_send(outbox, outbox.epoch(), Lane::Runs, frame(text, is_answer)));
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
        assert!(try_send(&outbox, epoch, Lane::Quick, frame("quick", true)), "it has its own");
        assert_eq!(take_all(&outbox)[..2], ["quick", "0"]);

        let large = "x".repeat(LANE * 3);
        assert!(try_send(&outbox, epoch, Lane::Runs, frame(&large, false)), "alone it may be");
        assert!(!try_send(&outbox, epoch, Lane::Runs, frame("more", false)));
        assert_eq!(take_all(&outbox), [large]);
        let half = "x".repeat(LANE / 2);
        let mut three = vec![frame(&half, false), frame(&half, false), frame(&half, false)];
        assert!(outbox.send(epoch, Lane::Runs, &mut three).now_or_never().is_none());
        assert_eq!(take_all(&outbox), [half.clone(), half], "the third waited for room");
    }

    #[test]
    fn answers_are_kept_until_they_are_confirmed() {
        let outbox = open();
        for (text, is_answer) in [("chunk", false), ("first", true), ("second", true)] {
            send(&outbox, text, is_answer);
        }
        take_all(&outbox);
        assert!(outbox.needs_ping(2) && !outbox.needs_ping(3));
        send(&outbox, "third", true);
        outbox.confirm(2);
        outbox.reopen();
        assert_eq!(take_all(&outbox), [] as [&str; 0], "it is held back");
        outbox.release();
        assert_eq!(take_all(&outbox), ["second", "third"]);
        outbox.confirm(outbox.taken());
        outbox.reopen();
        outbox.release();
        assert_eq!(take_all(&outbox), [] as [&str; 0]);
    }

    #[test]
    fn what_is_kept_has_a_bound() {
        let outbox = open();
        for n in 0..1000 {
            send(&outbox, &n.to_string(), true);
            take_all(&outbox);
        }
        outbox.reopen();
        outbox.release();
        assert_eq!(take_all(&outbox).len(), MAX_UNCONFIRMED);
        let large = "x".repeat(MAX_UNCONFIRMED_BYTES);
        for _ in 0..3 {
            send(&outbox, &large, true);
            take_all(&outbox);
        }
        outbox.reopen();
        outbox.release();
        assert_eq!(take_all(&outbox).len(), 1);
    }

    #[test]
    fn nothing_is_left_for_another_manager() {
        let (outbox, former) = (open(), Epoch::default());
        send(&outbox, "written", true);
        take_all(&outbox);
        for n in 0..256 {
            send(&outbox, &n.to_string(), true);
        }
        let mut waiting = vec![frame("waits", true)];
        let mut waits = Box::pin(outbox.send(former, Lane::Runs, &mut waiting));
        assert!((&mut waits).now_or_never().is_none());
        assert_eq!(outbox.forget(), 257);
        assert!(waits.now_or_never().unwrap().is_err(), "nobody reads it");
        let mut late = vec![frame("late", true)];
        assert!(outbox.send(former, Lane::Quick, &mut late).now_or_never().unwrap().is_err());
        assert_eq!(take_all(&outbox), [] as [&str; 0]);
        for n in 0..256 {
            send(&outbox, &n.to_string(), true);
        }
        assert_eq!(take_all(&outbox).len(), 256, "all the room is there again");
    }
}
