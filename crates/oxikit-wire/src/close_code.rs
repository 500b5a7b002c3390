//! Codes with which a WebSocket is closed: between a manager and a runtime, and by the prompt
//! manager.
//!
//! The numbers are those of RFC 6455 and of the registry that it refers to; those from 4000 on are
//! free for applications.

/// The application or its manager ends, or the peer did not answer a ping.
pub const GOING_AWAY: u16 = 1001;

/// The peer sent something that is not a WebSocket frame, or did not complete a message in time.
pub const PROTOCOL_ERROR: u16 = 1002;

/// A text message is not UTF-8.
pub const INVALID_TEXT: u16 = 1007;

/// The peer breaks a rule of the manager, such as a connection without a registration.
pub const POLICY_VIOLATION: u16 = 1008;

/// A message is larger than the receiver takes.
pub const TOO_LARGE: u16 = 1009;

/// The server has failed, such as when its store cannot be read.
pub const INTERNAL_ERROR: u16 = 1011;

/// The manager ends and may start again: the runtime connects again.
pub const RESTART: u16 = 1012;

/// The manager holds too much of unfinished messages: the runtime connects again later.
pub const TRY_AGAIN_LATER: u16 = 1013;

/// The prompt or fragment of the path does not exist, or was deleted.
pub const NOT_FOUND: u16 = 4004;
