//! Events of the tools, as they come.

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use reqwest::Response;

use super::failure::Failure;

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Event {
    /// What kind; `message` if it is not said.
    pub(super) name: String,
    /// The data, mostly JSON.
    pub(super) data: String,
}

/// The events of an answer.
pub(super) struct Events {
    pieces: BoxStream<'static, reqwest::Result<Bytes>>,
    parser: Parser,
}

impl Events {
    pub(super) fn new(response: Response) -> Self {
        Self { pieces: response.bytes_stream().boxed(), parser: Parser::default() }
    }

    /// The next one; `None` when there are no more.
    pub(super) async fn next(&mut self) -> Result<Option<Event>, Failure> {
        loop {
            if let Some(event) = self.parser.next() {
                return Ok(Some(event));
            }
            match self.pieces.next().await {
                Some(Ok(piece)) => self.parser.rest.extend_from_slice(&piece),
                Some(Err(_)) => {
                    let message = "the tools ended in the middle of their answer";
                    return Err(Failure::nobody_there(message));
                }
                None => return Ok(None),
            }
        }
    }
}

/// Takes events out of what has come so far.
#[derive(Debug, Default)]
struct Parser {
    rest: Vec<u8>,
    /// So much of the rest was looked at already.
    seen: usize,
}

impl Parser {
    fn next(&mut self) -> Option<Event> {
        loop {
            let from = self.seen.saturating_sub(1);
            let end = self.rest[from..].windows(2).position(|pair| pair == b"\n\n");
            let Some(end) = end.map(|end| from + end) else {
                self.seen = self.rest.len();
                return None;
            };
            let event = read(&String::from_utf8_lossy(&self.rest[..end]));
            self.rest.drain(..end + 2);
            self.seen = 0;
            // A comment keeps the connection alive and says nothing.
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
