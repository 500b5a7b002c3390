//! Models: actions that answer a conversation.

mod adapt;

use std::time::Instant;

use oxikit_core::{Action, ActionKind, Context, Emitter, Result, Status};
use oxikit_wire::{
    GenerateRequest, GenerateResponse, GenerateResponseChunk, ModelInfo, ModelSupports,
};
use serde_json::json;

use crate::{Oxikit, lookup};

/// A model that answers conversations. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Model(Action);

impl Model {
    /// Begins the definition of a model, such as `acme/clever-2`.
    pub fn builder(name: impl Into<String>) -> ModelBuilder {
        ModelBuilder { name: name.into(), info: ModelInfo::default() }
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
        let info = ModelInfo { label: Some(label.clone()), ..self.info };
        let supports = info.supports.clone().unwrap_or_default();
        let action = Action::builder(ActionKind::Model, self.name)
            .description(label)
            .metadata("type", "model")
            .metadata("model", json!(info))
            .handler(
                move |request: GenerateRequest,
                      ctx: Context,
                      out: Emitter<GenerateResponseChunk>| {
                    let answer = function(adapt::to_model(request, &supports), ctx, out);
                    async move {
                        let began = Instant::now();
                        let mut response = answer.await?;
                        response.latency_ms.get_or_insert(began.elapsed().as_secs_f64() * 1000.0);
                        Ok(response)
                    }
                },
            );
        Model(action)
    }
}

impl Oxikit {
    /// Defines a model of the application's own.
    pub fn define_model(&self, model: Model) -> Model {
        self.registry().register(model.0.clone());
        model
    }

    /// The model of this name, of the application or of a plugin.
    pub async fn model(&self, name: &str) -> Result<Model> {
        let name = name.strip_prefix("/model/").unwrap_or(name);
        let background = self.registry().resolve(ActionKind::BackgroundModel, name);
        match self.registry().resolve(ActionKind::Model, name).await? {
            Some(action) => Ok(Model(action)),
            None => match background.await? {
                Some(action) => Ok(Model(action)),
                None => Err(lookup::missing(self.registry(), ActionKind::Model, name)),
            },
        }
    }

    /// The model that a call names, or the default one.
    pub(crate) async fn resolve_model(&self, name: Option<&str>) -> Result<Model> {
        match name.map(ToOwned::to_owned).or_else(|| self.default_model()) {
            Some(name) => self.model(&name).await,
            None => Err(Status::invalid_argument("Must supply a `model` to `generate()` calls.")
                .with_hint(
                    "name one by `model(…)`, or a default by `Oxikit::builder().default_model(…)`",
                )),
        }
    }
}
