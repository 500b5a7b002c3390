//! The events of a task as the body of a streaming response.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use oxikit_core::StatusCode;
use oxikit_http::sse::{PIECE_BYTES, end_event, write_id};
use oxikit_wire::a2a::StreamResponse;
use tokio_util::sync::CancellationToken;

use super::follower::{Followed, Follower};
use super::form::Form;
use super::service::Subscribed;
use crate::app::Slot;

/// Time without an event after which a comment is sent, so that proxies do not close the
/// connection.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Bytes that most streams of an agent that has answered already fit in.
const READY_BYTES: usize = 4096;
const COMMENT: &[u8] = b": keepalive\n\n";
/// Sent when the server shuts down before the task ends: the reader reconnects after 1 s.
const RECONNECT: &[u8] = b"retry: 1000\n\n";

/// The events of a task, as they happen. Work on the task does not depend on it: a client that
/// leaves cancels nothing.
pub(super) struct EventStream {
    form: Form,
    task_id: String,
    /// The event before those of the follower.
    first: Option<Followed>,
    follower: Option<Follower>,
    cut: CancellationToken,
    slot: Slot,
}

impl EventStream {
    /// The task, and then its events.
    pub(super) fn of_task(
        subscribed: Subscribed,
        form: Form,
        cut: &CancellationToken,
        slot: Slot,
    ) -> Self {
        let Subscribed { task, position, follower } = subscribed;
        let is_last = task.status.state.is_terminal();
        let task_id = task.id.clone();
        let first = Followed { sequence: position, response: StreamResponse::Task(task), is_last };
        let follower = (!is_last).then_some(follower);
        Self { form, task_id, first: Some(first), follower, cut: cut.clone(), slot }
    }

    /// The events after one that the client has.
    pub(super) fn of_rest(
        task_id: &str,
        follower: Follower,
        form: Form,
        cut: &CancellationToken,
        slot: Slot,
    ) -> Self {
        let (task_id, follower) = (task_id.to_owned(), Some(follower));
        Self { form, task_id, first: None, follower, cut: cut.clone(), slot }
    }

    pub(super) fn into_body(self) -> Body {
        Body::from_stream(futures_util::stream::unfold(self, |mut stream| async move {
            let piece = stream.next_piece().await?;
            Some((Ok::<_, Infallible>(Bytes::from(piece)), stream))
        }))
    }

    /// The ready events as one write, or a comment after [`KEEP_ALIVE`] without one; `None`
    /// after the end.
    async fn next_piece(&mut self) -> Option<Vec<u8>> {
        let mut piece = Vec::with_capacity(if self.has_ready() { READY_BYTES } else { 512 });
        if let Some(first) = self.first.take() {
            self.write(&mut piece, &first);
            if !self.has_ready() {
                return Some(piece);
            }
        }
        loop {
            let follower = self.follower.as_mut()?;
            let event = match follower.next_ready() {
                // Without the timer, which costs as much as the event.
                Some(event) => Ok(Some(event)),
                None => tokio::select! {
                    biased;
                    event = follower.next() => event,
                    () = self.cut.cancelled() => {
                        self.follower = None;
                        return Some(RECONNECT.to_vec());
                    }
                    () = tokio::time::sleep(KEEP_ALIVE) => return Some(COMMENT.to_vec()),
                },
            };
            match event {
                Ok(Some(event)) => {
                    self.write(&mut piece, &event);
                    if !self.has_ready() || piece.len() >= PIECE_BYTES {
                        return Some(piece);
                    }
                }
                Ok(None) => {
                    self.end(StatusCode::Ok);
                    return (!piece.is_empty()).then_some(piece);
                }
                Err(error) => {
                    piece.extend_from_slice(b"data: ");
                    piece.extend(self.form.refuse(&error.into()).body);
                    end_event(&mut piece);
                    self.end(StatusCode::Unavailable);
                    return Some(piece);
                }
            }
        }
    }

    fn has_ready(&self) -> bool {
        self.follower.as_ref().is_some_and(Follower::has_ready)
    }

    fn write(&mut self, piece: &mut Vec<u8>, event: &Followed) {
        self.slot.watch.chunk();
        write_id(piece, format_args!("{}:{}", self.task_id, event.sequence));
        piece.extend_from_slice(b"data: ");
        self.form.write_event(piece, &event.response, event.is_last);
        end_event(piece);
        if event.is_last {
            self.end(StatusCode::Ok);
        }
    }

    fn end(&mut self, code: StatusCode) {
        self.follower = None;
        self.slot.watch.stream_ended(code);
    }
}

/// One event, and the end of the stream.
pub(super) fn single_event(body: &[u8]) -> Body {
    let mut piece = b"data: ".to_vec();
    piece.extend_from_slice(body);
    end_event(&mut piece);
    let pieces = futures_util::stream::iter([Ok::<_, Infallible>(Bytes::from(piece))]);
    Body::from_stream(pieces)
}
