//! The configuration of the OTLP exporter: destination, format, limits, sampling.

use std::time::Duration;

use oxikit_core::{Secret, TraceId};
use reqwest::Url;
use reqwest::header::{HeaderName, HeaderValue};

/// The configuration of an [`OtlpExporter`](crate::OtlpExporter).
///
/// [`new`](Self::new) makes one in code; [`from_env`](Self::from_env) reads the
/// standard variables of OpenTelemetry instead. Variables that begin with
/// `OTEL_EXPORTER_OTLP_TRACES_` take precedence over those without `TRACES_`.
///
/// | variable | meaning | without it |
/// | --- | --- | --- |
/// | `OTEL_EXPORTER_OTLP_ENDPOINT` | the collector, such as `http://localhost:4318`; `/v1/traces` is added | nothing is sent |
/// | `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` | the same, used as it stands | |
/// | `OTEL_EXPORTER_OTLP_PROTOCOL`, `…_TRACES_PROTOCOL` | `http/protobuf` or `http/json` | `http/protobuf` |
/// | `OTEL_EXPORTER_OTLP_HEADERS`, `…_TRACES_HEADERS` | `name=value,…`, values percent-encoded | none |
/// | `OTEL_EXPORTER_OTLP_TIMEOUT`, `…_TRACES_TIMEOUT` | milliseconds for a batch with all its retries | 10000 |
/// | `OTEL_SERVICE_NAME` | the resource attribute `service.name` | `unknown_service:` and the program |
/// | `OTEL_RESOURCE_ATTRIBUTES` | `name=value,…`, values percent-encoded | none |
/// | `OTEL_TRACES_SAMPLER` | `always_on`, `always_off` or `traceidratio`, also after `parentbased_` | `always_on` |
/// | `OTEL_TRACES_SAMPLER_ARG` | the share of traces for `traceidratio`, from 0 to 1 | 1 |
/// | `OTEL_BSP_SCHEDULE_DELAY` | milliseconds that a span may wait for others | 5000 |
/// | `OTEL_BSP_MAX_QUEUE_SIZE` | spans that may wait; more are dropped | 2048 |
/// | `OTEL_BSP_MAX_EXPORT_BATCH_SIZE` | spans in a batch | 512 |
/// | `OTEL_TRACES_EXPORTER` | `otlp`, or `none` for nothing | `otlp` |
/// | `OTEL_SDK_DISABLED` | `true` for nothing | `false` |
///
/// An empty variable counts as not set.
///
/// ```
/// use std::time::Duration;
///
/// use oxikit_telemetry::{OtlpConfig, OtlpProtocol};
///
/// # fn main() -> Result<(), oxikit_telemetry::OtlpConfigError> {
/// let config = OtlpConfig::new("https://collector.example/v1/traces")?
///     .with_protocol(OtlpProtocol::HttpJson)
///     .with_header("authorization", "Bearer a-key")?
///     .with_service_name("orders")
///     .with_sample_ratio(0.1)
///     .with_timeout(Duration::from_secs(5));
/// assert!(!format!("{config:?}").contains("a-key"));
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct OtlpConfig {
    pub(super) endpoint: Secret<Url>,
    pub(super) protocol: OtlpProtocol,
    pub(super) headers: Vec<(HeaderName, Secret<HeaderValue>)>,
    pub(super) timeout: Duration,
    pub(super) resource: Vec<(String, String)>,
    pub(super) schedule_delay: Duration,
    pub(super) max_queue: usize,
    pub(super) max_batch: usize,
    pub(super) sampler: Sampler,
}

/// The format of the requests to the collector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OtlpProtocol {
    /// Protobuf over HTTP.
    #[default]
    HttpProtobuf,
    /// JSON over HTTP.
    HttpJson,
}

/// The reason why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OtlpConfigError {
    /// A setting has a value that cannot be used.
    #[error("{setting} {problem}")]
    Setting {
        /// The name of the variable, or a description of the setting in code.
        setting: String,
        /// The mistake, and the value to write instead.
        problem: String,
    },
    /// The HTTP client cannot be made, mostly because the machine has no root certificates.
    #[error("the HTTP client for the collector cannot be made: {0}")]
    Client(#[source] reqwest::Error),
}

impl OtlpConfigError {
    pub(super) fn new(setting: &str, problem: impl Into<String>) -> Self {
        Self::Setting { setting: setting.to_owned(), problem: problem.into() }
    }
}

impl OtlpConfig {
    /// Sends to this URL without adding a path, such as `http://localhost:4318/v1/traces`.
    ///
    /// # Errors
    ///
    /// [`OtlpConfigError::Setting`] if the URL is not an HTTP address.
    pub fn new(endpoint: &str) -> Result<Self, OtlpConfigError> {
        let endpoint = parse_url("the endpoint", endpoint)?;
        Ok(Self {
            endpoint: Secret::new(endpoint),
            protocol: OtlpProtocol::default(),
            headers: Vec::new(),
            timeout: Duration::from_secs(10),
            resource: Vec::new(),
            schedule_delay: Duration::from_secs(5),
            max_queue: 2048,
            max_batch: 512,
            sampler: Sampler::ratio(1.0),
        })
    }

    /// Sets the format of the requests; protobuf by default.
    #[must_use]
    pub fn with_protocol(mut self, protocol: OtlpProtocol) -> Self {
        self.protocol = protocol;
        self
    }

    /// Adds a header to every request, such as the key of a tracing service. Its value never
    /// appears in errors or debug output.
    ///
    /// # Errors
    ///
    /// [`OtlpConfigError::Setting`] if the name or the value is not valid in HTTP.
    pub fn with_header(self, name: &str, value: &str) -> Result<Self, OtlpConfigError> {
        self.add_header("a header", name, value)
    }

    pub(super) fn add_header(
        mut self,
        setting: &str,
        name: &str,
        value: &str,
    ) -> Result<Self, OtlpConfigError> {
        let refuse = |what: &str| OtlpConfigError::new(setting, format!("has {what}"));
        let header = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| refuse("a name that no HTTP header can have"))?;
        // The value is not shown: it mostly is a key.
        let mut value = HeaderValue::from_str(value)
            .map_err(|_| refuse(&format!("a value for `{name}` that HTTP cannot carry")))?;
        value.set_sensitive(true);
        self.headers.push((header, Secret::new(value)));
        Ok(self)
    }

    /// Maximum time of a batch with all its retries; 10 s by default, a day at most. Beyond it the
    /// spans of the batch are lost.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout.min(Duration::from_secs(24 * 60 * 60));
        self
    }

    /// Sets the resource attribute `service.name`, by which tracing tools group spans.
    #[must_use]
    pub fn with_service_name(self, name: &str) -> Self {
        self.with_resource_attribute("service.name", name)
    }

    /// Sets an attribute of all spans, such as `deployment.environment.name`. It replaces an
    /// attribute of the same name.
    #[must_use]
    pub fn with_resource_attribute(mut self, name: &str, value: &str) -> Self {
        self.resource.retain(|(known, _)| known != name);
        self.resource.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Maximum time that a span waits for others before a batch is sent; 5 s by default.
    #[must_use]
    pub fn with_schedule_delay(mut self, delay: Duration) -> Self {
        self.schedule_delay = delay;
        self
    }

    /// Maximum number of queued spans; 2048 by default. Further ones are dropped.
    #[must_use]
    pub fn with_max_queue_size(mut self, spans: usize) -> Self {
        self.max_queue = spans.max(1);
        self
    }

    /// Maximum number of spans in a batch; 512 by default. A full batch is sent at once.
    #[must_use]
    pub fn with_max_batch_size(mut self, spans: usize) -> Self {
        self.max_batch = spans.max(1);
        self
    }

    /// Sets the share of traces that are sent, from 0 to 1; all by default. A trace is sent
    /// completely or not at all, also if several processes take part in it.
    #[must_use]
    pub fn with_sample_ratio(mut self, ratio: f64) -> Self {
        self.sampler = Sampler::ratio(ratio);
        self
    }
}

pub(super) fn parse_url(setting: &str, url: &str) -> Result<Url, OtlpConfigError> {
    Url::parse(url).ok().filter(|url| matches!(url.scheme(), "http" | "https")).ok_or_else(|| {
        let shown = oxikit_core::redact::text(url);
        let problem = format!("is `{shown}`: write a URL such as `http://localhost:4318`");
        OtlpConfigError::new(setting, problem)
    })
}

/// Samples traces by their ids, as the samplers of other languages do, so that all
/// processes keep the same traces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sampler {
    /// Traces are kept if the number of 63 bits from their id is below this one.
    below: u64,
}

impl Sampler {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "the product is from 0 to 2^63"
    )]
    pub(super) fn ratio(ratio: f64) -> Self {
        Self { below: (ratio.clamp(0.0, 1.0) * (1_u64 << 63) as f64) as u64 }
    }

    pub(super) fn keeps(self, trace: TraceId) -> bool {
        let [.., a, b, c, d, e, f, g, h] = trace.to_bytes();
        u64::from_be_bytes([a, b, c, d, e, f, g, h]) >> 1 < self.below
    }
}
