//! Parses the HTTP answers of a server, independent of the pieces in which they arrive. Only
//! their status matters; bodies are skipped.

use std::fmt;

/// Maximum bytes of an answer's head. A larger one is refused: it is not from a telemetry server.
const MAX_HEAD: usize = 16 * 1024;
/// Maximum number of header fields of an answer. More are refused.
const MAX_FIELDS: usize = 64;
/// Maximum bytes of the line before a chunk, or of a field after the last chunk. A longer one is
/// refused.
const MAX_LINE: usize = 1024;

/// The answer to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) status: u16,
    /// Whether the server closes the connection after this answer.
    pub(super) closes: bool,
}

/// The error for bytes that are not HTTP.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Malformed;

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the answer is not HTTP")
    }
}

impl std::error::Error for Malformed {}

/// A parser that is fed with the bytes of a connection and returns answers.
#[derive(Debug, Default)]
pub(super) struct Answers {
    unread: Vec<u8>,
    part: Part,
}

/// The part of an answer that is parsed next.
#[derive(Debug, Default, Clone, Copy)]
enum Part {
    #[default]
    Head,
    Body(Answer, u64),
    ChunkSize(Answer),
    /// A chunk with the end of its line.
    Chunk(Answer, u64),
    Trailer(Answer),
}

/// The way in which the end of a body is marked.
enum Length {
    Bytes(u64),
    Chunked,
    UntilClosed,
}

impl Answers {
    /// Adds bytes that were read from the connection.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        self.unread.extend_from_slice(bytes);
    }

    /// The next complete answer; `None` if more bytes are needed.
    pub(super) fn next(&mut self) -> Result<Option<Answer>, Malformed> {
        loop {
            let step = match self.part {
                Part::Head => self.head()?,
                Part::Body(answer, left) => self.skip(left).map(|left| match left {
                    0 => Step::Done(answer),
                    left => Step::Next(Part::Body(answer, left)),
                }),
                Part::ChunkSize(answer) => self.chunk_size(answer)?,
                Part::Chunk(answer, left) => self.skip(left).map(|left| match left {
                    0 => Step::Next(Part::ChunkSize(answer)),
                    left => Step::Next(Part::Chunk(answer, left)),
                }),
                Part::Trailer(answer) => self.trailer(answer)?,
            };
            match step {
                None => return Ok(None),
                Some(Step::Next(part)) => self.part = part,
                Some(Step::Done(answer)) => {
                    self.part = Part::Head;
                    return Ok(Some(answer));
                }
            }
        }
    }

    fn head(&mut self) -> Result<Option<Step>, Malformed> {
        let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
        let mut response = httparse::Response::new(&mut fields);
        let end = match response.parse(&self.unread).map_err(|_| Malformed)? {
            httparse::Status::Complete(end) => end,
            httparse::Status::Partial if self.unread.len() > MAX_HEAD => return Err(Malformed),
            httparse::Status::Partial => return Ok(None),
        };
        let status = response.code.ok_or(Malformed)?;
        let mut closes = response.version == Some(0);
        let mut length = Length::UntilClosed;
        for field in response.headers.iter() {
            let value = str::from_utf8(field.value).map_err(|_| Malformed)?.trim();
            if field.name.eq_ignore_ascii_case("connection") {
                closes = has_word(value, "close") || (closes && !has_word(value, "keep-alive"));
            } else if field.name.eq_ignore_ascii_case("transfer-encoding") {
                length = Length::Chunked;
            } else if field.name.eq_ignore_ascii_case("content-length")
                && !matches!(length, Length::Chunked)
            {
                length = Length::Bytes(value.parse().map_err(|_| Malformed)?);
            }
        }
        self.unread.drain(..end);
        let answer = Answer { status, closes };
        Ok(Some(match (status, length) {
            // No request asks for another protocol.
            (101, _) => return Err(Malformed),
            (100..200, _) => Step::Next(Part::Head),
            (204 | 304, _) => Step::Done(answer),
            (_, Length::Bytes(length)) => Step::Next(Part::Body(answer, length)),
            (_, Length::Chunked) => Step::Next(Part::ChunkSize(answer)),
            (_, Length::UntilClosed) => Step::Done(Answer { status, closes: true }),
        }))
    }

    fn chunk_size(&mut self, answer: Answer) -> Result<Option<Step>, Malformed> {
        Ok(match httparse::parse_chunk_size(&self.unread).map_err(|_| Malformed)? {
            httparse::Status::Partial if self.unread.len() > MAX_LINE => return Err(Malformed),
            httparse::Status::Partial => None,
            httparse::Status::Complete((end, size)) => {
                self.unread.drain(..end);
                Some(Step::Next(match size {
                    0 => Part::Trailer(answer),
                    size => Part::Chunk(answer, size.checked_add(2).ok_or(Malformed)?),
                }))
            }
        })
    }

    fn trailer(&mut self, answer: Answer) -> Result<Option<Step>, Malformed> {
        let Some(end) = self.unread.iter().position(|byte| *byte == b'\n') else {
            return if self.unread.len() > MAX_LINE { Err(Malformed) } else { Ok(None) };
        };
        let line: Vec<u8> = self.unread.drain(..=end).collect();
        let is_last = matches!(line.as_slice(), b"\r\n" | b"\n");
        Ok(Some(if is_last { Step::Done(answer) } else { Step::Next(Part::Trailer(answer)) }))
    }

    /// Skips up to `left` bytes of those that have arrived. Returns the number that is still to be
    /// skipped, or `None` if no bytes have arrived.
    fn skip(&mut self, left: u64) -> Option<u64> {
        let here = left.min(self.unread.len() as u64);
        if here == 0 && left > 0 {
            return None;
        }
        self.unread.drain(..here as usize);
        Some(left - here)
    }
}

/// The result of parsing one part.
enum Step {
    Next(Part),
    Done(Answer),
}

fn has_word(list: &str, word: &str) -> bool {
    list.split(',').any(|item| item.trim().eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANY: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nOK\
        HTTP/1.1 100 Continue\r\n\r\n\
        HTTP/1.1 500 Internal Server Error\r\nTransfer-Encoding: chunked\r\n\r\n\
        5;a=b\r\nhello\r\n1\r\n!\r\n0\r\nx-check: 1\r\n\r\n\
        HTTP/1.1 204 No Content\r\n\r\n\
        HTTP/1.1 200 OK\r\nConnection: Close\r\nContent-Length: 0\r\n\r\n";

    fn answer(status: u16, closes: bool) -> Answer {
        Answer { status, closes }
    }

    #[test]
    fn answers_are_read_in_whatever_pieces_they_arrive() {
        let expected =
            [answer(200, false), answer(500, false), answer(204, false), answer(200, true)];
        for size in 1..=MANY.len() {
            let mut answers = Answers::default();
            let mut seen = Vec::new();
            for piece in MANY.as_bytes().chunks(size) {
                answers.feed(piece);
                while let Some(answer) = answers.next().unwrap() {
                    seen.push(answer);
                }
            }
            assert_eq!(seen, expected, "pieces of {size}");
            assert!(answers.unread.is_empty());
        }
    }

    #[track_caller]
    fn check(text: &str, expected: Result<Option<Answer>, Malformed>) {
        let mut answers = Answers::default();
        answers.feed(text.as_bytes());
        assert_eq!(answers.next(), expected, "{text:?}");
    }

    #[test]
    fn an_answer_without_a_length_ends_the_connection() {
        check("HTTP/1.1 200 OK\r\n\r\nsome text", Ok(Some(answer(200, true))));
    }

    #[test]
    fn the_old_version_closes_unless_it_says_otherwise() {
        check("HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n", Ok(Some(answer(200, true))));
        check(
            "HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ncontent-length: 0\r\n\r\n",
            Ok(Some(answer(200, false))),
        );
    }

    #[test]
    fn an_answer_is_given_when_its_body_is_complete() {
        check("HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nOK", Ok(None));
        check("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nOK\r\n0\r\n", Ok(None));
    }

    #[test]
    fn what_is_no_answer_is_refused() {
        check("SSH-2.0-OpenSSH\r\n", Err(Malformed));
        check("HTTP/1.1 101 Switching\r\n\r\n", Err(Malformed));
        check("HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n", Err(Malformed));
        check("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", Err(Malformed));
        check(&format!("HTTP/1.1 200 OK\r\nx: {}", "a".repeat(MAX_HEAD)), Err(Malformed));
        check(
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffff\r\n",
            Err(Malformed),
        );
    }
}
