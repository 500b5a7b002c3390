//! Tries a model again when it fails for a passing reason.

use std::time::Duration;

use async_trait::async_trait;
use oxikit_core::{Result, Status, StatusCode};
use oxikit_wire::{GenerateRequest, GenerateResponse};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Middleware, NextModel};

/// Tries a model again, later and later, when it fails for a passing reason.
///
/// A provider that says when to come back is believed, up to the longest delay.
/// An answer that has begun to stream is not begun again.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Retry {
    /// How often to try again.
    pub max_retries: u32,
    /// Which failures pass.
    pub statuses: Vec<StatusCode>,
    /// The first delay, in milliseconds.
    pub initial_delay_ms: u64,
    /// The longest delay, in milliseconds.
    pub max_delay_ms: u64,
    /// What each delay is multiplied by to get the next.
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

/// Failures that may be gone the next time.
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
        // Clients that failed together should not come back together.
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
