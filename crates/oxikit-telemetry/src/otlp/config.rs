//! Where spans are sent, and how.

use std::time::Duration;

use oxikit_core::{Secret, TraceId};
use reqwest::Url;
use reqwest::header::{HeaderName, HeaderValue};

/// Where and how an [`OtlpExporter`](crate::OtlpExporter) sends.
///
/// In code it begins with [`new`](Self::new); [`from_env`](Self::from_env) reads the
/// standard variables of OpenTelemetry instead. Those that begin with
/// `OTEL_EXPORTER_OTLP_TRACES_` go before those without `TRACES_`.
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
/// An empty variable is one that is not there.
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

/// How spans are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OtlpProtocol {
    /// Protobuf over HTTP.
    #[default]
    HttpProtobuf,
    /// JSON over HTTP.
    HttpJson,
}

/// Why nothing can be sent with this configuration.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OtlpConfigError {
    /// A setting has a value that cannot be used.
    #[error("{setting} {problem}")]
    Setting {
        /// The variable, or what it is in code.
        setting: String,
        /// What is wrong with it, and what to write instead.
        problem: String,
    },
    /// The HTTP client cannot be made, mostly for want of root certificates.
    #[error("the HTTP client for the collector cannot be made: {0}")]
    Client(#[source] reqwest::Error),
}

impl OtlpConfigError {
    pub(super) fn new(setting: &str, problem: impl Into<String>) -> Self {
        Self::Setting { setting: setting.to_owned(), problem: problem.into() }
    }
}

impl OtlpConfig {
    /// Sends to this URL as it stands, such as `http://localhost:4318/v1/traces`.
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

    /// How spans are written.
    #[must_use]
    pub fn with_protocol(mut self, protocol: OtlpProtocol) -> Self {
        self.protocol = protocol;
        self
    }

    /// One more header of every request, such as the key of a tracing service.
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

    /// How long a batch may take with all its retries, a day at most. At first 10 s.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout.min(Duration::from_secs(24 * 60 * 60));
        self
    }

    /// The resource attribute `service.name`.
    #[must_use]
    pub fn with_service_name(self, name: &str) -> Self {
        self.with_resource_attribute("service.name", name)
    }

    /// What is true for all spans, such as `deployment.environment.name`. One that
    /// is given again is replaced.
    #[must_use]
    pub fn with_resource_attribute(mut self, name: &str, value: &str) -> Self {
        self.resource.retain(|(known, _)| known != name);
        self.resource.push((name.to_owned(), value.to_owned()));
        self
    }

    /// How long a span may wait for others. At first 5 s.
    #[must_use]
    pub fn with_schedule_delay(mut self, delay: Duration) -> Self {
        self.schedule_delay = delay;
        self
    }

    /// How many spans may wait; more are dropped. At first 2048.
    #[must_use]
    pub fn with_max_queue_size(mut self, spans: usize) -> Self {
        self.max_queue = spans.max(1);
        self
    }

    /// How many spans a batch may have. At first 512.
    #[must_use]
    pub fn with_max_batch_size(mut self, spans: usize) -> Self {
        self.max_batch = spans.max(1);
        self
    }

    /// Which share of the traces is sent, from 0 to 1. A trace is sent whole or
    /// not at all.
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

/// Decides by the trace id, as the samplers of other languages do, so that all
/// parts of a trace are kept or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sampler {
    /// Of the 63 bits that are looked at, values below this are kept.
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
