//! Sends the queued spans to the collector: batches, retries, losses.
//!
//! A task exists only while there are spans. Every accepted span is *settled* exactly once, when
//! its batch was sent or given up; `flush` waits until all spans accepted before it are settled.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
use opentelemetry_proto::tonic::resource::v1::Resource;
use oxikit_core::{Causes, SpanRecord};
use prost::Message;
use reqwest::header::{CONTENT_TYPE, HeaderMap, RETRY_AFTER};
use reqwest::{Client, Response, StatusCode, Url, redirect};
use tokio::runtime::Handle;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use super::config::{OtlpConfig, OtlpConfigError, OtlpProtocol};
use super::convert;
use super::queue::Queue;

/// Pause before the first retry. It doubles with every retry, up to [`LONGEST_RETRY`].
const FIRST_RETRY: Duration = Duration::from_millis(200);
/// Longest pause between two retries.
const LONGEST_RETRY: Duration = Duration::from_secs(5);
/// Minimum time between two log lines about lost spans.
const LOG_INTERVAL: Duration = Duration::from_secs(60);
/// Maximum bytes of an answer. Larger ones are not read.
const MAX_ANSWER: u64 = 64 * 1024;

/// The state of an exporter, shared by its clones and its task.
#[derive(Debug)]
pub(super) struct Delivery {
    config: OtlpConfig,
    client: Client,
    resource: Resource,
    queue: Mutex<Queue>,
    /// Ends the wait for more spans: for a full batch, or for a flush.
    send_now: Notify,
    /// Number of accepted spans that were sent or given up.
    settled: watch::Sender<u64>,
    dropped: AtomicU64,
    last_logged: Mutex<Option<Instant>>,
}

impl Delivery {
    pub(super) fn new(config: OtlpConfig) -> Result<Self, OtlpConfigError> {
        // A redirect would send the headers, which mostly hold keys, to another server.
        let client = Client::builder()
            .redirect(redirect::Policy::none())
            .user_agent(concat!("oxikit/", env!("CARGO_PKG_VERSION")));
        let client = if is_loopback(config.endpoint.expose()) { client.no_proxy() } else { client };
        Ok(Self {
            client: client.build().map_err(OtlpConfigError::Client)?,
            resource: convert::resource(&config.resource),
            config,
            queue: Mutex::default(),
            send_now: Notify::new(),
            settled: watch::Sender::new(0),
            dropped: AtomicU64::new(0),
            last_logged: Mutex::default(),
        })
    }

    pub(super) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Queues a span that the sampler keeps, or counts it as dropped. Called where spans end, so
    /// it must not wait.
    pub(super) fn accept(self: &Arc<Self>, span: SpanRecord) {
        if !self.config.sampler.keeps(span.trace_id) {
            return;
        }
        let mut queue = self.queue();
        if !queue.push(span, self.config.max_queue) {
            drop(queue);
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        if queue.len() >= self.max_batch() {
            self.send_now.notify_one();
        }
        self.ensure_task(&mut queue);
    }

    /// Waits until the spans that were accepted so far are settled, or the timeout is over.
    pub(super) async fn flush(self: &Arc<Self>) {
        let accepted = {
            let mut queue = self.queue();
            self.ensure_task(&mut queue);
            queue.accepted
        };
        let mut settled = self.settled.subscribe();
        self.send_now.notify_one();
        let all = settled.wait_for(|settled| *settled >= accepted);
        // After the timeout the caller stops waiting; the task continues.
        _ = tokio::time::timeout(self.config.timeout, all).await;
    }

    /// Starts the task if there are spans and no task runs. Outside of a runtime the spans wait
    /// until another span ends inside of one.
    fn ensure_task(self: &Arc<Self>, queue: &mut Queue) {
        if queue.len() == 0 || queue.task.as_ref().is_some_and(|task| !task.is_finished()) {
            return;
        }
        if let Ok(runtime) = Handle::try_current() {
            queue.task = Some(runtime.spawn(self.clone().run()));
        }
    }

    /// Sends batches until the queue is empty, so that an idle application has no task.
    async fn run(self: Arc<Self>) {
        loop {
            tokio::select! {
                () = tokio::time::sleep(self.config.schedule_delay) => {}
                () = self.send_now.notified() => {}
            }
            // Spans that are accepted from now on wait for the next round.
            let waiting = self.queue().accepted;
            while *self.settled.borrow() < waiting {
                let batch = self.queue().take_batch(self.max_batch());
                if batch.is_empty() {
                    break;
                }
                self.deliver(batch).await;
            }
            let mut queue = self.queue();
            if queue.len() == 0 {
                queue.task = None;
                return;
            }
        }
    }

    /// The number of spans at which a batch is sent. A batch larger than the queue would never
    /// be full.
    fn max_batch(&self) -> usize {
        self.config.max_batch.min(self.config.max_queue)
    }

    async fn deliver(&self, batch: Vec<SpanRecord>) {
        // All spans count as lost until the collector has accepted them.
        let mut lost = Loss { delivery: self, spans: batch.len() as u64, lost: batch.len() as u64 };
        let body = self.encode(batch);
        match self.send(body).await {
            Ok(rejected) => lost.lost = rejected.min(lost.spans),
            Err(reason) => self.log_loss(&reason),
        }
    }

    fn encode(&self, batch: Vec<SpanRecord>) -> Bytes {
        let request = convert::request(batch, &self.resource);
        match self.config.protocol {
            OtlpProtocol::HttpProtobuf => request.encode_to_vec().into(),
            OtlpProtocol::HttpJson => {
                serde_json::to_vec(&request).expect("plain data can be written as JSON").into()
            }
        }
    }

    /// Sends a batch until it is accepted, finally refused, or the timeout is over. Returns the
    /// number of spans that the collector rejected.
    async fn send(&self, body: Bytes) -> Result<u64, String> {
        let deadline = Instant::now() + self.config.timeout;
        let mut pause = FIRST_RETRY;
        loop {
            let attempt = tokio::time::timeout_at(deadline, self.attempt(body.clone())).await;
            let failure = match attempt {
                Ok(Ok(rejected)) => return Ok(rejected),
                Ok(Err(failure)) => failure,
                Err(_) => return Err("it did not answer in time".into()),
            };
            let Some(after) = failure.again else {
                return Err(failure.reason);
            };
            // With jitter, so that processes do not retry at the same moment.
            let wait = after.unwrap_or_else(|| pause.mul_f64(0.5 + fastrand::f64() / 2.0));
            if wait >= deadline.saturating_duration_since(Instant::now()) {
                return Err(failure.reason);
            }
            tokio::time::sleep(wait).await;
            pause = (pause * 2).min(LONGEST_RETRY);
        }
    }

    /// Sends the batch once. Returns the number of rejected spans.
    async fn attempt(&self, body: Bytes) -> Result<u64, Failure> {
        let media_type = match self.config.protocol {
            OtlpProtocol::HttpProtobuf => "application/x-protobuf",
            OtlpProtocol::HttpJson => "application/json",
        };
        let mut headers = HeaderMap::new();
        for (name, value) in &self.config.headers {
            headers.insert(name, value.expose().clone());
        }
        let request = self.client.post(self.config.endpoint.expose().clone());
        let request = request.headers(headers).header(CONTENT_TYPE, media_type).body(body);
        let answer = request.send().await.map_err(|error| {
            let error = error.without_url();
            Failure { reason: format!("{error}{}", Causes(&error)), again: Some(None) }
        })?;
        if answer.status().is_success() {
            return Ok(self.rejected(answer).await);
        }
        Err(Failure::of(&answer))
    }

    /// The number of spans that the collector rejected in a batch that it accepted.
    async fn rejected(&self, answer: Response) -> u64 {
        if answer.content_length().is_none_or(|length| length == 0 || length > MAX_ANSWER) {
            return 0;
        }
        let body = answer.bytes().await.unwrap_or_default();
        let answer: ExportTraceServiceResponse = match self.config.protocol {
            OtlpProtocol::HttpProtobuf => Message::decode(body).unwrap_or_default(),
            OtlpProtocol::HttpJson => serde_json::from_slice(&body).unwrap_or_default(),
        };
        let Some(partial) = answer.partial_success else {
            return 0;
        };
        let rejected = u64::try_from(partial.rejected_spans).unwrap_or(0);
        if rejected > 0 {
            self.log_loss(&format!("it rejected {rejected} spans: {}", partial.error_message));
        }
        rejected
    }

    /// Logs that spans were lost, at most once per [`LOG_INTERVAL`].
    fn log_loss(&self, reason: &str) {
        let mut last = self.last_logged.lock().unwrap_or_else(PoisonError::into_inner);
        if last.is_some_and(|last| last.elapsed() < LOG_INTERVAL) {
            return;
        }
        *last = Some(Instant::now());
        drop(last);
        let endpoint = self.config.endpoint.expose();
        tracing::warn!(
            target: "oxikit_telemetry",
            host = endpoint.host_str(),
            port = endpoint.port_or_known_default(),
            reason = &*oxikit_core::redact::text(reason),
            "spans were lost on their way to the collector"
        );
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A batch that is being sent. Its spans are settled and counted when it is dropped, also if the
/// task is aborted in between.
struct Loss<'a> {
    delivery: &'a Delivery,
    spans: u64,
    lost: u64,
}

impl Drop for Loss<'_> {
    fn drop(&mut self) {
        self.delivery.dropped.fetch_add(self.lost, Ordering::Relaxed);
        self.delivery.settled.send_modify(|settled| *settled += self.spans);
    }
}

/// The failure of one attempt.
struct Failure {
    reason: String,
    /// `Some` if a retry may succeed, with the delay that the collector asked for.
    again: Option<Option<Duration>>,
}

impl Failure {
    /// The failure of an answer with an error status. Only the four statuses that the OTLP
    /// specification names may be retried.
    fn of(answer: &Response) -> Self {
        let status = answer.status();
        let again = matches!(
            status,
            StatusCode::TOO_MANY_REQUESTS
                | StatusCode::BAD_GATEWAY
                | StatusCode::SERVICE_UNAVAILABLE
                | StatusCode::GATEWAY_TIMEOUT
        );
        let after = answer.headers().get(RETRY_AFTER).and_then(|after| after.to_str().ok());
        let after = after.and_then(|after| after.trim().parse().ok()).map(Duration::from_secs);
        Self { reason: format!("it answered {status}"), again: again.then_some(after) }
    }
}

/// Whether the collector is on this machine. Then no proxy is used: it could not reach it.
fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}
