//! Spans and logs on their way out of an application.
//!
//! [`GenkitExporter`] sends them to Genkit's developer tools while they happen;
//! its [`LogLayer`] does so with what the application logs. `OtlpExporter` sends spans
//! to a collector, as its `OtlpConfig` says; it comes with the feature `otlp`.

mod genkit;
#[cfg(feature = "otlp")]
mod otlp;

pub use genkit::{GenkitExporter, GenkitExporterBuilder, LogLayer};
#[cfg(feature = "otlp")]
pub use otlp::{OtlpConfig, OtlpConfigError, OtlpExporter, OtlpProtocol};
