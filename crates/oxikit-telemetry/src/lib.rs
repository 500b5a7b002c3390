//! Exporters that send the spans and logs of an application to other processes.
//!
//! | exporter | destination | when |
//! | --- | --- | --- |
//! | [`GenkitExporter`] | Genkit's developer tools | while actions run |
//! | [`LogLayer`] | the same, for log lines | while actions run |
//! | `OtlpExporter` (feature `otlp`) | an OpenTelemetry collector | in batches, in production |
//!
//! Both exporters never make the application wait: their queues are bounded, and what does not fit
//! is dropped and counted. Spans are made by `oxikit-core`, which also covers secrets in them;
//! stores of traces are in other crates.
//!
//! ```
//! use std::sync::Arc;
//!
//! use oxikit_core::Registry;
//! use oxikit_telemetry::GenkitExporter;
//!
//! # fn main() -> oxikit_core::Result<()> {
//! let registry = Registry::default();
//! let exporter = GenkitExporter::builder().server("http://localhost:4033").build()?;
//! registry.add_exporter(Arc::new(exporter));
//! # Ok(()) }
//! ```

// Says on docs.rs which feature an item needs.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![warn(clippy::missing_errors_doc, clippy::missing_panics_doc)]

mod genkit;
#[cfg(feature = "otlp")]
mod otlp;

pub use genkit::{GenkitExporter, GenkitExporterBuilder, LogLayer};
#[cfg(feature = "otlp")]
pub use otlp::{OtlpConfig, OtlpConfigError, OtlpExporter, OtlpProtocol};
