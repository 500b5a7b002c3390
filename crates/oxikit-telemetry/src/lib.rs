//! Spans and logs on their way out of an application.
//!
//! [`GenkitExporter`] sends them to Genkit's developer tools while they happen.

mod genkit;

pub use genkit::GenkitExporter;
