//! To Genkit's developer tools, in their own format.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use oxikit_core::{OpenSpan, SpanExporter, SpanRecord};

/// Sends spans to a telemetry server of the developer tools. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct GenkitExporter(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    server: Mutex<Option<String>>,
}

impl GenkitExporter {
    /// Sends to this server from now on, such as `http://localhost:4033`.
    pub fn set_server(&self, url: impl Into<String>) {
        *self.0.server.lock().unwrap_or_else(PoisonError::into_inner) = Some(url.into());
    }
}

#[async_trait]
impl SpanExporter for GenkitExporter {
    fn start(&self, _: &OpenSpan) {}

    fn end(&self, _: SpanRecord) {}
}
