//! One connection to the server, with many requests in flight (HTTP pipelining).
//!
//! It is not a general HTTP client. The server accepts one trace per request, so a busy
//! application sends thousands of small requests, and a general client costs more for each
//! of them than the run that it reports. All requests are posts of JSON whose
//! order does not matter, and they may be sent twice. So a batch is one write, its answers are
//! read one after the other, and requests without an answer are sent again on the next connection.
//! Only plain `http`; no redirects, no cookies, no compression.

use std::collections::VecDeque;
use std::io::{self, Write as _};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use super::answers::{Answer, Answers};
use super::batch::Request;
use super::server::Server;

/// Maximum time to open a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum time to write a batch, and to wait for one answer. Beyond it the connection is broken.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum number of requests in flight. It bounds what has to be sent again if the server does
/// not answer.
const MAX_REQUESTS: usize = 256;
/// Maximum bytes of the requests in flight, but at least one request.
const MAX_BYTES: usize = 256 * 1024;
/// Bytes of the read buffer.
const READ: usize = 16 * 1024;
/// While more answers than this are expected, the reader pauses for [`GATHER`], so that the thread
/// does not wake up for each of them. The saving was not measured separately.
const FEW: usize = 4;
/// Pause before a read while many answers are expected.
const GATHER: Duration = Duration::from_millis(1);

/// A connection to a server.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) server: Arc<Server>,
    stream: TcpStream,
    answers: Answers,
    /// The bytes of the batch. The buffer is kept to reuse its memory.
    text: Vec<u8>,
    read: Box<[u8]>,
}

/// The result of sending a batch.
#[derive(Debug)]
pub(super) struct Exchange {
    /// Number of requests that were answered.
    pub(super) answered: usize,
    /// Number of spans and log lines that the server refused.
    pub(super) refused: u64,
    /// Whether the connection can be used again, or the error that broke it.
    pub(super) stays_open: io::Result<bool>,
}

impl Connection {
    /// Connects to the first of the host's addresses that accepts a connection:
    /// `localhost` may resolve to `::1` first while the server listens at `127.0.0.1` only.
    pub(super) async fn open(server: Arc<Server>) -> io::Result<Self> {
        let address = (server.host.as_str(), server.port);
        let stream = timeout(CONNECT_TIMEOUT, TcpStream::connect(address)).await??;
        stream.set_nodelay(true)?;
        let read = vec![0; READ].into_boxed_slice();
        Ok(Self { server, stream, answers: Answers::default(), text: Vec::new(), read })
    }

    /// Sends the first of these requests in one write, and removes those that were
    /// answered.
    pub(super) async fn exchange(&mut self, requests: &mut VecDeque<Request>) -> Exchange {
        let sent = self.write_down(requests);
        // If the server closes the connection early, the write fails. The answers that it has
        // sent before are still read.
        let written = timeout(ANSWER_TIMEOUT, self.stream.write_all(&self.text)).await;
        let mut exchange = Exchange { answered: 0, refused: 0, stays_open: Ok(true) };
        while exchange.answered < sent {
            let answer = match self.answer(sent - exchange.answered).await {
                Ok(answer) => answer,
                Err(error) => {
                    exchange.stays_open = Err(error);
                    return exchange;
                }
            };
            exchange.answered += 1;
            let request = requests.pop_front();
            if !(200..300).contains(&answer.status) {
                exchange.refused += request.map_or(0, |request| request.counts);
            }
            if answer.closes {
                exchange.stays_open = Ok(false);
                return exchange;
            }
        }
        if !matches!(written, Ok(Ok(()))) {
            exchange.stays_open = Ok(false);
        }
        exchange
    }

    /// Writes the first requests into the buffer; returns their number.
    fn write_down(&mut self, requests: &VecDeque<Request>) -> usize {
        self.text.clear();
        let Server { authority, path, .. } = &*self.server;
        let mut many = 0;
        for Request { route, body, .. } in requests.iter().take(MAX_REQUESTS) {
            if many > 0 && self.text.len() + body.len() > MAX_BYTES {
                break;
            }
            let (route, length) = (route.path(), body.len());
            write!(
                self.text,
                "POST {path}{route} HTTP/1.1\r\nhost: {authority}\r\n\
                 content-type: application/json\r\ncontent-length: {length}\r\n\r\n"
            )
            .expect("a vector takes everything");
            self.text.extend_from_slice(body);
            many += 1;
        }
        many
    }

    /// The next answer; `to_come` answers are expected in all.
    async fn answer(&mut self, to_come: usize) -> io::Result<Answer> {
        let read = async {
            loop {
                if let Some(answer) = self.answers.next().map_err(io::Error::other)? {
                    return Ok(answer);
                }
                if to_come > FEW {
                    sleep(GATHER).await;
                }
                match self.stream.read(&mut self.read).await? {
                    0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                    many => self.answers.feed(&self.read[..many]),
                }
            }
        };
        timeout(ANSWER_TIMEOUT, read).await?
    }
}
