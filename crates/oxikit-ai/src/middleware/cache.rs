//! Caches the answers of models in memory.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use oxikit_core::Result;
use oxikit_wire::{GenerateRequest, GenerateResponse, GenerateResponseChunk};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::time::Instant;

use super::{Middleware, NextModel};

/// Answers a request that was answered before from memory.
///
/// Requests are the same when model, messages, tools, configuration and output
/// are the same. The oldest answers are evicted first. Failures are not cached, and requests
/// that are sent at the same time are not joined: each of them calls the model.
pub struct Cache {
    options: CacheOptions,
    answers: Mutex<Answers>,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct CacheOptions {
    /// Maximum number of answers; the oldest are evicted.
    max_entries: usize,
    /// Time for which an answer is used, in milliseconds.
    ttl_ms: u64,
}

#[derive(Default)]
struct Answers {
    by_request: HashMap<String, (Instant, GenerateResponse)>,
    /// Oldest first.
    order: VecDeque<String>,
}

impl Default for CacheOptions {
    fn default() -> Self {
        Self { max_entries: 256, ttl_ms: 5 * 60 * 1000 }
    }
}

impl Cache {
    /// Keeps at most this number of answers, each for this time. [`Cache::default`] keeps 256
    /// answers for five minutes.
    pub fn new(max_entries: usize, ttl: Duration) -> Self {
        let ttl_ms = u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX);
        Self::with_options(CacheOptions { max_entries, ttl_ms })
    }

    pub(super) fn with_options(options: CacheOptions) -> Self {
        Self { options, answers: Mutex::default() }
    }

    fn get(&self, key: &str) -> Option<GenerateResponse> {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let (kept_at, answer) = answers.by_request.get(key)?;
        (kept_at.elapsed() < Duration::from_millis(self.options.ttl_ms)).then(|| answer.clone())
    }

    fn keep(&self, key: String, answer: GenerateResponse) {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        if answers.by_request.insert(key.clone(), (Instant::now(), answer)).is_some() {
            answers.order.retain(|known| *known != key);
        }
        answers.order.push_back(key);
        while answers.order.len() > self.options.max_entries {
            if let Some(oldest) = answers.order.pop_front() {
                answers.by_request.remove(&oldest);
            }
        }
    }
}

impl Default for Cache {
    fn default() -> Self {
        Self::with_options(CacheOptions::default())
    }
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache").field("options", &self.options).finish_non_exhaustive()
    }
}

#[async_trait]
impl Middleware for Cache {
    async fn model(
        &self,
        request: GenerateRequest,
        next: NextModel<'_>,
    ) -> Result<GenerateResponse> {
        let key = format!("{} {}", next.model_name(), serde_json::to_string(&request)?);
        if let Some(answer) = self.get(&key) {
            // A reader of the stream gets the cached answer as one chunk.
            if let Some(message) = &answer.message {
                next.emit(GenerateResponseChunk::from(message.content.clone())).await?;
            }
            return Ok(answer);
        }
        let answer = next.run(request).await?;
        self.keep(key, answer.clone());
        Ok(answer)
    }
}
