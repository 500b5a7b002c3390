//! The JSON of the two bindings over HTTP, in both versions.

use oxikit_core::{Result, Status};
use oxikit_wire::a2a::{ErrorKind, ErrorReply, Operation, StreamResponse, Version};

use super::call::{Answered, Call};
use super::endpoint::Endpoint;
use super::error::{error_kind, reported, status_of};
use super::link::Asking;
use super::{http_json, jsonrpc};
use crate::exchange::Exchange;

/// A binding that is JSON over HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Json {
    Rpc,
    Http,
}

/// The form of the answers to an operation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Codec {
    binding: Json,
    version: Version,
    operation: Operation,
}

impl Codec {
    /// The request for a call, and the form of its answer.
    pub(super) fn encode(
        binding: Json,
        endpoint: &Endpoint,
        call: Call<'_>,
    ) -> Result<(Self, Asking)> {
        let codec = Self { binding, version: endpoint.version, operation: call.operation() };
        let asking = match binding {
            Json::Rpc => jsonrpc::request(endpoint, call)?,
            Json::Http => http_json::request(endpoint, call)?,
        };
        Ok((codec, asking))
    }

    /// The answer in the body of a response.
    pub(super) fn answer(self, exchange: &Exchange, body: &[u8]) -> Result<Answered> {
        match self.binding {
            Json::Rpc => jsonrpc::answer(self.operation, self.version, exchange, body),
            Json::Http => http_json::answer(self.operation, self.version, exchange, body),
        }
    }

    /// An event of a stream, and whether it is announced as the last one.
    pub(super) fn event(self, exchange: &Exchange, text: &[u8]) -> Result<(StreamResponse, bool)> {
        match self.binding {
            Json::Rpc => jsonrpc::event(self.version, exchange, text),
            Json::Http => http_json::event(self.version, exchange, text),
        }
    }

    /// The error in the body of a response that is not successful; `None` if the HTTP status says
    /// more.
    pub(super) fn error(self, http: u16, body: &[u8]) -> Option<Status> {
        match self.binding {
            Json::Rpc => reported(body),
            Json::Http => http_json::error(self.version, self.operation, http, body),
        }
    }

    /// Whether the operation may have another HTTP method at the server that answered this. The
    /// text of the specification and its proto file differ for subscriptions.
    pub(super) fn has_another_method(self, error: &Status) -> bool {
        self.binding == Json::Http
            && self.operation == Operation::SubscribeToTask
            && error_kind(error) == Some(ErrorKind::MethodNotFound)
    }

    /// The error of an event that was announced as one: a response, or the error alone.
    pub(super) fn event_error(self, exchange: &Exchange, text: &[u8]) -> Status {
        match serde_json::from_slice::<ErrorReply>(text) {
            Ok(reply) => status_of(reply),
            Err(_) => exchange.garbage("an event that is not an error of A2A"),
        }
    }
}
