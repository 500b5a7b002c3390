//! Action HTTP: the body of a call, the body of a response, and the blocks of one that streams.
//!
//! A stream is one block for each chunk, then one with the result or the error. Servers
//! write the constants around a payload that writes itself; clients read an
//! [`ActionReply`].
//!
//! ```
//! use oxikit_wire::action_http::{ActionReply, BLOCK_END, MESSAGE_BLOCK};
//!
//! let block = format!("{MESSAGE_BLOCK}[1,2]{BLOCK_END}");
//! let json = block.strip_prefix("data: ").unwrap();
//! let reply: ActionReply<'_> = serde_json::from_str(json).unwrap();
//! assert_eq!(reply.message.map(|chunk| chunk.get()), Some("[1,2]"));
//! ```

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::part::present;

/// Start of a block with a chunk; the chunk and [`BLOCK_END`] follow.
pub const MESSAGE_BLOCK: &str = "data: {\"message\":";

/// Start of the last block of a stream that succeeded; the output and [`BLOCK_END`] follow.
pub const RESULT_BLOCK: &str = "data: {\"result\":";

/// Start of the last block of a stream that failed; the error and [`BLOCK_END`] follow.
pub const ERROR_BLOCK: &str = "error: {\"error\":";

/// End of a block.
pub const BLOCK_END: &str = "}\n\n";

/// Start of the body of a response that does not stream; the output and `}` follow.
pub const RESULT_BODY: &str = "{\"result\":";

/// The body of a call as a client writes it.
#[derive(Debug, Serialize)]
pub struct ActionCall<'a, In: ?Sized> {
    /// The input; absent for an action without input, which is not the same as `null`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<&'a In>,
    /// The value that a conversation starts with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub init: Option<&'a RawValue>,
}

/// The body of a call as a server reads it. A member that is `null` is present.
#[derive(Debug, Default, Deserialize)]
pub struct ActionCallText<'a> {
    /// The input.
    #[serde(default, borrow, deserialize_with = "present")]
    pub data: Option<&'a RawValue>,
    /// The value that a conversation starts with.
    #[serde(default, borrow, deserialize_with = "present")]
    pub init: Option<&'a RawValue>,
}

/// The JSON of a block, or of the body of a response: one member is present. A member
/// that is `null` is present.
#[derive(Debug, Default, Deserialize)]
pub struct ActionReply<'a> {
    /// A chunk.
    #[serde(default, borrow, deserialize_with = "present")]
    pub message: Option<&'a RawValue>,
    /// The output.
    #[serde(default, borrow, deserialize_with = "present")]
    pub result: Option<&'a RawValue>,
    /// Why the action failed.
    #[serde(default, deserialize_with = "present")]
    pub error: Option<Value>,
}
