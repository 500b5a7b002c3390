//! Finds where the requests of a connection begin and end, strictly.
//!
//! A proxy and the server behind it must agree on that, or a client can smuggle a request past
//! the proxy. hyper accepts a few forms that others read differently: `Content-Length` beside
//! `Transfer-Encoding`, lines that end without a carriage return, `Content-Length` twice. This
//! state machine follows the bytes of a connection far enough to refuse these forms. It does
//! not parse requests, and stores no more than the beginning of one line.

use memchr::memchr;

/// Maximum number of bytes that are stored of a line that arrives in pieces. The lines that
/// decide the framing are shorter; a longer one of them is refused.
const LINE: usize = 128;
/// Maximum number of hexadecimal digits of a chunk size: 64 bits. More are refused.
const SIZE_DIGITS: usize = 16;

/// The state of one connection.
#[derive(Debug)]
pub(crate) struct Framing {
    place: Place,
    /// The line so far, if it began in an earlier piece.
    line: [u8; LINE],
    /// Its whole length, which may be more than is stored.
    length: usize,
    /// Whether its last byte was a carriage return.
    ends_with_cr: bool,
    head: Head,
}

/// The part of a request that the next byte belongs to.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Place {
    /// A line of the head.
    Head,
    /// A body with this many bytes left.
    Body(u64),
    /// The line with the size of a chunk.
    ChunkSize,
    /// A chunk with this many bytes left.
    Chunk(u64),
    /// The empty line after the bytes of a chunk.
    ChunkEnd,
    /// A line of the trailer.
    Trailer,
    /// The client has asked for a WebSocket. It may send nothing until the server has responded,
    /// because the protocol of the next bytes depends on the response.
    Held,
    /// Another protocol: its bytes are not checked.
    Upgraded,
}

/// The facts of the head that is being read, as far as they decide the framing.
#[derive(Debug, Default, Clone, Copy)]
struct Head {
    has_line: bool,
    is_get: bool,
    wants_socket: bool,
    body_length: Option<u64>,
    is_chunked: bool,
}

impl Default for Framing {
    fn default() -> Self {
        let head = Head::default();
        Self { place: Place::Head, line: [0; LINE], length: 0, ends_with_cr: false, head }
    }
}

impl Framing {
    /// Follows these bytes. `Err` is the index of the first byte that is not allowed.
    pub(crate) fn read(&mut self, bytes: &[u8]) -> Result<(), usize> {
        // Bodies and chunks are skipped as a whole, lines are looked at. One call may cross several
        // parts, and a part may be spread over several calls: `place` holds what remains of it.
        let mut at = 0;
        while at < bytes.len() {
            let rest = (bytes.len() - at) as u64;
            match &mut self.place {
                Place::Upgraded => return Ok(()),
                // A client that asks for another protocol has to wait for the response.
                Place::Held => return Err(at),
                Place::Body(left) | Place::Chunk(left) if *left > rest => {
                    *left -= rest;
                    return Ok(());
                }
                Place::Body(left) => {
                    at += usize::try_from(*left).unwrap_or(usize::MAX);
                    self.begin_head();
                }
                Place::Chunk(left) => {
                    at += usize::try_from(*left).unwrap_or(usize::MAX);
                    self.place = Place::ChunkEnd;
                }
                Place::Head | Place::ChunkSize | Place::ChunkEnd | Place::Trailer => {
                    at += self.read_line(&bytes[at..]).map_err(|offset| at + offset)?;
                }
            }
        }
        Ok(())
    }

    /// Whether nothing may be read until the server has answered.
    pub(crate) fn is_held(&self) -> bool {
        self.place == Place::Held
    }

    /// Notes the first bytes of the response to a request to change the protocol.
    pub(crate) fn answered(&mut self, bytes: &[u8]) {
        if bytes.starts_with(b"HTTP/1.1 101") {
            self.place = Place::Upgraded;
        } else {
            self.begin_head();
        }
    }

    /// Expects the next request.
    fn begin_head(&mut self) {
        self.place = Place::Head;
        self.head = Head::default();
    }

    /// Reads a line, or the part of it that has arrived. Returns the number of bytes read, or
    /// the index of the byte that is not allowed: a line ends with CR LF, and neither of the two
    /// occurs alone.
    fn read_line(&mut self, bytes: &[u8]) -> Result<usize, usize> {
        let end = memchr(b'\n', bytes);
        let piece = &bytes[..end.unwrap_or(bytes.len())];
        if self.ends_with_cr && !piece.is_empty() {
            return Err(0);
        }
        if let Some(cr) = memchr(b'\r', piece)
            && cr + 1 < piece.len()
        {
            return Err(cr + 1);
        }
        if let Some(last) = piece.last() {
            self.ends_with_cr = *last == b'\r';
        }
        let Some(end) = end else {
            self.keep(piece);
            return Ok(piece.len());
        };
        if !self.ends_with_cr {
            return Err(end);
        }
        // Most lines arrive in one piece and are read where they are, without a copy.
        let is_read = if self.length == 0 {
            self.understand(&piece[..piece.len() - 1], false)
        } else {
            self.keep(piece);
            // Without the carriage return.
            let (length, line) = (self.length - 1, self.line);
            self.understand(&line[..length.min(LINE)], length > LINE)
        };
        self.length = 0;
        self.ends_with_cr = false;
        is_read.then_some(end + 1).ok_or(end)
    }

    /// Stores a piece of a line, as far as there is room; the length counts all of it.
    fn keep(&mut self, piece: &[u8]) {
        let from = self.length.min(LINE);
        let kept = piece.len().min(LINE - from);
        self.line[from..from + kept].copy_from_slice(&piece[..kept]);
        self.length += piece.len();
    }

    /// Reads a whole line; false if it is not allowed. `is_cut` says that the line is longer
    /// than `line`.
    fn understand(&mut self, line: &[u8], is_cut: bool) -> bool {
        match self.place {
            Place::Head if line.is_empty() => {
                self.end_head();
                true
            }
            Place::Head => self.head.read(line, is_cut),
            Place::ChunkSize => match chunk_size(line).filter(|_| !is_cut) {
                Some(0) => {
                    self.place = Place::Trailer;
                    true
                }
                Some(size) => {
                    self.place = Place::Chunk(size);
                    true
                }
                None => false,
            },
            Place::ChunkEnd => {
                self.place = Place::ChunkSize;
                line.is_empty()
            }
            Place::Trailer if line.is_empty() => {
                self.begin_head();
                true
            }
            Place::Trailer => !is_folded(line),
            Place::Body(_) | Place::Chunk(_) | Place::Held | Place::Upgraded => true,
        }
    }

    /// Decides by the headers what follows the head. A `GET` for a WebSocket is held only without a
    /// body, which hyper reads first.
    fn end_head(&mut self) {
        let Head { has_line, is_get, wants_socket, body_length, is_chunked } = self.head;
        self.place = match body_length {
            // An empty line before a request means nothing.
            _ if !has_line => Place::Head,
            _ if is_chunked => Place::ChunkSize,
            Some(length) if length > 0 => Place::Body(length),
            _ if is_get && wants_socket => Place::Held,
            _ => return self.begin_head(),
        };
    }
}

impl Head {
    fn read(&mut self, line: &[u8], is_cut: bool) -> bool {
        if !self.has_line {
            self.has_line = true;
            self.is_get = line.starts_with(b"GET ");
            return !is_folded(line);
        }
        if is_folded(line) {
            return false;
        }
        // A line without a colon is refused by hyper.
        let Some(colon) = memchr(b':', line) else { return true };
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
        // Exactly one of the two headers may define the end of the body, and only once: with both,
        // or with two lengths, a proxy and the server could use different ones.
        if is("content-length") {
            let is_first = self.body_length.is_none() && !self.is_chunked && !is_cut;
            self.body_length = number(value, 10).filter(|_| is_first);
            return self.body_length.is_some();
        }
        if is("transfer-encoding") {
            let is_first = self.body_length.is_none() && !self.is_chunked && !is_cut;
            self.is_chunked = is_first && value.eq_ignore_ascii_case(b"chunked");
            return self.is_chunked;
        }
        if is("upgrade") {
            self.wants_socket |= value.eq_ignore_ascii_case(b"websocket");
        }
        true
    }
}

/// Whether this line continues the one before it (obsolete line folding).
fn is_folded(line: &[u8]) -> bool {
    matches!(line.first(), Some(b' ' | b'\t'))
}

/// The size of a chunk. Chunk extensions, after a semicolon, are ignored.
fn chunk_size(line: &[u8]) -> Option<u64> {
    let size = line.split(|byte| *byte == b';').next()?;
    number(size, 16).filter(|_| size.len() <= SIZE_DIGITS)
}

/// Parses digits only: no sign, no spaces.
fn number(text: &[u8], radix: u32) -> Option<u64> {
    let is_digit = |byte: &u8| char::from(*byte).is_digit(radix);
    let text = str::from_utf8(text).ok().filter(|text| text.as_bytes().iter().all(is_digit))?;
    u64::from_str_radix(text, radix).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads the text in pieces of every length; all must refuse the same byte.
    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        for length in (1..=text.len().min(40)).chain([text.len().max(1)]) {
            let mut framing = Framing::default();
            let mut read = 0;
            let mut refused = None;
            for piece in text.as_bytes().chunks(length) {
                if let Err(at) = framing.read(piece) {
                    refused = Some(&text[..read + at]);
                    break;
                }
                read += piece.len();
            }
            assert_eq!(refused, expected, "in pieces of {length}: {text:?}");
        }
    }

    const GOOD: &str = "POST /a HTTP/1.1\r\nHost: localhost\r\n";

    #[test]
    fn requests_that_mean_one_thing_are_read() {
        let long = "v".repeat(300);
        for head in [
            "\r\n".to_owned(),
            "Content-Length: 3\r\n\r\nabc".to_owned(),
            "content-length:\t3 \r\n\r\na\n\r".to_owned(),
            "Content-Length: 0\r\nUpgrade: websocket\r\n\r\n".to_owned(),
            "Transfer-Encoding: chunked\r\n\r\n3\r\na\nc\r\n0\r\n\r\n".to_owned(),
            "Transfer-Encoding: Chunked\r\n\r\nA;x=1\r\n0123456789\r\n00\r\nx: y\r\n\r\n"
                .to_owned(),
            format!("X-Long: {long}\r\nUpgrade: h2c\r\n\r\n"),
        ] {
            check(&format!("{GOOD}{head}"), None);
            check(&format!("{GOOD}{head}{GOOD}{head}"), None);
            check(&format!("\r\n\r\n{GOOD}{head}\r\n{GOOD}\r\n"), None);
        }
    }

    #[test]
    fn what_two_readers_could_read_differently_is_refused_where_it_stands() {
        for (good, bad) in [
            ("Content-Length: 3\r\nTransfer-Encoding: chunked\r", "\n\r\nabc"),
            ("Transfer-Encoding: chunked\r\ncontent-length: 3\r", "\n\r\nabc"),
            ("Content-Length: 3\r\nContent-Length: 3\r", "\n\r\nabc"),
            ("Content-Length: 3, 3\r", "\n\r\nabc"),
            ("Content-Length: \r", "\n\r\n"),
            ("Transfer-Encoding: gzip, chunked\r", "\n\r\n"),
            ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r", "\n\r\n"),
            ("X: 1", "\n\r\n"),
            ("X: 1\r\n", "\n"),
            ("X: 1\r", "Y: 2\r\n\r\n"),
            ("X: 1\r", "\r\n\r\n"),
            ("X: 1\r\n folded\r", "\n\r\n"),
            ("Transfer-Encoding: chunked\r\n\r\n+3\r", "\nabc\r\n0\r\n\r\n"),
            ("Transfer-Encoding: chunked\r\n\r\n0x3\r", "\nabc\r\n0\r\n\r\n"),
            ("Transfer-Encoding: chunked\r\n\r\n3 \r", "\nabc\r\n0\r\n\r\n"),
            ("Transfer-Encoding: chunked\r\n\r\n\r", "\nabc\r\n0\r\n\r\n"),
            ("Transfer-Encoding: chunked\r\n\r\n3", "\nabc\r\n0\r\n\r\n"),
            ("Transfer-Encoding: chunked\r\n\r\n3\r\nabcd\r", "\n0\r\n\r\n"),
            ("Transfer-Encoding: chunked\r\n\r\n3\r\nabc", "\n0\r\n\r\n"),
            ("Transfer-Encoding: chunked\r\n\r\n11111111111111111\r", "\nabc"),
            ("Transfer-Encoding: chunked\r\n\r\n0\r\nx: y", "\n\r\n"),
        ] {
            let first = format!("{GOOD}Content-Length: 2\r\n\r\n\n\r");
            for before in ["", &first] {
                let good = format!("{before}{GOOD}{good}");
                check(&format!("{good}{bad}"), Some(&good));
            }
        }
        let long = format!("{GOOD}Content-Length:{}3\r", " ".repeat(LINE));
        let mut framing = Framing::default();
        assert!(long.as_bytes().chunks(50).all(|piece| framing.read(piece).is_ok()));
        assert_eq!(framing.read(b"\n\r\nabc"), Err(0));
    }

    #[test]
    fn another_protocol_is_left_alone_once_the_server_has_agreed() {
        let request = "GET /socket HTTP/1.1\r\nupgrade: WebSocket\r\n\r\n";
        let mut framing = Framing::default();
        framing.read(request.as_bytes()).unwrap();
        assert!(framing.is_held());
        assert_eq!(framing.read(b"\x81\x05hello"), Err(0), "the server has not agreed yet");
        framing.answered(b"HTTP/1.1 101 Switching Protocols\r\n");
        assert!(framing.read(b"\x81\x05\n\n\r\0").is_ok());

        let mut framing = Framing::default();
        framing.read(request.as_bytes()).unwrap();
        framing.answered(b"HTTP/1.1 403 Forbidden\r\n");
        assert!(!framing.is_held());
        assert_eq!(framing.read(b"GET / HTTP/1.1\n"), Err(14));
    }
}
