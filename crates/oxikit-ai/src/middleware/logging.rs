//! Logs model calls and tool runs.

use std::time::Instant;

use async_trait::async_trait;
use oxikit_core::Result;
use oxikit_wire::{GenerateRequest, GenerateResponse, Part};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Middleware, NextModel, NextTool};

/// Logs model calls and tool runs: names, times, tokens, failures. The content of messages is
/// not logged.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Logging {}

#[async_trait]
impl Middleware for Logging {
    async fn model(
        &self,
        request: GenerateRequest,
        next: NextModel<'_>,
    ) -> Result<GenerateResponse> {
        let (model, messages, began) = (next.model_name(), request.messages.len(), Instant::now());
        let result = next.run(request).await;
        let elapsed = began.elapsed();
        match &result {
            Ok(response) => {
                let tokens = response.usage.as_ref().and_then(|usage| usage.total_tokens);
                let finish_reason = response.finish_reason;
                tracing::info!(model, messages, ?elapsed, ?finish_reason, tokens, "model answered");
            }
            Err(status) => tracing::warn!(model, messages, ?elapsed, %status, "model failed"),
        }
        result
    }

    async fn tool(&self, request: Part, next: NextTool<'_>) -> Result<Option<Part>> {
        let (tool, began) = (next.tool_name(), Instant::now());
        let result = next.run(request).await;
        let elapsed = began.elapsed();
        match &result {
            Ok(_) => tracing::info!(tool, ?elapsed, "tool answered"),
            Err(status) => tracing::info!(tool, ?elapsed, %status, "tool did not answer"),
        }
        result
    }
}
