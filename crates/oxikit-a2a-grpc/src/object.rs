//! Objects that are messages of their own in this binding only.

use oxikit_wire::a2a::{PushConfig, StreamResponse};

/// Parameters of the operation that registers a webhook. They are not a [`PushConfig`] in version
/// 0.3.
#[derive(Debug, Clone, PartialEq)]
pub struct CreatePushRequest(
    /// The webhook.
    pub PushConfig,
);

/// An event of a stream, written with the mark of the last one that version 0.3 has.
#[derive(Debug, Clone, Copy)]
pub struct Event<'a> {
    /// The event.
    pub response: &'a StreamResponse,
    /// Whether the server ends the stream after it.
    pub is_last: bool,
}

/// The answer to the operation that removes a webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Empty;
