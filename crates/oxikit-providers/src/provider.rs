//! What differs between providers, and the actions made of it.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use oxikit::wire::{
    ActionDescriptor, EmbedRequest, EmbedderInfo, GenerateRequest, GenerateResponseChunk, ModelInfo,
};
use oxikit::{
    Action, ActionKind, Context, Document, Embedder, Emitter, Model, Oxikit, Result, Status,
};
use oxikit_core::ActionResolver;
use rig_core::DynModel;
use rig_core::completion::{CompletionRequest, ReplayTarget};
use rig_core::operation::Completion;

use crate::chat;
use crate::config::Config;
use crate::connection::{Connection, Link};
use crate::request::Constrains;

/// A model of rig, ready to be called.
pub(crate) struct Chat {
    pub(crate) model: DynModel<Completion>,
    /// The same, as the one that knows what can be sent to it.
    pub(crate) target: Box<dyn ReplayTarget + Send>,
}

/// What an embedder is asked, after the common part is read.
pub(crate) struct EmbedCall {
    pub(crate) link: Link,
    pub(crate) model: String,
    pub(crate) texts: Vec<String>,
    pub(crate) options: Config,
}

/// What differs between providers. Names of models come without the namespace.
#[async_trait]
pub(crate) trait Provider: fmt::Debug + Send + Sync + 'static {
    fn connection(&self) -> &Connection;

    /// What is known about a model, or assumed of one that is not known.
    fn model_info(&self, model: &str) -> ModelInfo;

    /// What is known about an embedder; `None` if the provider has none.
    fn embedder_info(&self, _model: &str) -> Option<EmbedderInfo> {
        None
    }

    /// Names for the developer tools: models, then embedders.
    async fn names(&self) -> Result<(Vec<String>, Vec<String>)>;

    fn chat(&self, model: &str, link: &Link) -> Chat;

    fn constrains(&self) -> Constrains;

    /// Writes the configuration that rig has no member for. `any_json`: an
    /// answer in JSON is wanted, of whatever shape.
    fn configure(
        &self,
        config: &mut Config,
        any_json: bool,
        request: &mut CompletionRequest,
    ) -> Result<()>;

    async fn embed(&self, _call: EmbedCall) -> Result<Vec<Vec<f32>>> {
        Err(Status::invalid_argument("this provider has no embedders"))
    }
}

/// Finds the provider's actions: any name is taken, so that a new model needs
/// no new release of this crate.
pub(crate) struct Resolver(Arc<dyn Provider>);

/// Makes the provider's actions known to the application.
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

/// Names become part of a URL that is called with our key, and whoever calls
/// `/util/generate` chooses them.
pub(crate) fn is_model_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:/@+".contains(&byte);
    !name.is_empty() && name.bytes().all(is_plain) && name.split('/').all(|step| step != "..")
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
