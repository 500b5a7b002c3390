//! Metrics of requests in Prometheus' text format.
//!
//! Every action has its own handles, made once: a request costs a few atomic additions and no
//! look-up of names. The recorder is local, so several servers in one process, and the
//! application's own metrics, do not mix.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use metrics::{Counter, Gauge, Histogram, Key, Label, Level, Metadata, Recorder, Unit};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle, PrometheusRecorder};
use oxikit_core::StatusCode;

const REQUESTS: &str = "oxikit_requests_total";
const IN_FLIGHT: &str = "oxikit_requests_in_flight";
const DURATION: &str = "oxikit_request_duration_seconds";
const CHUNKS: &str = "oxikit_stream_chunks_total";
const BYTES_IN: &str = "oxikit_request_body_bytes_total";

/// Upper bounds of the histogram in seconds: a flow without a model takes well below a
/// millisecond, the response of a model many seconds.
const BUCKETS: [f64; 14] =
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 15.0, 60.0];

/// Number of durations after which they are sorted into buckets. The recorder keeps each
/// duration until then, so this limits its memory even if the metrics are never read.
const UNSORTED: usize = 4096;

/// Number of status codes: 0 to 16.
const CODES: usize = 17;

static METADATA: Metadata<'static> = Metadata::new("oxikit_serve", Level::INFO, None);

/// The metrics of one server.
///
/// ```
/// use std::time::Duration;
/// use oxikit_core::StatusCode;
/// use oxikit_http::Metrics;
///
/// let metrics = Metrics::new().expect("the exporter can be made");
/// let greet = metrics.of_action("/flow/greet");
/// greet.begin();
/// greet.end(StatusCode::Ok, Duration::from_millis(3), 12, 0);
/// assert!(metrics.render().contains(r#"action="/flow/greet""#));
/// ```
pub struct Metrics {
    recorder: Arc<PrometheusRecorder>,
    sorter: Arc<Sorter>,
    /// Meters of the requests whose path belongs to no action.
    pub unmatched: Arc<Meters>,
}

impl Metrics {
    /// New metrics; `None` if the exporter cannot be made. The server then runs without
    /// metrics.
    pub fn new() -> Option<Self> {
        let builder = PrometheusBuilder::new().set_buckets(&BUCKETS).ok()?;
        let recorder = Arc::new(builder.build_recorder());
        describe(&recorder);
        let sorter = Arc::new(Sorter { handle: recorder.handle(), unsorted: AtomicUsize::new(0) });
        let unmatched = Meters::new(&recorder, &sorter, "");
        Some(Self { recorder, sorter, unmatched })
    }

    /// The meters of the action with this key, such as `/flow/greet`.
    pub fn of_action(&self, key: &str) -> Arc<Meters> {
        Meters::new(&self.recorder, &self.sorter, key)
    }

    /// All metrics in Prometheus' text format.
    pub fn render(&self) -> String {
        self.sorter.handle.render()
    }
}

/// Sorts recorded durations into buckets after every `UNSORTED` requests.
struct Sorter {
    handle: PrometheusHandle,
    unsorted: AtomicUsize,
}

/// The metrics of one action.
pub struct Meters {
    recorder: Arc<PrometheusRecorder>,
    sorter: Arc<Sorter>,
    action: Label,
    /// By status code. A counter is made when its code first occurs: most never do.
    requests: [OnceLock<Counter>; CODES],
    in_flight: Gauge,
    duration: Histogram,
    chunks: Counter,
    bytes_in: Counter,
}

impl Meters {
    fn new(recorder: &Arc<PrometheusRecorder>, sorter: &Arc<Sorter>, action: &str) -> Arc<Self> {
        let action = Label::new("action", action.to_owned());
        let key = |name: &'static str| Key::from_parts(name, vec![action.clone()]);
        Arc::new(Self {
            requests: std::array::from_fn(|_| OnceLock::new()),
            in_flight: recorder.register_gauge(&key(IN_FLIGHT), &METADATA),
            duration: recorder.register_histogram(&key(DURATION), &METADATA),
            chunks: recorder.register_counter(&key(CHUNKS), &METADATA),
            bytes_in: recorder.register_counter(&key(BYTES_IN), &METADATA),
            recorder: recorder.clone(),
            sorter: sorter.clone(),
            action,
        })
    }

    /// Counts a request that has begun. [`end`](Self::end) must follow.
    pub fn begin(&self) {
        self.in_flight.increment(1.0);
    }

    /// Counts a request that has ended, with its outcome, its duration, the number of bytes of
    /// its body and the number of chunks that were sent.
    pub fn end(&self, code: StatusCode, duration: Duration, bytes_in: u64, chunks: u64) {
        self.in_flight.decrement(1.0);
        self.duration.record(duration.as_secs_f64());
        if let Some(counter) = self.requests.get(usize::from(code.grpc())) {
            counter.get_or_init(|| self.requests_with(code)).increment(1);
        }
        if bytes_in > 0 {
            self.bytes_in.increment(bytes_in);
        }
        if chunks > 0 {
            self.chunks.increment(chunks);
        }
        if self.sorter.unsorted.fetch_add(1, Ordering::Relaxed) % UNSORTED == UNSORTED - 1 {
            self.sorter.handle.run_upkeep();
        }
    }

    /// Registers the counter of requests with this code.
    fn requests_with(&self, code: StatusCode) -> Counter {
        let labels = vec![self.action.clone(), Label::new("code", code.name())];
        self.recorder.register_counter(&Key::from_parts(REQUESTS, labels), &METADATA)
    }
}

/// Sets the help texts of the metrics.
fn describe(recorder: &PrometheusRecorder) {
    let counters = [
        (REQUESTS, "Requests that have ended, by action and code."),
        (CHUNKS, "Chunks sent in streams."),
        (BYTES_IN, "Bytes of request bodies read."),
    ];
    for (name, text) in counters {
        recorder.describe_counter(name.into(), None, text.into());
    }
    recorder.describe_gauge(IN_FLIGHT.into(), None, "Requests being worked on.".into());
    let text = "Time from the request's head to the end of its answer.";
    recorder.describe_histogram(DURATION.into(), Some(Unit::Seconds), text.into());
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

impl fmt::Debug for Meters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Meters").field("action", &self.action).finish_non_exhaustive()
    }
}
