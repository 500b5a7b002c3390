//! A runtime that is called over HTTP (Reflection V1): one request per call, and one response
//! body per run. `runtimes::discovery` finds such runtimes.

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
    CancelActionParams, ConfigureParams, ErrorData, NotifyParams, REFLECTION_API_SPEC_VERSION,
    RuntimeFile, method,
};
use percent_encoding::{NON_ALPHANUMERIC, PercentEncode, utf8_percent_encode};
use reqwest::{Client, RequestBuilder, Response};
use serde::Deserialize;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::ManagerOptions;
use super::failure::failure;
use super::listing::{self, ActionList};
use super::outgoing::params_text;
use super::shared_listing::SharedListing;

/// Timeout of a health check, of `notify` and of connecting.
const HEALTH_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum size in bytes of the body of an error response. A longer one is dropped.
const MAX_ERROR_BODY: usize = 8 << 10;

/// A runtime with a URL.
#[derive(Debug)]
pub(crate) struct HttpPeer {
    pub(crate) id: String,
    pub(crate) listing: SharedListing,
    base: String,
    client: Client,
    options: ManagerOptions,
    tasks: TaskTracker,
    runs: AtomicUsize,
    /// Cancelled when the runtime is removed; its runs end then.
    gone: CancellationToken,
}

/// The result of a health check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Health {
    /// The runtime with the expected id answers.
    Healthy,
    /// The runtime does not answer, or another one answers at its URL.
    Unhealthy,
}

/// A client for runtimes of this machine. It uses no proxy and follows no redirects, which
/// could lead a request to another machine.
pub(crate) fn client() -> Result<Client, ErrorData> {
    Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(HEALTH_TIMEOUT)
        // No connection is reused. A runtime may close an idle one at any time, and a run that
        // was sent over it cannot be sent again, because it may have begun.
        .pool_max_idle_per_host(0)
        .build()
        .map_err(|error| {
            failure(StatusCode::Internal, format!("the HTTP client cannot be set up: {error}"))
        })
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
            listing: SharedListing::default(),
            base: file.reflection_server_url.trim_end_matches('/').to_owned(),
            client,
            options,
            tasks,
            runs: AtomicUsize::new(0),
            gone: CancellationToken::new(),
        })
    }

    /// Number of active runs.
    pub(crate) fn pending(&self) -> usize {
        self.runs.load(Ordering::Relaxed)
    }

    /// Ends all runs, because the runtime was removed.
    pub(crate) fn end_runs(&self) {
        self.gone.cancel();
    }

    /// Asks the runtime whether it is healthy and has the expected id.
    pub(crate) async fn health(&self) -> Health {
        let request = self.client.get(self.url(&format!("__health?id={}", encoded(&self.id))));
        match request.timeout(HEALTH_TIMEOUT).send().await {
            Ok(answer) if answer.status().is_success() => Health::Healthy,
            _ => Health::Unhealthy,
        }
    }

    /// Sends the settings to the runtime, in a background task.
    pub(crate) fn notify_later(self: &Arc<Self>, configuration: ConfigureParams) {
        let peer = self.clone();
        self.tasks.spawn(async move { peer.notify(&configuration).await });
    }

    /// Sends the settings. A failure is only logged, because the runtime works without them.
    async fn notify(&self, configuration: &ConfigureParams) {
        let body = params_text(&NotifyParams {
            telemetry_server_url: configuration.telemetry_server_url.clone(),
            reflection_api_spec_version: Some(REFLECTION_API_SPEC_VERSION),
        });
        let request = self.post("notify", body).timeout(HEALTH_TIMEOUT);
        if let Err(error) = request.send().await {
            tracing::warn!(runtime_id = %self.id, reason = %error.without_url(), "could not send the settings to the runtime");
        }
    }

    /// Requests the list of actions.
    pub(crate) async fn list_actions(&self) -> Result<ActionList, ErrorData> {
        listing::actions(&self.fetch(self.client.get(self.url("actions"))).await?, &self.options)
    }

    /// Requests the values of a kind. V1 responds with the map itself.
    pub(crate) async fn list_values(&self, kind: &str) -> Result<JsonObject, ErrorData> {
        let request = self.client.get(self.url(&format!("values?type={}", encoded(kind))));
        listing::values(&self.fetch(request).await?, false, &self.options)
    }

    /// Cancels the run with this trace. Returns the message of the runtime.
    pub(crate) async fn cancel(
        &self,
        trace_id: &str,
        within: Duration,
    ) -> Result<String, ErrorData> {
        let body = params_text(&CancelActionParams { trace_id: trace_id.to_owned() });
        let request = self.post(method::CANCEL_ACTION, body).timeout(within);
        let answer = request.send().await.map_err(|error| self.unreachable(&error))?;
        let status = answer.status();
        let text = self.body(answer, MAX_ERROR_BODY).await?;
        let message = reason(&text);
        if status.is_success() { Ok(message) } else { Err(status_error(status, message)) }
    }

    /// Sends any request except `runAction`. Returns the body.
    async fn fetch(&self, request: RequestBuilder) -> Result<Bytes, ErrorData> {
        let request = request.timeout(self.options.call_timeout);
        let answer = request.send().await.map_err(|error| self.unreachable(&error))?;
        let answer = self.ensure_success(answer).await?;
        self.body(answer, self.options.max_message).await
    }

    /// Returns a successful response; converts any other to an error.
    async fn ensure_success(&self, answer: Response) -> Result<Response, ErrorData> {
        let status = answer.status();
        if status.is_success() {
            return Ok(answer);
        }
        let text = self.body(answer, MAX_ERROR_BODY).await.unwrap_or_default();
        Err(status_error(status, reason(&text)))
    }

    /// Reads a body of at most `max` bytes.
    async fn body(&self, mut answer: Response, max: usize) -> Result<Bytes, ErrorData> {
        // Counted while it is read: a runtime may send a body without a `Content-Length`.
        let mut body = BytesMut::new();
        while let Some(piece) = answer.chunk().await.map_err(|error| self.unreachable(&error))? {
            if body.len() + piece.len() > max {
                return Err(too_long());
            }
            body.extend_from_slice(&piece);
        }
        Ok(body.freeze())
    }

    /// A POST request with a JSON body.
    fn post(&self, method: &str, body: String) -> RequestBuilder {
        let json = reqwest::header::HeaderValue::from_static("application/json");
        self.client.post(self.url(method)).header(reqwest::header::CONTENT_TYPE, json).body(body)
    }

    /// The URL of a method below `/api`.
    fn url(&self, method: &str) -> String {
        format!("{}/api/{method}", self.base)
    }

    /// The error for a request without a response. It never contains the URL, which has the token
    /// in its path.
    fn unreachable(&self, error: &reqwest::Error) -> ErrorData {
        let (code, what) = match error.is_timeout() {
            true => (StatusCode::DeadlineExceeded, "did not answer in time"),
            false => (StatusCode::Unavailable, "cannot be reached: see whether it still runs"),
        };
        failure(code, format!("the runtime `{}` {what}", self.id))
    }
}

/// The message in a body: plain text, or the member `message` or `error` of an object.
fn reason(text: &[u8]) -> String {
    #[derive(Deserialize)]
    struct Reply {
        #[serde(default, alias = "error")]
        message: Option<String>,
    }
    let reply = serde_json::from_slice::<Reply>(text).ok().and_then(|reply| reply.message);
    reply.unwrap_or_else(|| String::from_utf8_lossy(text).into_owned())
}

/// The error for an HTTP status that is not a success.
fn status_error(status: reqwest::StatusCode, message: String) -> ErrorData {
    let code = match status.as_u16() {
        400 => StatusCode::InvalidArgument,
        404 => StatusCode::NotFound,
        503 => StatusCode::Unavailable,
        _ => StatusCode::Unknown,
    };
    failure(code, message)
}

/// Text in percent encoding, for a path or a query.
fn encoded(text: &str) -> PercentEncode<'_> {
    utf8_percent_encode(text, NON_ALPHANUMERIC)
}

/// The error for a body or a line above `max_message`.
fn too_long() -> ErrorData {
    failure(
        StatusCode::ResourceExhausted,
        "the response of the runtime exceeds the maximum message size",
    )
}
