//! A runtime that is called over HTTP (Reflection V1).

mod lines;
mod run;
mod sessions;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use oxikit_core::StatusCode;
use oxikit_wire::JsonObject;
use oxikit_wire::rpc::{
    CancelActionParams, ConfigureParams, ErrorData, REFLECTION_API_SPEC_VERSION, RuntimeFile,
};
use percent_encoding::{NON_ALPHANUMERIC, PercentEncode, utf8_percent_encode};
use reqwest::{Client, RequestBuilder, Response};
use serde::Deserialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::ManagerOptions;
use super::failure::failure;
use super::listing::{self, ActionList};
use super::listing_share::Listing;

/// How long a runtime may take to say that it is well.
const HEALTH_TIME: Duration = Duration::from_secs(2);
/// No text that explains a refusal is longer.
const MAX_REFUSAL: usize = 8 << 10;

/// A runtime behind a URL.
#[derive(Debug)]
pub(crate) struct HttpPeer {
    pub(crate) id: String,
    pub(crate) listing: Listing,
    base: String,
    client: Client,
    options: ManagerOptions,
    tasks: TaskTracker,
    runs: AtomicUsize,
    /// It is not there any more: its runs end.
    gone: CancellationToken,
}

/// How a runtime is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Health {
    Well,
    /// It answers, but not as the one it says it is; or it does not answer.
    Unwell,
}

/// A client for runtimes of this machine: no proxy sees the calls, no redirect
/// leads them away.
pub(crate) fn client() -> Result<Client, ErrorData> {
    Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(HEALTH_TIME)
        // A runtime may close a connection when it likes, and a run that was sent over one
        // that is closed cannot be sent again: it may have begun.
        .pool_max_idle_per_host(0)
        .build()
        .map_err(|error| failure(StatusCode::Internal, format!("no HTTP client: {error}")))
}

impl HttpPeer {
    pub(crate) fn new(
        file: &RuntimeFile,
        client: Client,
        options: ManagerOptions,
        tasks: TaskTracker,
    ) -> Arc<Self> {
        Arc::new(Self {
            id: file.id.clone(),
            listing: Listing::default(),
            base: file.reflection_server_url.trim_end_matches('/').to_owned(),
            client,
            options,
            tasks,
            runs: AtomicUsize::new(0),
            gone: CancellationToken::new(),
        })
    }

    /// How many runs go on.
    pub(crate) fn pending(&self) -> usize {
        self.runs.load(Ordering::Relaxed)
    }

    /// It is not there any more: its runs end.
    pub(crate) fn leave(&self) {
        self.gone.cancel();
    }

    pub(crate) async fn health(&self) -> Health {
        let asked = self.client.get(self.url(&format!("__health?id={}", encoded(&self.id))));
        match asked.timeout(HEALTH_TIME).send().await {
            Ok(answer) if answer.status().is_success() => Health::Well,
            _ => Health::Unwell,
        }
    }

    /// Tells it where spans and logs go, in a task of its own.
    pub(crate) fn notify_later(self: &Arc<Self>, configuration: ConfigureParams) {
        let peer = self.clone();
        self.tasks.spawn(async move { peer.notify(&configuration).await });
    }

    async fn notify(&self, configuration: &ConfigureParams) {
        let body = json!({
            "telemetryServerUrl": configuration.telemetry_server_url,
            "reflectionApiSpecVersion": REFLECTION_API_SPEC_VERSION,
        });
        let asked = self.post("notify", body.to_string()).timeout(HEALTH_TIME);
        if let Err(error) = asked.send().await {
            tracing::warn!(runtime_id = %self.id, reason = %error.without_url(), "runtime not notified");
        }
    }

    pub(crate) async fn list_actions(&self) -> Result<ActionList, ErrorData> {
        listing::actions(&self.fetch(self.client.get(self.url("actions"))).await?, &self.options)
    }

    pub(crate) async fn list_values(&self, kind: &str) -> Result<JsonObject, ErrorData> {
        let asked = self.client.get(self.url(&format!("values?type={}", encoded(kind))));
        listing::values(&self.fetch(asked).await?, false, &self.options)
    }

    /// Cancels the run with this trace; what the runtime says.
    pub(crate) async fn cancel(&self, trace_id: &str) -> Result<String, ErrorData> {
        let params = CancelActionParams { trace_id: trace_id.to_owned() };
        let body = serde_json::to_string(&params).unwrap_or_default();
        let asked = self.post("cancelAction", body).timeout(self.options.cancel_time);
        let answer = asked.send().await.map_err(|error| self.unreachable(&error))?;
        let status = answer.status();
        let text = self.body(answer, MAX_REFUSAL).await?;
        let message = reason(&text);
        if status.is_success() { Ok(message) } else { Err(refused(status, message)) }
    }

    /// Asks for something that takes no time.
    async fn fetch(&self, asked: RequestBuilder) -> Result<Bytes, ErrorData> {
        let asked = asked.timeout(self.options.call_time);
        let answer = asked.send().await.map_err(|error| self.unreachable(&error))?;
        let answer = self.accepted(answer).await?;
        self.body(answer, self.options.max_message).await
    }

    /// The answer, if it is a good one.
    async fn accepted(&self, answer: Response) -> Result<Response, ErrorData> {
        let status = answer.status();
        if status.is_success() {
            return Ok(answer);
        }
        let text = self.body(answer, MAX_REFUSAL).await.unwrap_or_default();
        Err(refused(status, reason(&text)))
    }

    /// The body, if it is not longer than this.
    async fn body(&self, mut answer: Response, max: usize) -> Result<Bytes, ErrorData> {
        let mut body = BytesMut::new();
        while let Some(piece) = answer.chunk().await.map_err(|error| self.unreachable(&error))? {
            if body.len() + piece.len() > max {
                return Err(too_long());
            }
            body.extend_from_slice(&piece);
        }
        Ok(body.freeze())
    }

    fn post(&self, method: &str, body: String) -> RequestBuilder {
        let json = reqwest::header::HeaderValue::from_static("application/json");
        self.client.post(self.url(method)).header(reqwest::header::CONTENT_TYPE, json).body(body)
    }

    fn url(&self, method: &str) -> String {
        format!("{}/api/{method}", self.base)
    }

    fn unreachable(&self, error: &reqwest::Error) -> ErrorData {
        let (code, what) = match error.is_timeout() {
            true => (StatusCode::DeadlineExceeded, "did not answer in time"),
            false => (StatusCode::Unavailable, "cannot be reached; see whether it still runs"),
        };
        failure(code, format!("the runtime `{}` {what}", self.id))
    }
}

/// What a runtime says of a request: a text, or the text in `{"message"}` or `{"error"}`.
fn reason(text: &[u8]) -> String {
    #[derive(Deserialize)]
    struct Said {
        #[serde(default, alias = "error")]
        message: Option<String>,
    }
    let said = serde_json::from_slice::<Said>(text).ok().and_then(|said| said.message);
    said.unwrap_or_else(|| String::from_utf8_lossy(text).into_owned())
}

fn refused(status: reqwest::StatusCode, message: String) -> ErrorData {
    let code = match status.as_u16() {
        400 => StatusCode::InvalidArgument,
        404 => StatusCode::NotFound,
        503 => StatusCode::Unavailable,
        _ => StatusCode::Unknown,
    };
    failure(code, message)
}

fn encoded(text: &str) -> PercentEncode<'_> {
    utf8_percent_encode(text, NON_ALPHANUMERIC)
}

fn too_long() -> ErrorData {
    failure(StatusCode::ResourceExhausted, "the runtime answered more than is taken at once")
}
