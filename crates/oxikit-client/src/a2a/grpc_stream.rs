//! The messages of an answer over gRPC, and its status after them.

use bytes::{Buf, Bytes, BytesMut};
use http_body_util::BodyExt;
use oxikit_a2a_grpc::{FrameError, PREFIX_BYTES, split_frame};
use oxikit_core::{Result, Status, StatusCode};
use oxikit_wire::a2a::{Operation, StreamResponse, Version};

use super::grpc_messages;
use super::grpc_status::result_of;
use crate::exchange::{Answer, Exchange};
use crate::failure::{Fault, Place};

/// An answer whose head has arrived. Dropping it ends the call.
pub(super) struct GrpcStream {
    version: Version,
    operation: Operation,
    /// `None` after the status.
    body: Option<reqwest::Body>,
    /// The bytes of messages that were not taken yet.
    bytes: BytesMut,
}

impl GrpcStream {
    /// The messages of an answer, unless its headers say that it is an error.
    pub(super) fn new(
        version: Version,
        operation: Operation,
        answer: Answer,
    ) -> Result<Self, Fault> {
        let result = result_of(operation, answer.headers());
        let has_ended = result.transpose()?.is_some();
        let body = (!has_ended).then(|| answer.into_body());
        Ok(Self { version, operation, body, bytes: BytesMut::new() })
    }

    /// The next event, if all of it has arrived.
    pub(super) fn ready(&mut self, exchange: &Exchange) -> Option<Result<StreamResponse>> {
        let message = self.message(exchange, exchange.client.settings.block_limit).transpose()?;
        Some(message.and_then(|message| grpc_messages::read(self.version, &message)))
    }

    /// Reads a piece of the answer. Returns whether there may be more.
    pub(super) async fn read(&mut self, exchange: &Exchange) -> Result<bool, Fault> {
        let Some(body) = &mut self.body else { return Ok(false) };
        let frame = match exchange.in_time(body.frame()).await? {
            Some(Ok(frame)) => frame,
            Some(Err(error)) => return Err(Fault::of_transport(&exchange.url, error)),
            None => return Err(cut_off(exchange)),
        };
        match frame.into_data() {
            Ok(data) => {
                self.bytes.extend_from_slice(&data);
                Ok(true)
            }
            Err(frame) => {
                self.body = None;
                let trailers = frame.into_trailers().unwrap_or_default();
                result_of(self.operation, &trailers).unwrap_or_else(|| Err(cut_off(exchange)))?;
                if self.bytes.is_empty() { Ok(false) } else { Err(cut_off(exchange)) }
            }
        }
    }

    /// The message of an answer that has one.
    pub(super) async fn only_message(mut self, exchange: &Exchange) -> Result<Bytes, Fault> {
        let limit = exchange.client.settings.answer_limit;
        let mut found = None;
        loop {
            while let Some(message) = self.message(exchange, limit).map_err(Fault::Lasting)? {
                if found.replace(message).is_some() {
                    let status = exchange.garbage("several messages in place of one");
                    return Err(Fault::Lasting(status));
                }
            }
            // A message counts only with the status after it.
            if !self.read(exchange).await? {
                let missing = || Fault::Lasting(exchange.garbage("an answer without a message"));
                return found.ok_or_else(missing);
            }
        }
    }

    /// Takes the next message of at most this number of bytes, if all of it has arrived.
    fn message(&mut self, exchange: &Exchange, limit: usize) -> Result<Option<Bytes>> {
        let length = match split_frame(&self.bytes) {
            Ok(Some(frame)) => Some(frame.message.len()),
            Ok(None) => None,
            Err(FrameError { .. }) => return Err(exchange.garbage("a compressed message")),
        };
        let bytes = length.unwrap_or_else(|| self.bytes.len().saturating_sub(PREFIX_BYTES));
        if bytes > limit {
            return Err(exchange.too_large("a message", limit));
        }
        let Some(length) = length else { return Ok(None) };
        self.bytes.advance(PREFIX_BYTES);
        Ok(Some(self.bytes.split_to(length).freeze()))
    }
}

/// The fault of an answer that ends without a status, or within a message.
fn cut_off(exchange: &Exchange) -> Fault {
    let message = format!("{} ended the answer before its status", Place(&exchange.url));
    Fault::Broken(Status::new(StatusCode::Unavailable, message))
}
