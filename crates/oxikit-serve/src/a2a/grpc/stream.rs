//! The events of a task as the messages of a response.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body;
use axum::http::HeaderMap;
use bytes::Bytes;
use http_body::Frame;
use oxikit_a2a_grpc::{self as grpc, Event};
use oxikit_core::{Status, StatusCode};
use oxikit_http::sse::PIECE_BYTES;
use oxikit_wire::a2a::{StreamResponse, Version};

use super::super::agent_options::Served;
use super::super::follower::{Followed, Follower};
use super::super::refusal::Refusal;
use super::super::service::Subscribed;
use super::trailers::{error_trailers, ok_trailers, status_trailers};
use crate::app::{App, Slot};

/// The events of a task, as they happen. Work on the task does not depend on it: a client that
/// leaves cancels nothing.
pub(super) struct EventStream {
    pub(super) app: Arc<App>,
    pub(super) agent: Arc<Served>,
    pub(super) version: Version,
    /// The event before those of the follower.
    pub(super) first: Option<Followed>,
    pub(super) follower: Option<Follower>,
    /// The trailers, after the last event.
    pub(super) end: Option<HeaderMap>,
    pub(super) slot: Slot,
}

impl EventStream {
    /// The task, and then its events.
    pub(super) fn of_task(self, subscribed: Subscribed) -> Self {
        let Subscribed { task, position, follower } = subscribed;
        let is_last = task.status.state.is_terminal();
        let first = Followed { sequence: position, response: StreamResponse::Task(task), is_last };
        Self { first: Some(first), follower: (!is_last).then_some(follower), ..self }
    }

    pub(super) fn into_body(self) -> Body {
        let frames = futures_util::stream::unfold(self, |mut stream| async move {
            let frame = stream.next_frame().await?;
            Some((Ok::<_, Infallible>(frame), stream))
        });
        Body::new(http_body_util::StreamBody::new(frames))
    }

    /// The ready events as one write, then the trailers, then `None`.
    async fn next_frame(&mut self) -> Option<Frame<Bytes>> {
        let mut messages = Vec::with_capacity(512);
        if let Some(first) = self.first.take() {
            self.write(&mut messages, &first);
            return Some(Frame::data(messages.into()));
        }
        while let Some(follower) = &mut self.follower {
            let event = tokio::select! {
                biased;
                event = follower.next() => event,
                () = self.app.shutdown.cut.cancelled() => {
                    let why = "the server is shutting down; subscribe again";
                    let status = Status::public(StatusCode::Unavailable, why);
                    self.finish(status.code(), status_trailers(&status));
                    break;
                }
            };
            match event {
                Ok(Some(event)) => {
                    self.write(&mut messages, &event);
                    let has_more = self.follower.as_ref().is_some_and(Follower::has_ready);
                    if !has_more || messages.len() >= PIECE_BYTES {
                        return Some(Frame::data(messages.into()));
                    }
                }
                Ok(None) => self.finish(StatusCode::Ok, ok_trailers()),
                Err(error) => {
                    let refusal = Refusal::from(error);
                    let (error, code) = refusal.report(&self.app.registry, &self.agent.key);
                    self.finish(code, error_trailers(&error));
                }
            }
        }
        if !messages.is_empty() {
            return Some(Frame::data(messages.into()));
        }
        self.end.take().map(Frame::trailers)
    }

    fn write(&mut self, messages: &mut Vec<u8>, event: &Followed) {
        self.slot.watch.chunk();
        let Followed { response, is_last, .. } = event;
        grpc::write_frame(messages, &Event { response, is_last: *is_last }, self.version);
        if *is_last {
            self.finish(StatusCode::Ok, ok_trailers());
        }
    }

    fn finish(&mut self, code: StatusCode, trailers: HeaderMap) {
        self.follower = None;
        self.end = Some(trailers);
        self.slot.watch.stream_ended(code);
    }
}
