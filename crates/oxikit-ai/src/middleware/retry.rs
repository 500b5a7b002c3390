//! Repeats model calls that fail with a temporary error.

use std::time::Duration;

use async_trait::async_trait;
use oxikit_core::{Result, Status, StatusCode};
use oxikit_wire::{GenerateRequest, GenerateResponse};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Middleware, NextModel};

/// Repeats a model call that fails with a temporary error, with growing delays.
///
/// The delay that a provider asks for (`Retry-After`) is used instead, up to the longest delay.
/// An answer that has begun to stream is not repeated.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Retry {
    /// Maximum number of retries after the first attempt.
    pub max_retries: u32,
    /// Status codes after which the call is repeated.
    pub statuses: Vec<StatusCode>,
    /// The first delay, in milliseconds.
    pub initial_delay_ms: u64,
    /// The longest delay, in milliseconds.
    pub max_delay_ms: u64,
    /// Factor from one delay to the next.
    pub backoff_factor: f64,
    /// Whether to leave out the random part of a delay.
    pub no_jitter: bool,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            max_retries: 3,
            statuses: PASSING.to_vec(),
            initial_delay_ms: 1_000,
            max_delay_ms: 60_000,
            backoff_factor: 2.0,
            no_jitter: false,
        }
    }
}

/// Status codes of failures that may not happen again in a later attempt.
pub(super) const PASSING: [StatusCode; 5] = [
    StatusCode::Unavailable,
    StatusCode::DeadlineExceeded,
    StatusCode::ResourceExhausted,
    StatusCode::Aborted,
    StatusCode::Internal,
];

impl Retry {
    fn delay(&self, attempt: u32, status: &Status) -> Duration {
        let longest = Duration::from_millis(self.max_delay_ms);
        if let Some(asked_for) = status.retry_after() {
            return asked_for.min(longest);
        }
        let grown = self.initial_delay_ms as f64 * self.backoff_factor.powi(attempt as i32);
        // Clients that failed at the same time should not repeat their calls at the same time.
        let jitter = if self.no_jitter { 0.0 } else { grown * fastrand::f64() };
        Duration::try_from_secs_f64((grown + jitter) / 1000.0).unwrap_or(longest).min(longest)
    }
}

#[async_trait]
impl Middleware for Retry {
    async fn model(
        &self,
        request: GenerateRequest,
        next: NextModel<'_>,
    ) -> Result<GenerateResponse> {
        for attempt in 0..self.max_retries {
            match next.run(request.clone()).await {
                Err(status) if self.statuses.contains(&status.code()) && !next.has_streamed() => {
                    let delay = self.delay(attempt, &status);
                    tracing::warn!(model = next.model_name(), attempt, ?delay, %status, "model call failed, trying again");
                    tokio::time::sleep(delay).await;
                }
                result => return result,
            }
        }
        next.run(request).await
    }
}
