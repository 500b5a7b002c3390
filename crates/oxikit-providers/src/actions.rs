//! The actions that an application gets from a provider: its models and its embedders.
//!
//! They are made on demand by an [`ActionResolver`]. The work of one call is in `chat` for models,
//! and here for embedders.

use std::sync::Arc;

use async_trait::async_trait;
use oxikit_ai::wire::{ActionDescriptor, EmbedRequest, GenerateRequest, GenerateResponseChunk};
use oxikit_ai::{
    Action, ActionKind, Context, Document, Embedder, Emitter, Model, Oxikit, Result, Status,
};
use oxikit_core::ActionResolver;

use crate::chat;
use crate::config::Config;
use crate::model_name::is_model_name;
use crate::provider::{EmbedCall, Provider};

/// Makes the provider's actions. Any name is accepted, so that a new model needs
/// no new release of this crate.
pub(crate) struct Resolver(Arc<dyn Provider>);

/// Adds the provider to the application. No request is sent.
pub(crate) fn install(ai: &Oxikit, provider: impl Provider) {
    let resolver = Resolver(Arc::new(provider));
    ai.registry().add_resolver(Arc::new(resolver));
}

#[async_trait]
impl ActionResolver for Resolver {
    fn namespace(&self) -> &str {
        &self.0.connection().name
    }

    async fn resolve(&self, kind: ActionKind, name: &str) -> Result<Option<Action>> {
        let model = name.split_once('/').map(|(_, model)| model).unwrap_or_default();
        if !is_model_name(model) {
            return Ok(None);
        }
        Ok(match kind {
            ActionKind::Model => Some(self.model(model)),
            ActionKind::Embedder => self.embedder(model),
            _ => None,
        })
    }

    async fn list(&self) -> Result<Vec<ActionDescriptor>> {
        let (models, embedders) = self.0.names().await?;
        let models = models.iter().map(|name| self.model(name));
        let embedders = embedders.iter().filter_map(|name| self.embedder(name));
        Ok(models.chain(embedders).map(|action| action.descriptor().clone()).collect())
    }
}

impl Resolver {
    fn model(&self, name: &str) -> Action {
        let (provider, model) = (self.0.clone(), name.to_owned());
        Model::builder(format!("{}/{name}", self.namespace()))
            .info(self.0.model_info(name))
            .handler(
                move |request: GenerateRequest, _: Context, out: Emitter<GenerateResponseChunk>| {
                    let (provider, model) = (provider.clone(), model.clone());
                    async move { chat::answer(&*provider, &model, request, out).await }
                },
            )
            .into()
    }

    fn embedder(&self, name: &str) -> Option<Action> {
        let info = self.0.embedder_info(name)?;
        let (provider, model) = (self.0.clone(), name.to_owned());
        let mut builder = Embedder::builder(format!("{}/{name}", self.namespace()))
            .label(info.label.unwrap_or_default())
            .supports(info.supports.unwrap_or_default());
        if let Some(dimensions) = info.dimensions {
            builder = builder.dimensions(dimensions);
        }
        let embedder = builder.handler(move |request: EmbedRequest| {
            let (provider, model) = (provider.clone(), model.clone());
            async move { embed(&*provider, model, request).await }
        });
        Some(embedder.into())
    }
}

/// Embeds the texts of all documents: one vector for each, in their order.
async fn embed(
    provider: &dyn Provider,
    model: String,
    request: EmbedRequest,
) -> Result<Vec<Vec<f32>>> {
    let mut options = Config::parse(request.options.as_ref())?;
    let texts: Vec<String> = request.input.iter().map(Document::to_text).collect();
    if texts.iter().any(String::is_empty) {
        return Err(Status::invalid_argument("a document holds no text"));
    }
    if texts.is_empty() {
        return Ok(Vec::new());
    }
    let call = EmbedCall {
        link: provider.connection().link(options.api_key.take())?,
        model: options.version.take().unwrap_or(model),
        texts,
        options,
    };
    let wanted = call.texts.len();
    let vectors = provider.embed(call).await?;
    if vectors.len() == wanted {
        return Ok(vectors);
    }
    let given = vectors.len();
    let message = format!("malformed answer: {given} vectors for {wanted} documents");
    Err(Status::internal(message))
}
