//! Spans and logs on their way out of an application.
//!
//! [`GenkitExporter`] sends them to Genkit's developer tools while they happen;
//! its [`LogLayer`] does so with what the application logs.

mod genkit;

pub use genkit::{GenkitExporter, GenkitExporterBuilder, LogLayer};
