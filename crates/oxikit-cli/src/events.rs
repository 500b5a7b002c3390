//! Parses the event stream (SSE) of a response as it arrives.

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use reqwest::Response;

use super::failure::Failure;

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Event {
    /// The field `event`; `message` if it is absent.
    pub(super) name: String,
    /// The field `data`, usually JSON.
    pub(super) data: String,
}

/// The events of a response.
pub(super) struct Events {
    pieces: BoxStream<'static, reqwest::Result<Bytes>>,
    parser: Parser,
}

impl Events {
    pub(super) fn new(response: Response) -> Self {
        Self { pieces: response.bytes_stream().boxed(), parser: Parser::default() }
    }

    /// The next event; `None` at the end of the response.
    pub(super) async fn next(&mut self) -> Result<Option<Event>, Failure> {
        loop {
            if let Some(event) = self.parser.next() {
                return Ok(Some(event));
            }
            match self.pieces.next().await {
                Some(Ok(piece)) => self.parser.rest.extend_from_slice(&piece),
                Some(Err(_)) => {
                    let message = "the developer tools ended before their response was complete: start them with `oxikit start`";
                    return Err(Failure::unavailable(message));
                }
                None => return Ok(None),
            }
        }
    }
}

/// Splits the received bytes into events.
#[derive(Debug, Default)]
struct Parser {
    rest: Vec<u8>,
    /// Number of bytes of `rest` that contain no end of an event. They are not searched again.
    seen: usize,
}

impl Parser {
    fn next(&mut self) -> Option<Event> {
        loop {
            // The search starts one byte early: the first of the two line breaks may have been the
            // last byte of the previous piece.
            let from = self.seen.saturating_sub(1);
            let end = self.rest[from..].windows(2).position(|pair| pair == b"\n\n");
            let Some(end) = end.map(|end| from + end) else {
                self.seen = self.rest.len();
                return None;
            };
            let event = read(&String::from_utf8_lossy(&self.rest[..end]));
            self.rest.drain(..end + 2);
            self.seen = 0;
            // A comment only keeps the connection alive.
            if event.is_some() {
                return event;
            }
        }
    }
}

fn read(block: &str) -> Option<Event> {
    let mut name = "message";
    let mut data: Option<String> = None;
    for line in block.lines() {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => name = value,
            "data" => match &mut data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => data = Some(value.to_owned()),
            },
            _ => {}
        }
    }
    data.map(|data| Event { name: name.to_owned(), data })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_found_wherever_the_pieces_end() {
        let text =
            "event: chunk\ndata: {\"a\":1}\n\n:\n\nid: 7\ndata: two\ndata: lines\n\ndata: cut";
        let event = |name: &str, data: &str| Event { name: name.into(), data: data.into() };
        let expected = [event("chunk", "{\"a\":1}"), event("message", "two\nlines")];
        for cut in 1..text.len() {
            let mut parser = Parser::default();
            let mut events = Vec::new();
            for piece in [&text[..cut], &text[cut..]] {
                parser.rest.extend_from_slice(piece.as_bytes());
                events.extend(std::iter::from_fn(|| parser.next()));
            }
            assert_eq!(events, expected, "cut at {cut}");
        }
    }
}
