//! One connection to the server, with many requests on their way at once.
//!
//! Not a general HTTP client, because it need not be one: the server takes one
//! trace a request, so a busy application has thousands of small ones, and a
//! client that is fit for anything costs more for each than the whole run that
//! is told. All requests here are posts of JSON without a meaning in their
//! order, and may be sent twice. So a batch is one write, its answers are
//! read one after the other, and what was not answered is sent again elsewhere.
//! Only plain `http`, no redirects, no cookies, no compression.

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

const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// For one answer, and for a batch to be taken from us.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// What is on its way at once: a server that answers late holds up no more.
const MAX_REQUESTS: usize = 256;
const MAX_BYTES: usize = 256 * 1024;
const READ: usize = 16 * 1024;
/// While more than a few answers are to come, they are let come together, so that
/// the thread need not wake up for each. What that saves was not measured by itself.
const FEW: usize = 4;
const GATHER: Duration = Duration::from_millis(1);

/// A connection to a server.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) server: Arc<Server>,
    stream: TcpStream,
    answers: Answers,
    /// What is written, kept for its room.
    text: Vec<u8>,
    read: Box<[u8]>,
}

/// What became of a batch.
#[derive(Debug)]
pub(super) struct Exchange {
    /// How many requests were answered.
    pub(super) answered: usize,
    /// How many spans and lines the server would not take.
    pub(super) refused: u64,
    /// Whether the connection can be used again, or how it broke.
    pub(super) stays_open: io::Result<bool>,
}

impl Connection {
    /// Connects to the first of the host's addresses where somebody listens:
    /// `localhost` may be `::1` first while the server is at `127.0.0.1` only.
    pub(super) async fn open(server: Arc<Server>) -> io::Result<Self> {
        let address = (server.host.as_str(), server.port);
        let stream = timeout(CONNECT_TIMEOUT, TcpStream::connect(address)).await??;
        stream.set_nodelay(true)?;
        let read = vec![0; READ].into_boxed_slice();
        Ok(Self { server, stream, answers: Answers::default(), text: Vec::new(), read })
    }

    /// Sends the first of these requests together and takes away those that were
    /// answered.
    pub(super) async fn exchange(&mut self, requests: &mut VecDeque<Request>) -> Exchange {
        let sent = self.write_down(requests);
        // A server that answers and closes early breaks the write; what it
        // answered is read all the same.
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

    /// Writes down the first requests: how many.
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

    /// The next answer, of so many to come.
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
