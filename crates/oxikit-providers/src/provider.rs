//! The interface of a provider: everything that differs between them.
//!
//! The common part of a call is in `chat` and `actions`; a new provider implements [`Provider`] and
//! a public plugin type.

use std::fmt;

use async_trait::async_trait;
use oxikit_ai::wire::{EmbedderInfo, ModelInfo};
use oxikit_ai::{Result, Status};
use rig_core::DynModel;
use rig_core::completion::{CompletionRequest, ReplayTarget};
use rig_core::operation::Completion;

use crate::config::Config;
use crate::connection::{Connection, Link};
use crate::request::Constrains;

/// A model of rig, ready to be called.
pub(crate) struct Chat {
    pub(crate) model: DynModel<Completion>,
    /// The same model as rig's check of the content that it accepts.
    pub(crate) target: Box<dyn ReplayTarget + Send>,
}

/// A call of an embedder. The common options are already taken out of `options`.
pub(crate) struct EmbedCall {
    pub(crate) link: Link,
    pub(crate) model: String,
    pub(crate) texts: Vec<String>,
    pub(crate) options: Config,
}

/// The differences between providers. Names of models are without the namespace.
#[async_trait]
pub(crate) trait Provider: fmt::Debug + Send + Sync + 'static {
    fn connection(&self) -> &Connection;

    /// The description of a model; of an unknown one, what is assumed.
    fn model_info(&self, model: &str) -> ModelInfo;

    /// The description of an embedder; `None` if the provider has no embedders.
    fn embedder_info(&self, _model: &str) -> Option<EmbedderInfo> {
        None
    }

    /// Names for the developer tools: models, then embedders.
    async fn names(&self) -> Result<(Vec<String>, Vec<String>)>;

    /// The model of rig for this name.
    fn chat(&self, model: &str, link: &Link) -> Chat;

    /// The provider's own support for output schemas.
    fn constrains(&self) -> Constrains;

    /// Writes the configuration for which rig has no member. With `any_json`, the
    /// answer must be JSON of any shape.
    fn configure(
        &self,
        config: &mut Config,
        any_json: bool,
        request: &mut CompletionRequest,
    ) -> Result<()>;

    /// Embeds the texts: one vector for each, in their order.
    async fn embed(&self, _call: EmbedCall) -> Result<Vec<Vec<f32>>> {
        Err(Status::invalid_argument("this provider has no embedders"))
    }
}
