//! Reads the configuration from OpenTelemetry's standard environment variables.

use std::str::FromStr;
use std::time::Duration;

use percent_encoding::percent_decode_str;

use super::config::{OtlpConfig, OtlpConfigError, OtlpProtocol, parse_url};

impl OtlpConfig {
    /// Reads the environment variables of this process; `None` if they do not enable an export.
    /// Call it once, in `main`.
    ///
    /// # Errors
    ///
    /// [`OtlpConfigError::Setting`] with the variable that has an invalid value.
    pub fn from_env() -> Result<Option<Self>, OtlpConfigError> {
        Self::from_vars(|name| std::env::var(name).ok())
    }

    /// Reads variables from a function, for tests and for other sources than the environment.
    /// `None` if they do not enable an export.
    ///
    /// ```
    /// use oxikit_telemetry::OtlpConfig;
    ///
    /// # fn main() -> Result<(), oxikit_telemetry::OtlpConfigError> {
    /// let config = OtlpConfig::from_vars(|name| match name {
    ///     "OTEL_EXPORTER_OTLP_ENDPOINT" => Some("http://localhost:4318".to_owned()),
    ///     _ => None,
    /// })?;
    /// assert!(config.is_some());
    /// assert!(OtlpConfig::from_vars(|_| None)?.is_none());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// [`OtlpConfigError::Setting`] with the variable that has an invalid value.
    pub fn from_vars(
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Self>, OtlpConfigError> {
        let variables = Variables(&variable);
        if !variables.are_on()? {
            return Ok(None);
        }
        let Some(config) = variables.endpoint()? else {
            return Ok(None);
        };
        let config = config.with_protocol(variables.protocol()?);
        let config = variables.headers(config)?;
        let config = variables.resource(config)?;
        variables.sampler(variables.limits(config)?).map(Some)
    }
}

/// Reads single variables. Each method handles one group of them and returns an error with the
/// name of the variable that is wrong.
struct Variables<'a>(&'a dyn Fn(&str) -> Option<String>);

/// A variable that is set and not empty.
struct Variable {
    name: &'static str,
    value: String,
}

impl Variable {
    /// The error for this value, with the value to write instead. Secrets in the value are
    /// covered.
    fn refuse(&self, instead: &str) -> OtlpConfigError {
        let shown = oxikit_core::redact::text(&self.value);
        OtlpConfigError::new(self.name, format!("is `{shown}`: {instead}"))
    }

    fn parse<T: FromStr>(&self, instead: &str) -> Result<T, OtlpConfigError> {
        self.value.parse().map_err(|_| self.refuse(instead))
    }
}

impl Variables<'_> {
    /// The variable, trimmed; `None` if it is not set or empty.
    fn get(&self, name: &'static str) -> Option<Variable> {
        let value = (self.0)(name)?.trim().to_owned();
        (!value.is_empty()).then_some(Variable { name, value })
    }

    /// The first variable that is set: the one for traces, or else the general one.
    fn first(&self, names: [&'static str; 2]) -> Option<Variable> {
        names.into_iter().find_map(|name| self.get(name))
    }

    /// Whether an export of traces is enabled at all.
    fn are_on(&self) -> Result<bool, OtlpConfigError> {
        // By the standard every value except `true` means false.
        let disabled = self.get("OTEL_SDK_DISABLED");
        if disabled.is_some_and(|disabled| disabled.value.eq_ignore_ascii_case("true")) {
            return Ok(false);
        }
        match self.get("OTEL_TRACES_EXPORTER") {
            None => Ok(true),
            Some(exporter) => match exporter.value.as_str() {
                "otlp" => Ok(true),
                "none" => Ok(false),
                _ => Err(exporter.refuse("write `otlp` or `none`")),
            },
        }
    }

    /// The configuration with the endpoint. Only the general variable gets the path `/v1/traces`.
    fn endpoint(&self) -> Result<Option<OtlpConfig>, OtlpConfigError> {
        if let Some(Variable { name, value }) = self.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") {
            return OtlpConfig::new(parse_url(name, &value)?.as_str()).map(Some);
        }
        let Some(Variable { name, value }) = self.get("OTEL_EXPORTER_OTLP_ENDPOINT") else {
            return Ok(None);
        };
        let mut url = parse_url(name, &value)?;
        let path = format!("{}/v1/traces", url.path().trim_end_matches('/'));
        url.set_path(&path);
        OtlpConfig::new(url.as_str()).map(Some)
    }

    fn protocol(&self) -> Result<OtlpProtocol, OtlpConfigError> {
        let names = ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"];
        let Some(protocol) = self.first(names) else {
            return Ok(OtlpProtocol::default());
        };
        match protocol.value.as_str() {
            "http/protobuf" => Ok(OtlpProtocol::HttpProtobuf),
            "http/json" => Ok(OtlpProtocol::HttpJson),
            "grpc" => Err(protocol.refuse(
                "gRPC is not supported. Write `http/protobuf`, and the collector's port for HTTP, \
                 mostly 4318, in `OTEL_EXPORTER_OTLP_ENDPOINT`",
            )),
            _ => Err(protocol.refuse("write `http/protobuf` or `http/json`")),
        }
    }

    fn headers(&self, mut config: OtlpConfig) -> Result<OtlpConfig, OtlpConfigError> {
        let names = ["OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"];
        if let Some(headers) = self.first(names) {
            for (name, value) in pairs(&headers)? {
                config = config.add_header(headers.name, &name, &value)?;
            }
        }
        Ok(config)
    }

    fn resource(&self, mut config: OtlpConfig) -> Result<OtlpConfig, OtlpConfigError> {
        if let Some(attributes) = self.get("OTEL_RESOURCE_ATTRIBUTES") {
            for (name, value) in pairs(&attributes)? {
                config = config.with_resource_attribute(&name, &value);
            }
        }
        Ok(match self.get("OTEL_SERVICE_NAME") {
            Some(service) => config.with_service_name(&service.value),
            None => config,
        })
    }

    fn limits(&self, mut config: OtlpConfig) -> Result<OtlpConfig, OtlpConfigError> {
        let names = ["OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT"];
        if let Some(timeout) = self.first(names) {
            config = config.with_timeout(milliseconds(&timeout, 1)?);
        }
        if let Some(delay) = self.get("OTEL_BSP_SCHEDULE_DELAY") {
            config = config.with_schedule_delay(milliseconds(&delay, 0)?);
        }
        if let Some(queue) = self.get("OTEL_BSP_MAX_QUEUE_SIZE") {
            config = config.with_max_queue_size(spans(&queue)?);
        }
        if let Some(batch) = self.get("OTEL_BSP_MAX_EXPORT_BATCH_SIZE") {
            config = config.with_max_batch_size(spans(&batch)?);
        }
        Ok(config)
    }

    fn sampler(&self, config: OtlpConfig) -> Result<OtlpConfig, OtlpConfigError> {
        let Some(sampler) = self.get("OTEL_TRACES_SAMPLER") else {
            return Ok(config);
        };
        // All traces begin in this process, so a sampler that asks the parent first decides the
        // same.
        let name = sampler.value.strip_prefix("parentbased_").unwrap_or(&sampler.value);
        let ratio = match name {
            "always_on" => 1.0,
            "always_off" => 0.0,
            "traceidratio" => self.ratio()?,
            _ => {
                return Err(sampler.refuse(
                    "write `always_on`, `always_off` or `traceidratio`, or one of them after \
                     `parentbased_`",
                ));
            }
        };
        Ok(config.with_sample_ratio(ratio))
    }

    fn ratio(&self) -> Result<f64, OtlpConfigError> {
        const INSTEAD: &str = "write a number from 0 to 1";
        let Some(argument) = self.get("OTEL_TRACES_SAMPLER_ARG") else {
            return Ok(1.0);
        };
        let ratio = argument.parse(INSTEAD)?;
        if (0.0..=1.0).contains(&ratio) { Ok(ratio) } else { Err(argument.refuse(INSTEAD)) }
    }
}

fn milliseconds(variable: &Variable, least: u64) -> Result<Duration, OtlpConfigError> {
    let instead = format!("write a number of milliseconds, at least {least}");
    let number: u64 = variable.parse(&instead)?;
    if number < least {
        return Err(variable.refuse(&instead));
    }
    Ok(Duration::from_millis(number))
}

fn spans(variable: &Variable) -> Result<usize, OtlpConfigError> {
    const INSTEAD: &str = "write a number of spans, at least 1";
    match variable.parse(INSTEAD)? {
        0 => Err(variable.refuse(INSTEAD)),
        number => Ok(number),
    }
}

/// The pairs of `name=value,…`. Errors do not show values, because most of them are keys.
fn pairs(variable: &Variable) -> Result<Vec<(String, String)>, OtlpConfigError> {
    let refuse = |problem: String| OtlpConfigError::new(variable.name, problem);
    let pairs = variable.value.split(',').map(str::trim).enumerate();
    pairs
        .filter(|(_, pair)| !pair.is_empty())
        .map(|(at, pair)| {
            let (name, value) = pair.split_once('=').ok_or_else(|| {
                refuse(format!("has no `=` in pair {}: write `name=value,name=value`", at + 1))
            })?;
            let value = percent_decode_str(value.trim()).decode_utf8().map_err(|_| {
                refuse(format!("has a value for `{}` that is not UTF-8", name.trim()))
            })?;
            Ok((name.trim().to_owned(), value.into_owned()))
        })
        .collect()
}
