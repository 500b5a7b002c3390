//! Models: actions that answer a conversation.

use std::time::Instant;

use oxikit_core::{Action, ActionKind, Context, Emitter, Result};
use oxikit_wire::{
    ConstrainedSupport, GenerateRequest, GenerateResponse, GenerateResponseChunk, ModelInfo,
    ModelSupports,
};
use serde_json::json;

use crate::Oxikit;

/// A model that answers conversations. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Model(Action);

impl Model {
    /// Begins the definition of a model, such as `acme/clever-2`.
    pub fn builder(name: impl Into<String>) -> ModelBuilder {
        ModelBuilder {
            name: name.into(),
            info: ModelInfo::default(),
        }
    }

    /// The name by which generate calls find it.
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// The action behind it.
    pub fn action(&self) -> &Action {
        &self.0
    }
}

impl From<Model> for Action {
    fn from(model: Model) -> Self {
        model.0
    }
}

/// The definition of a [`Model`].
#[derive(Debug, Clone)]
#[must_use = "a model is made by `handler`"]
pub struct ModelBuilder {
    name: String,
    info: ModelInfo,
}

impl ModelBuilder {
    /// The name shown to people.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.info.label = Some(label.into());
        self
    }

    /// All that is known about the model.
    pub fn info(mut self, info: ModelInfo) -> Self {
        self.info = info;
        self
    }

    /// What the model can do.
    pub fn supports(mut self, supports: ModelSupports) -> Self {
        self.info.supports = Some(supports);
        self
    }

    /// Makes the model. The function answers a request; while `out.is_wanted()`
    /// it also sends pieces of the answer.
    pub fn handler<F, Fut>(self, function: F) -> Model
    where
        F: Fn(GenerateRequest, Context, Emitter<GenerateResponseChunk>) -> Fut
            + Send
            + Sync
            + 'static,
        Fut: Future<Output = Result<GenerateResponse>> + Send + 'static,
    {
        let label = self.info.label.clone().unwrap_or_else(|| self.name.clone());
        let info = ModelInfo {
            label: Some(label.clone()),
            ..self.info
        };
        let function = std::sync::Arc::new(function);
        let action = Action::builder(ActionKind::Model, self.name)
            .description(label)
            .metadata("type", "model")
            .metadata("model", json!(info))
            .handler(
                move |request: GenerateRequest,
                      ctx: Context,
                      out: Emitter<GenerateResponseChunk>| {
                    let function = function.clone();
                    async move {
                        let began = Instant::now();
                        let mut response = function(request, ctx, out).await?;
                        response
                            .latency_ms
                            .get_or_insert(began.elapsed().as_secs_f64() * 1000.0);
                        Ok(response)
                    }
                },
            );
        Model(action)
    }
}

/// Whether the model itself can be held to an output schema.
pub(crate) fn is_constrained(supports: Option<&ModelSupports>, has_tools: bool) -> bool {
    match supports.and_then(|supports| supports.constrained) {
        Some(ConstrainedSupport::All) => true,
        Some(ConstrainedSupport::NoTools) => !has_tools,
        Some(ConstrainedSupport::None) | None => false,
    }
}

impl Oxikit {
    /// Defines a model of the application's own.
    pub fn define_model(&self, model: Model) -> Model {
        self.registry().register(model.0.clone());
        model
    }
}
