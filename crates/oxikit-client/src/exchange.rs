//! One request and its answer, within their limits of time and size.
//!
//! Whether a request may be repeated depends on its kind: [`Exchange::call`] runs an action and is
//! repeated only if no connection was made; [`Exchange::resume`] only reads.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use oxikit_core::{Status, StatusCode};
use oxikit_outgoing::OutgoingClient;
use oxikit_wire::headers;
use reqwest::Url;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::client::Client;
use crate::failure::{Fault, Place, answered, garbage};

const STREAM_ID: HeaderName = HeaderName::from_static(headers::STREAM_ID);
/// The number of chunks that the client has already read. This header is oxikit's own addition: a
/// server that supports it answers with the position at which it begins.
const POSITION: HeaderName = HeaderName::from_static(headers::STREAM_POSITION);
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENT_STREAM: HeaderValue = HeaderValue::from_static("text/event-stream");

/// Maximum bytes of the body of an error answer. The rest is not read.
const ERROR_LIMIT: usize = 1 << 20;
/// Maximum time to read the body of an error answer.
const ERROR_TIME: Duration = Duration::from_secs(10);
/// Maximum bytes that are read after the last block, so that the connection can be reused. A
/// connection with more is closed.
const REST_LIMIT: usize = 64 << 10;
/// Maximum time to read what follows the last block.
const REST_TIME: Duration = Duration::from_secs(1);

/// Everything that is needed to send a request, and to repeat it.
pub(crate) struct Exchange {
    pub(crate) client: Client,
    /// Sends the request if others have chosen the URL.
    pub(crate) outgoing: Option<OutgoingClient>,
    pub(crate) url: Url,
    /// The headers of the client and of the action.
    pub(crate) headers: HeaderMap,
    pub(crate) deadline: Option<Instant>,
}

/// The kind of a request.
#[derive(Clone)]
pub(crate) enum Ask<'a> {
    Output(Bytes),
    Stream(Bytes),
    /// A durable stream: its id and the number of chunks that were already read.
    Resume(&'a str, u64),
}

impl Exchange {
    /// Sends a request that runs an action. It is repeated only if no connection was made: the
    /// action may have run otherwise.
    pub(crate) async fn call(&self, ask: Ask<'_>) -> Result<Answer, Fault> {
        let mut tries = 0;
        loop {
            match self.send(&ask).await {
                Ok(answer) => return Ok(answer),
                Err(fault) => self.try_again(fault, &mut tries).await?,
            }
        }
    }

    /// Waits before the next try of a request that never reached the server. Any other fault is
    /// returned, and so is the last one within the client's limit of retries.
    pub(crate) async fn try_again(&self, fault: Fault, tries: &mut u32) -> Result<(), Fault> {
        match fault {
            Fault::Unreached(_) if *tries < self.client.settings.retries => {}
            fault => return Err(fault),
        }
        *tries += 1;
        self.pause(*tries).await
    }

    /// Asks for a durable stream once; reading has no effects, so the caller may repeat it.
    /// Returns how many of the next chunks were already read.
    pub(crate) async fn resume(&self, id: &str, position: u64) -> Result<(Answer, u64), Fault> {
        let answer = self.send(&Ask::Resume(id, position)).await?;
        if position == 0 {
            return Ok((answer, 0));
        }
        match answer.position() {
            Some(start) if start <= position => Ok((answer, position - start)),
            Some(_) => Err(Fault::Lasting(Status::new(
                StatusCode::DataLoss,
                format!("{} left out a part of the stream", Place(&self.url)),
            ))),
            // A server that does not know the position header may have ignored it, so the start
            // of this answer is unknown. Without the header, every server begins at the start.
            None => Ok((self.send(&Ask::Resume(id, 0)).await?, position)),
        }
    }

    /// Waits before the next try, a little longer each time.
    pub(crate) async fn pause(&self, tries: u32) -> Result<(), Fault> {
        let delay = Duration::from_millis(100) * 2_u32.pow(tries.saturating_sub(1).min(5));
        match self.deadline {
            Some(deadline) if deadline < Instant::now() + delay => Err(self.too_late()),
            _ => {
                sleep(delay).await;
                Ok(())
            }
        }
    }

    async fn send(&self, ask: &Ask<'_>) -> Result<Answer, Fault> {
        let answer = self.execute(self.request(ask)?).await?;
        let http = answer.response.status();
        let is_stream = !matches!(ask, Ask::Output(_));
        if is_stream && http.as_u16() == 204 {
            return Err(Fault::Lasting(Status::new(StatusCode::NotFound, "Stream not found")));
        }
        if http.is_success() {
            return Ok(answer);
        }
        let status = self.refused(answer).await.0;
        // Proxies answer this while their server is not reachable.
        let is_passing = matches!(http.as_u16(), 502..=504);
        Err(if is_passing { Fault::Broken(status) } else { Fault::Lasting(status) })
    }

    /// Sends a request once. The answer may have any HTTP status.
    pub(crate) async fn execute(&self, request: reqwest::Request) -> Result<Answer, Fault> {
        let response = match &self.outgoing {
            None => {
                let sent = self.in_time(self.client.http.execute(request)).await?;
                sent.map_err(|error| Fault::of_transport(&self.url, error))?
            }
            Some(outgoing) => {
                let sent = self.in_time(outgoing.open(request)).await?;
                sent.map_err(|error| Fault::of_outgoing(&self.url, error))?
            }
        };
        Ok(Answer { response })
    }

    /// The error of an answer that is not successful, and the body that it was read from.
    pub(crate) async fn refused(&self, mut answer: Answer) -> (Status, Vec<u8>) {
        let body = answer.read_error().await;
        (answered(answer.http(), answer.response.headers(), &body, &self.url), body)
    }

    fn request(&self, ask: &Ask<'_>) -> Result<reqwest::Request, Fault> {
        let (accept, body) = match ask {
            Ask::Output(body) => (JSON, body.clone()),
            Ask::Stream(body) => (EVENT_STREAM, body.clone()),
            Ask::Resume(..) => (EVENT_STREAM, Bytes::from_static(b"{}")),
        };
        let mut headers = self.headers.clone();
        headers.insert(CONTENT_TYPE, JSON);
        headers.insert(ACCEPT, accept);
        if let Ask::Resume(id, position) = ask {
            let id = HeaderValue::from_str(id).map_err(|_| {
                let message = "the stream id has characters that a header cannot have";
                Fault::Lasting(Status::new(StatusCode::InvalidArgument, message))
            })?;
            headers.insert(STREAM_ID, id);
            if *position > 0 {
                headers.insert(POSITION, HeaderValue::from(*position));
            }
        }
        self.client
            .http
            .post(self.url.clone())
            .headers(headers)
            .body(body)
            .build()
            .map_err(|error| Fault::of_transport(&self.url, error))
    }

    /// The next piece of an answer.
    pub(crate) async fn read(&self, answer: &mut Answer) -> Result<Option<Bytes>, Fault> {
        let piece = self.in_time(answer.response.chunk()).await?;
        piece.map_err(|error| Fault::of_transport(&self.url, error))
    }

    /// All of an answer, within the limit.
    pub(crate) async fn read_whole(&self, answer: Answer) -> Result<Bytes, Status> {
        self.read_within(answer, self.client.settings.answer_limit).await
    }

    /// All of an answer of at most this number of bytes.
    pub(crate) async fn read_within(
        &self,
        mut answer: Answer,
        limit: usize,
    ) -> Result<Bytes, Status> {
        let mut body = BytesMut::new();
        while let Some(piece) = self.read(&mut answer).await.map_err(Fault::into_status)? {
            if body.len() + piece.len() > limit {
                return Err(self.too_large("an answer", limit));
            }
            body.extend_from_slice(&piece);
        }
        Ok(body.freeze())
    }

    pub(crate) fn garbage(&self, what: &str) -> Status {
        garbage(&self.url, what)
    }

    pub(crate) fn too_large(&self, what: &str, limit: usize) -> Status {
        let message = format!("{} sent {what} of more than {limit} bytes", Place(&self.url));
        Status::new(StatusCode::ResourceExhausted, message)
    }

    /// Waits no longer than the idle timeout, nor beyond the end of the call.
    pub(crate) async fn in_time<T>(&self, work: impl Future<Output = T>) -> Result<T, Fault> {
        let idle = self.client.settings.idle_timeout;
        let work = timeout(idle, work);
        let done = match self.deadline {
            Some(deadline) => timeout_at(deadline, work).await.map_err(|_| self.too_late())?,
            None => work.await,
        };
        done.map_err(|_| {
            let message = format!("{} sent nothing for {idle:?}", Place(&self.url));
            Fault::Lasting(Status::new(StatusCode::DeadlineExceeded, message))
        })
    }

    fn too_late(&self) -> Fault {
        let message = format!("{} did not answer in time", Place(&self.url));
        Fault::Lasting(Status::new(StatusCode::DeadlineExceeded, message))
    }
}

/// An answer whose head has arrived. Dropping it closes its connection.
pub(crate) struct Answer {
    response: reqwest::Response,
}

impl Answer {
    pub(crate) fn http(&self) -> u16 {
        self.response.status().as_u16()
    }

    pub(crate) fn headers(&self) -> &HeaderMap {
        self.response.headers()
    }

    /// The body with its trailers.
    #[cfg(feature = "a2a-grpc")]
    pub(crate) fn into_body(self) -> reqwest::Body {
        self.response.into()
    }

    /// The id of a durable stream.
    pub(crate) fn stream_id(&self) -> Option<String> {
        let id = self.response.headers().get(STREAM_ID)?.to_str().ok()?;
        (!id.is_empty()).then(|| id.to_owned())
    }

    fn position(&self) -> Option<u64> {
        self.response.headers().get(POSITION)?.to_str().ok()?.parse().ok()
    }

    /// The part of an error's body that can be read within the limits. Failures are ignored,
    /// because the HTTP status alone is enough for an error.
    async fn read_error(&mut self) -> Vec<u8> {
        let mut body = Vec::new();
        let reading = async {
            while let Ok(Some(piece)) = self.response.chunk().await
                && body.len() < ERROR_LIMIT
            {
                body.extend_from_slice(&piece);
            }
        };
        drop(timeout(ERROR_TIME, reading).await);
        body.truncate(ERROR_LIMIT);
        body
    }

    /// Reads the few bytes after the last block in a task of its own, so that the connection can
    /// be used again. The caller does not wait for it.
    pub(crate) fn release(mut self) {
        tokio::spawn(timeout(REST_TIME, async move {
            let mut rest = 0;
            while let Ok(Some(piece)) = self.response.chunk().await
                && rest < REST_LIMIT
            {
                rest += piece.len();
            }
        }));
    }
}
