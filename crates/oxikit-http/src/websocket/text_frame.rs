//! Texts that are sent to many peers.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;
use tokio_tungstenite::tungstenite::Utf8Bytes;

/// Length of the longest header of a frame without a mask.
const MAX_HEADER: usize = 10;
/// The first byte of a whole message of text.
const TEXT: u8 = 0x81;

/// A text as a frame that a server sends. Clones share it: it is encoded once, however many peers
/// it is [sent](super::Socket::send_frame) to.
///
/// ```
/// use oxikit_http::websocket::TextFrame;
///
/// let frame = TextFrame::from("hello");
/// assert_eq!(&*frame, "hello");
/// assert_eq!(frame.as_bytes(), b"\x81\x05hello");
/// ```
#[derive(Clone)]
pub struct TextFrame(Arc<Parts>);

struct Parts {
    /// Header and text.
    frame: Bytes,
    text: Utf8Bytes,
}

impl TextFrame {
    /// A value as JSON.
    ///
    /// # Errors
    ///
    /// If the value cannot be written as JSON.
    pub fn json(value: &impl Serialize) -> serde_json::Result<Self> {
        let mut room = vec![0; MAX_HEADER];
        serde_json::to_writer(&mut room, value)?;
        Ok(Self::of(room))
    }

    /// The whole frame.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0.frame
    }

    /// The text, which shares the memory of the frame.
    pub(super) fn text(&self) -> Utf8Bytes {
        self.0.text.clone()
    }

    /// The bytes of the frame from a place on, which share its memory.
    pub(super) fn rest(&self, from: usize) -> Bytes {
        self.0.frame.slice(from..)
    }

    /// A frame of a text behind room for its header.
    fn of(mut room: Vec<u8>) -> Self {
        let length = room.len() - MAX_HEADER;
        let start = match (u8::try_from(length), u16::try_from(length)) {
            (Ok(short @ ..=125), _) => {
                room[MAX_HEADER - 1] = short;
                MAX_HEADER - 2
            }
            (_, Ok(medium)) => {
                room[MAX_HEADER - 3] = 126;
                room[MAX_HEADER - 2..MAX_HEADER].copy_from_slice(&medium.to_be_bytes());
                MAX_HEADER - 4
            }
            _ => {
                room[1] = 127;
                room[2..MAX_HEADER].copy_from_slice(&(length as u64).to_be_bytes());
                0
            }
        };
        room[start] = TEXT;
        let room = Bytes::from(room);
        // All of it was text before.
        let text = Utf8Bytes::try_from(room.slice(MAX_HEADER..)).unwrap_or_default();
        Self(Arc::new(Parts { frame: room.slice(start..), text }))
    }
}

impl From<&str> for TextFrame {
    fn from(text: &str) -> Self {
        let mut room = vec![0; MAX_HEADER];
        room.extend_from_slice(text.as_bytes());
        Self::of(room)
    }
}

impl Deref for TextFrame {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0.text
    }
}

impl PartialEq for TextFrame {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for TextFrame {}

impl fmt::Debug for TextFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

#[cfg(test)]
mod tests {
    use tokio_tungstenite::tungstenite::protocol::frame::Frame;
    use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};

    use super::*;

    #[test]
    fn a_frame_is_the_one_that_the_library_writes() {
        for length in [0, 1, 125, 126, 127, 65_535, 65_536, 70_000] {
            let text = "x".repeat(length);
            let mut expected = Vec::new();
            let frame = Frame::message(text.clone(), OpCode::Data(Data::Text), true);
            frame.format(&mut expected).unwrap();
            let frame = TextFrame::from(text.as_str());
            assert!(frame.as_bytes() == expected, "{length}");
            assert!(*frame == *text, "{length}");
        }
        let json = TextFrame::json(&["a", "b"]).unwrap();
        assert_eq!((&*json, json.as_bytes()[1]), (r#"["a","b"]"#, 9));
    }
}
