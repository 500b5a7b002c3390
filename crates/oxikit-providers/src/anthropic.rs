//! Claude, by Anthropic, over its Messages API. Anthropic has no embedders.

use async_trait::async_trait;
use oxikit_ai::wire::{ConstrainedSupport, ModelInfo};
use oxikit_ai::{Oxikit, Plugin, Result};
use rig_core::completion::CompletionRequest;
use rig_core::providers::anthropic::AnthropicConfig;
use rig_core::providers::anthropic::wire::ANTHROPIC;
use serde_json::Value;

use crate::actions;
use crate::catalog::Traits;
use crate::config::Config;
use crate::connection::{Connection, Link, connection_methods};
use crate::key::KeySource;
use crate::provider::{Chat, Provider};
use crate::request::Constrains;

const TRAITS: Traits = Traits {
    vendor: ANTHROPIC.name,
    constrained: ConstrainedSupport::All,
    tool_choice: true,
    knows_constrained: true,
};

/// Maximum output tokens of a call that sets none: Anthropic requires a limit with every call. The
/// model's own maximum would be too large, because an answer that is not streamed would run into
/// the timeout before it is reached.
const MAX_TOKENS: u64 = 8192;

/// Claude models, named `anthropic/…`.
///
/// ```no_run
/// use oxikit::Oxikit;
/// use oxikit_providers::Anthropic;
///
/// let ai = Oxikit::builder()
///     .plugin(Anthropic::from_env())
///     .default_model("anthropic/claude-sonnet-4-5")
///     .build()?;
/// # Ok::<(), oxikit::Status>(())
/// ```
///
/// Members of a model's configuration that Genkit does not know go to Anthropic
/// in snake case, such as `thinking: {"type": "enabled", "budget_tokens": 2048}`.
/// Without `maxOutputTokens` an answer ends after 8192 tokens plus the budget of the thoughts.
///
/// ```
/// use std::time::Duration;
///
/// use oxikit_providers::Anthropic;
///
/// // Through a gateway, with a key that does not come from the environment.
/// let claude = Anthropic::from_env()
///     .base_url("https://gateway.example/anthropic")
///     .api_key("a key")
///     .header("anthropic-beta", "context-1m-2025-08-07")
///     .timeout(Duration::from_secs(600));
/// assert!(!format!("{claude:?}").contains("a key"));
/// ```
#[derive(Debug, Clone)]
pub struct Anthropic {
    connection: Connection,
}

impl Anthropic {
    /// Claude with the key in `ANTHROPIC_API_KEY`, which is looked up when a model is
    /// used.
    pub fn from_env() -> Self {
        let key = KeySource::variables(
            &["ANTHROPIC_API_KEY"],
            "https://console.anthropic.com/settings/keys",
        );
        Self { connection: Connection::new("anthropic", ANTHROPIC.base_url, key) }
    }

    connection_methods!();
}

impl Plugin for Anthropic {
    fn install(&self, ai: &Oxikit) -> Result<()> {
        actions::install(ai, self.clone());
        Ok(())
    }
}

#[async_trait]
impl Provider for Anthropic {
    fn connection(&self) -> &Connection {
        &self.connection
    }

    fn model_info(&self, model: &str) -> ModelInfo {
        TRAITS.info(format!("Anthropic - {model}"), model)
    }

    async fn names(&self) -> Result<(Vec<String>, Vec<String>)> {
        Ok((TRAITS.names(), Vec::new()))
    }

    fn chat(&self, model: &str, link: &Link) -> Chat {
        let model = AnthropicConfig::new(link.key())
            .with_base_url(&link.base_url)
            .connect(link.http.clone())
            .completion(model);
        Chat { target: Box::new(model.wire.clone()), model: model.erase() }
    }

    fn constrains(&self) -> Constrains {
        Constrains::Objects
    }

    fn configure(
        &self,
        config: &mut Config,
        _any_json: bool,
        request: &mut CompletionRequest,
    ) -> Result<()> {
        let mut params = config.take_snake_case();
        if let Some(top_k) = config.top_k {
            params.insert("top_k".to_owned(), top_k.into());
        }
        let thinking = params
            .get("thinking")
            .and_then(|thinking| thinking.get("budget_tokens"))
            .and_then(Value::as_u64)
            .unwrap_or_default();
        // Thoughts count against the limit.
        request.max_tokens.get_or_insert(MAX_TOKENS.saturating_add(thinking));
        request.additional_params = (!params.is_empty()).then_some(Value::Object(params));
        Ok(())
    }
}
