//! One request and its answer, within their time and size.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use oxikit_core::{Status, StatusCode};
use reqwest::Url;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::client::Client;
use crate::failure::{Fault, Place, answered, garbage};

const STREAM_ID: HeaderName = HeaderName::from_static("x-genkit-stream-id");
/// How many chunks are known already. Oxikit's own addition: a server that goes
/// by it answers with the position at which it begins.
const POSITION: HeaderName = HeaderName::from_static("x-oxikit-stream-position");
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENT_STREAM: HeaderValue = HeaderValue::from_static("text/event-stream");

/// So much of an error's body is read, for at most so long.
const ERROR_LIMIT: usize = 1 << 20;
const ERROR_TIME: Duration = Duration::from_secs(10);
/// So much is read behind the last block, for at most so long.
const REST_LIMIT: usize = 64 << 10;
const REST_TIME: Duration = Duration::from_secs(1);

/// All that is needed to send a request, also once more.
pub(crate) struct Exchange {
    pub(crate) client: Client,
    pub(crate) url: Url,
    /// The headers of the client and of the action.
    pub(crate) headers: HeaderMap,
    pub(crate) deadline: Option<Instant>,
}

/// What is asked for.
#[derive(Clone)]
pub(crate) enum Ask<'a> {
    Output(Bytes),
    Stream(Bytes),
    /// A durable stream, after so many chunks.
    Resume(&'a str, u64),
}

impl Exchange {
    /// Sends what runs an action. It is sent again only if nobody got it.
    pub(crate) async fn call(&self, ask: Ask<'_>) -> Result<Answer, Fault> {
        let mut tries = 0;
        loop {
            match self.send(&ask).await {
                Err(Fault::Unreached(_)) if tries < self.client.settings.retries => {}
                other => return other,
            }
            tries += 1;
            self.pause(tries).await?;
        }
    }

    /// Asks for a durable stream once; what only reads may be repeated by the
    /// caller. Answers how many of the chunks that come are known already.
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
            // Nobody can tell whether this server went by the position. Without
            // one, all of them begin at the start.
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
        let request = self.request(ask)?;
        let sent = self.in_time(self.client.http.execute(request)).await?;
        let response = sent.map_err(|error| Fault::of_transport(&self.url, error))?;
        let http = response.status();
        let mut answer = Answer { response };
        let is_stream = !matches!(ask, Ask::Output(_));
        if is_stream && http.as_u16() == 204 {
            return Err(Fault::Lasting(Status::new(StatusCode::NotFound, "Stream not found")));
        }
        if http.is_success() {
            return Ok(answer);
        }
        let body = answer.read_error().await;
        let status = answered(http.as_u16(), answer.response.headers(), &body, &self.url);
        // What proxies say while their server is away.
        let is_passing = matches!(http.as_u16(), 502..=504);
        Err(if is_passing { Fault::Broken(status) } else { Fault::Lasting(status) })
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
                let message = "the stream id is not legal as a header";
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
    pub(crate) async fn read_whole(&self, mut answer: Answer) -> Result<Bytes, Status> {
        let mut body = BytesMut::new();
        while let Some(piece) = self.read(&mut answer).await.map_err(Fault::into_status)? {
            if body.len() + piece.len() > self.client.settings.answer_limit {
                return Err(self.too_large("an answer", self.client.settings.answer_limit));
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
    async fn in_time<T>(&self, work: impl Future<Output = T>) -> Result<T, Fault> {
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
    /// The id of a durable stream.
    pub(crate) fn stream_id(&self) -> Option<String> {
        let id = self.response.headers().get(STREAM_ID)?.to_str().ok()?;
        (!id.is_empty()).then(|| id.to_owned())
    }

    fn position(&self) -> Option<u64> {
        self.response.headers().get(POSITION)?.to_str().ok()?.parse().ok()
    }

    /// What there is of an error's body: the HTTP status says enough without it.
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

    /// Reads what little comes behind the last block, so that the connection can
    /// be used again. Nobody waits for that.
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
