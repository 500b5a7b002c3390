//! Calls other models when one fails.

use async_trait::async_trait;
use oxikit_core::{Context, Result, StatusCode};
use oxikit_wire::{GenerateRequest, GenerateResponse};
use schemars::JsonSchema;
use serde::Deserialize;

use super::retry::PASSING;
use super::{Middleware, NextModel};
use crate::Oxikit;

/// Calls other models, one after another, when a model fails.
///
/// An answer that has begun to stream is not repeated with another model.
///
/// ```
/// use oxikit::middleware::Fallback;
/// use oxikit::prelude::*;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<()> {
/// let ai = Oxikit::builder().plugin(Offline).build()?;
/// # ai.define_model(oxikit::Model::builder("acme/busy").handler(|_, _, _| async {
/// #     Err(Status::new(StatusCode::Unavailable, "try later"))
/// # }));
/// let call = ai.generate().model("acme/busy").middleware(Fallback::to(["offline/demo"]));
/// assert!(call.prompt("Hello").await?.text().contains("offline/demo"));
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Fallback {
    /// Names of the models, in order.
    pub models: Vec<String>,
    /// Status codes after which another model is called.
    #[serde(default = "default_statuses")]
    pub statuses: Vec<StatusCode>,
}

impl Fallback {
    /// Falls back to these models, in order.
    pub fn to(models: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { models: models.into_iter().map(Into::into).collect(), statuses: default_statuses() }
    }
}

fn default_statuses() -> Vec<StatusCode> {
    let mut statuses = PASSING.to_vec();
    statuses.extend([StatusCode::NotFound, StatusCode::Unimplemented]);
    statuses
}

#[async_trait]
impl Middleware for Fallback {
    async fn model(
        &self,
        request: GenerateRequest,
        next: NextModel<'_>,
    ) -> Result<GenerateResponse> {
        let mut result = next.run(request.clone()).await;
        for name in &self.models {
            match &result {
                Err(status) if self.statuses.contains(&status.code()) && !next.has_streamed() => {
                    tracing::warn!(model = next.model_name(), %status, fallback = name, "model failed, asking another");
                }
                _ => return result,
            }
            let Some(ctx) = Context::current() else { return result };
            result = match Oxikit::of(ctx.registry()).model(name).await {
                Ok(model) => next.with_model(&model).run(request.clone()).await,
                Err(status) => Err(status),
            };
        }
        result
    }
}
