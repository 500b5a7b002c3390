//! Frames: each message is preceded by a byte that says whether it is compressed, and by its
//! length in four bytes.

use oxikit_wire::StatusCode;
use oxikit_wire::a2a::Version;

use crate::codec::Encode;

/// Number of bytes before a message.
pub const PREFIX_BYTES: usize = 5;

/// A body that is not the one message that a method takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrameError {
    /// The status to answer with.
    pub code: StatusCode,
    /// The reason.
    pub message: &'static str,
}

/// The first message of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The bytes of the message, without the prefix.
    pub message: &'a [u8],
    /// The bytes after it.
    pub rest: &'a [u8],
}

/// Writes a message with its prefix.
///
/// ```
/// use oxikit_a2a_grpc::{read_only_frame, write_frame};
/// use oxikit_wire::a2a::{GetTaskRequest, Version};
///
/// let request = GetTaskRequest { id: "t".to_owned(), ..GetTaskRequest::default() };
/// let mut body = Vec::new();
/// write_frame(&mut body, &request, Version::V1_0);
/// assert_eq!(body, b"\0\0\0\0\x03\x12\x01t");
/// assert_eq!(read_only_frame(&body).unwrap(), b"\x12\x01t");
/// ```
pub fn write_frame(out: &mut Vec<u8>, message: &dyn Encode, version: Version) {
    let message = message.encode(version);
    // A message of 4 GiB cannot be written; all of ours are far smaller.
    let length = u32::try_from(message.len()).unwrap_or(u32::MAX);
    out.push(0);
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(&message);
}

/// The only message of a body.
///
/// # Errors
///
/// If the body is cut off, has no message or several, or the message is compressed.
pub fn read_only_frame(body: &[u8]) -> Result<&[u8], FrameError> {
    match split_frame(body)? {
        Some(Frame { message, rest: [] }) => Ok(message),
        Some(_) => Err(FrameError {
            code: StatusCode::Unimplemented,
            message: "the request has several messages; this method takes one",
        }),
        None if body.is_empty() => Err(FrameError {
            code: StatusCode::Unimplemented,
            message: "the request has no message; this method takes one",
        }),
        None => Err(FrameError {
            code: StatusCode::InvalidArgument,
            message: "the request ends within a message",
        }),
    }
}

/// The first message of a stream, and the bytes after it; `None` if it is not complete yet.
///
/// ```
/// use oxikit_a2a_grpc::split_frame;
///
/// let frame = split_frame(b"\0\0\0\0\x02ab\0\0").unwrap().unwrap();
/// assert_eq!((frame.message, frame.rest), (&b"ab"[..], &b"\0\0"[..]));
/// assert_eq!(split_frame(frame.rest), Ok(None));
/// ```
///
/// # Errors
///
/// If the message is compressed.
pub fn split_frame(bytes: &[u8]) -> Result<Option<Frame<'_>>, FrameError> {
    let Some((prefix, rest)) = bytes.split_first_chunk::<PREFIX_BYTES>() else { return Ok(None) };
    let [flag, length @ ..] = prefix;
    if *flag != 0 {
        return Err(FrameError {
            code: StatusCode::Unimplemented,
            message: "the message is compressed; send it plain",
        });
    }
    let length = usize::try_from(u32::from_be_bytes(*length)).unwrap_or(usize::MAX);
    Ok(rest.split_at_checked(length).map(|(message, rest)| Frame { message, rest }))
}
