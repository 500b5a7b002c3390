//! Writes server-sent events. The caller owns the buffer and decides when it is sent.

use std::fmt;

/// Number of bytes after which a server sends its buffer without waiting for more events.
pub const PIECE_BYTES: usize = 32 * 1024;

/// Begins an event of this name. The caller writes its data, on one line, and calls
/// [`end_event`].
///
/// ```
/// use oxikit_http::sse::{begin_event, end_event, write_id};
///
/// let mut out = Vec::new();
/// write_id(&mut out, 7);
/// begin_event(&mut out, "chunk");
/// out.extend_from_slice(b"{\"a\":1}");
/// end_event(&mut out);
/// assert_eq!(out, b"id: 7\nevent: chunk\ndata: {\"a\":1}\n\n");
/// ```
pub fn begin_event(out: &mut Vec<u8>, name: &str) {
    out.extend_from_slice(b"event: ");
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\ndata: ");
}

/// Ends an event.
pub fn end_event(out: &mut Vec<u8>) {
    out.extend_from_slice(b"\n\n");
}

/// Writes a whole event whose data is JSON.
///
/// ```
/// let mut out = Vec::new();
/// oxikit_http::sse::write_event(&mut out, "done", b"{\"a\":\n1}");
/// assert_eq!(out, b"event: done\ndata: {\"a\":1}\n\n");
/// ```
pub fn write_event(out: &mut Vec<u8>, name: &str, json: &[u8]) {
    begin_event(out, name);
    let begin = out.len();
    out.extend_from_slice(json);
    join_lines(out, begin);
    end_event(out);
}

/// Writes the `id:` line of an event. A client that has lost its connection sends it back as
/// `Last-Event-ID` to resume there. It is called before [`begin_event`].
pub fn write_id(out: &mut Vec<u8>, id: impl fmt::Display) {
    out.extend_from_slice(format!("id: {id}\n").as_bytes());
}

/// Removes the line breaks of the JSON that starts at `begin`. In JSON they occur between
/// tokens only, so its meaning stays the same.
pub fn join_lines(out: &mut Vec<u8>, begin: usize) {
    let is_break = |byte: &u8| matches!(byte, b'\n' | b'\r');
    if out[begin..].iter().any(is_break) {
        let mut tail = out.split_off(begin);
        tail.retain(|byte| !is_break(byte));
        out.append(&mut tail);
    }
}

/// Replaces the characters beyond ASCII of the JSON that starts at `begin` by `\uXXXX`, and
/// removes its line breaks.
///
/// The official JavaScript client garbles a character whose bytes arrive in two reads, and
/// a server cannot know where the network divides them. JSON from outside may also have
/// line breaks between tokens, and two of them would end the event.
///
/// ```
/// let mut out = b"data: ".to_vec();
/// out.extend_from_slice("{\"a\":\n\"\u{e9}\"}".as_bytes());
/// oxikit_http::sse::escape_from(&mut out, 6);
/// assert_eq!(out, br#"data: {"a":"\u00e9"}"#);
/// ```
pub fn escape_from(out: &mut Vec<u8>, begin: usize) {
    // Without an early exit the compiler looks at many bytes at once.
    let is_special = |byte: &u8| (*byte > 0x7f) | (*byte == b'\n') | (*byte == b'\r');
    if !out[begin..].iter().fold(false, |found, byte| found | is_special(byte)) {
        return;
    }
    let text = String::from_utf8_lossy(&out.split_off(begin)).into_owned();
    for character in text.chars() {
        match character {
            // Only between tokens: JSON does not allow them inside strings.
            '\n' | '\r' => {}
            character if character.is_ascii() => out.push(character as u8),
            character => {
                let mut units = [0; 2];
                for unit in character.encode_utf16(&mut units) {
                    out.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
                }
            }
        }
    }
}
