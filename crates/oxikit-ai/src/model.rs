//! Models: actions that answer a conversation. The loop with tools around them is in
//! `generate`; models themselves are defined by provider plugins and applications.

mod adapt;

use std::time::Instant;

use oxikit_core::{Action, ActionKind, Context, Emitter, Result, Status};
use oxikit_wire::{
    GenerateRequest, GenerateResponse, GenerateResponseChunk, ModelInfo, ModelSupports,
};
use serde_json::json;

use crate::{Oxikit, lookup};

/// A model that answers conversations. Cheap to clone.
///
/// ```
/// use std::sync::Arc;
/// use oxikit::wire::GenerateResponse;
/// use oxikit::{Message, Model, Oxikit};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> oxikit::Result<()> {
/// let ai = Oxikit::builder().build()?;
/// ai.define_model(Model::builder("acme/echo").label("Echo").handler(|request, _, _| async move {
///     let asked = request.messages.last().map(|message| message.text()).unwrap_or_default();
///     let message = Some(Arc::new(Message::model(asked)));
///     Ok(GenerateResponse { message, ..GenerateResponse::default() })
/// }));
/// assert_eq!(ai.generate().model("acme/echo").prompt("Hello").await?.text(), "Hello");
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct Model(Action);

impl Model {
    /// Begins the definition of a model, such as `acme/clever-2`. The part before the slash is
    /// the namespace of its provider.
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
    /// Sets the name that the developer tools show; the model's name unless set.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.info.label = Some(label.into());
        self
    }

    /// Sets all information about the model, in place of what was set before.
    pub fn info(mut self, info: ModelInfo) -> Self {
        self.info = info;
        self
    }

    /// Sets the abilities of the model. Requests are adapted to them before the handler sees
    /// them: a model without `context` gets documents as text of a message, and a model that
    /// cannot be constrained gets the output schema as instructions.
    pub fn supports(mut self, supports: ModelSupports) -> Self {
        self.info.supports = Some(supports);
        self
    }

    /// Makes the model. The function answers a request; while `out.is_wanted()`
    /// it also sends chunks of the answer. The response always contains the whole message, also
    /// if all of it was sent as chunks.
    pub fn handler<F, Fut>(self, function: F) -> Model
    where
        F: Fn(GenerateRequest, Context, Emitter<GenerateResponseChunk>) -> Fut
            + Send
            + Sync
            + 'static,
        Fut: Future<Output = Result<GenerateResponse>> + Send + 'static,
    {
        let (label, info) = labelled(&self.name, self.info);
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

/// The label of a model, which is its name unless it has one, and the information with it.
pub(crate) fn labelled(name: &str, info: ModelInfo) -> (String, ModelInfo) {
    let label = info.label.clone().unwrap_or_else(|| name.to_owned());
    (label.clone(), ModelInfo { label: Some(label), ..info })
}

impl Oxikit {
    /// Defines a model of the application's own. A model of the same name is replaced, with a
    /// warning.
    pub fn define_model(&self, model: Model) -> Model {
        self.registry().register(model.0.clone());
        model
    }

    /// Finds the model of this name, of the application or of a plugin. The prefix `/model/` may
    /// be left out. A background model is found, too.
    ///
    /// # Errors
    ///
    /// `NOT_FOUND` if there is no such model; the error of the plugin if its resolver fails.
    pub async fn model(&self, name: &str) -> Result<Model> {
        let name = name.strip_prefix("/model/").unwrap_or(name);
        // Both kinds share one namespace for callers. The future is only polled if there is no
        // model of this name.
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
