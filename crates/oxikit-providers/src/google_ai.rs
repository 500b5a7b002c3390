//! Gemini, by the API of Google's AI Studio. Vertex AI is not covered.

mod embed;

use async_trait::async_trait;
use oxikit_ai::wire::{ConstrainedSupport, EmbedderInfo, JsonObject, ModelInfo};
use oxikit_ai::{Oxikit, Plugin, Result};
use reqwest::header::HeaderValue;
use rig_core::completion::CompletionRequest;
use rig_core::providers::gemini::{BASE_URL, GeminiConfig, PROVIDER_NAME};
use serde_json::{Value, json};

use crate::actions;
use crate::catalog::Traits;
use crate::config::Config;
use crate::connection::{Connection, Link, connection_methods};
use crate::http::GOOGLE_KEY;
use crate::key::KeySource;
use crate::provider::{Chat, EmbedCall, Provider};
use crate::request::Constrains;

const TRAITS: Traits = Traits {
    vendor: PROVIDER_NAME,
    // Gemini 2.5 refuses a schema beside tools.
    constrained: ConstrainedSupport::NoTools,
    tool_choice: true,
    knows_constrained: true,
};

/// Members of the configuration that Gemini takes beside `generationConfig` and not in it.
const TOP_LEVEL: [&str; 6] =
    ["safetySettings", "cachedContent", "tools", "toolConfig", "labels", "generationConfig"];

/// Gemini models and embedders, named `googleai/…`.
///
/// ```no_run
/// use oxikit::Oxikit;
/// use oxikit_providers::GoogleAi;
///
/// let ai = Oxikit::builder()
///     .plugin(GoogleAi::from_env())
///     .default_model("googleai/gemini-2.5-flash")
///     .build()?;
/// # Ok::<(), oxikit::Status>(())
/// ```
///
/// Members of a model's configuration that Genkit does not know go to Gemini's
/// `generationConfig`, such as `thinkingConfig`; `safetySettings`,
/// `cachedContent`, `toolConfig` and `tools` beside it. `codeExecution: true`
/// and `googleSearchRetrieval: true` enable Google's tools of these names.
///
/// ```no_run
/// use oxikit::Oxikit;
/// use serde_json::json;
///
/// # async fn example(ai: &Oxikit) -> oxikit::Result<()> {
/// let answer = ai
///     .generate()
///     .prompt("What happened in Oslo today?")
///     .config(json!({
///         "temperature": 0.2,
///         "thinkingConfig": { "thinkingBudget": 1024 },
///         "googleSearchRetrieval": true,
///     }))
///     .await?;
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct GoogleAi {
    connection: Connection,
}

impl GoogleAi {
    /// Gemini with the key in `GEMINI_API_KEY` or `GOOGLE_API_KEY`, which is looked up
    /// when a model is used. The first variable that is not empty counts.
    pub fn from_env() -> Self {
        let key = KeySource::variables(
            &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
            "https://aistudio.google.com/apikey",
        );
        Self { connection: Connection::new("googleai", BASE_URL, key) }
    }

    connection_methods!();
}

impl Plugin for GoogleAi {
    fn install(&self, ai: &Oxikit) -> Result<()> {
        actions::install(ai, self.clone());
        Ok(())
    }
}

#[async_trait]
impl Provider for GoogleAi {
    fn connection(&self) -> &Connection {
        &self.connection
    }

    fn model_info(&self, model: &str) -> ModelInfo {
        TRAITS.info(format!("Google AI - {model}"), model)
    }

    fn embedder_info(&self, model: &str) -> Option<EmbedderInfo> {
        Some(embed::info(model))
    }

    async fn names(&self) -> Result<(Vec<String>, Vec<String>)> {
        Ok((TRAITS.names(), vec![embed::WELL_KNOWN.to_owned()]))
    }

    fn chat(&self, model: &str, link: &Link) -> Chat {
        // rig would write the key into the URL, so it gets an empty one. The real key is sent as
        // a header.
        let model = GeminiConfig::new("")
            .with_base_url(&link.base_url)
            .connect(with_key(link))
            .completion(model);
        Chat { target: Box::new(model.wire.clone()), model: model.erase() }
    }

    fn constrains(&self) -> Constrains {
        Constrains::Anything
    }

    fn configure(
        &self,
        config: &mut Config,
        any_json: bool,
        request: &mut CompletionRequest,
    ) -> Result<()> {
        let mut params = JsonObject::new();
        let mut generation = JsonObject::new();
        for (name, value) in std::mem::take(&mut config.rest) {
            match name.as_str() {
                "codeExecution" => add_tool(&mut params, "codeExecution", value),
                "googleSearchRetrieval" => add_tool(&mut params, "googleSearch", value),
                name if TOP_LEVEL.contains(&name) => {
                    params.insert(name.to_owned(), value);
                }
                _ => {
                    generation.insert(name, value);
                }
            }
        }
        if let Some(top_k) = config.top_k {
            generation.insert("topK".to_owned(), top_k.into());
        }
        if any_json && request.tools.is_empty() {
            generation.insert("responseMimeType".to_owned(), "application/json".into());
        }
        if !generation.is_empty() {
            let stated = params.entry("generationConfig").or_insert_with(|| json!({}));
            if let Value::Object(stated) = stated {
                stated.extend(generation);
            }
        }
        request.additional_params = (!params.is_empty()).then_some(Value::Object(params));
        Ok(())
    }

    async fn embed(&self, call: EmbedCall) -> Result<Vec<Vec<f32>>> {
        embed::embed(call).await
    }
}

/// Adds one of Google's own tools, which `true` or an object of settings enables.
fn add_tool(params: &mut JsonObject, name: &str, value: Value) {
    let settings = match value {
        Value::Bool(false) => return,
        Value::Object(settings) => Value::Object(settings),
        _ => json!({}),
    };
    let tools = params.entry("tools").or_insert_with(|| json!([]));
    if let Value::Array(tools) = tools {
        tools.push(json!({ name: settings }));
    }
}

/// The HTTP client of the link with the key as a header.
fn with_key(link: &Link) -> crate::http::Http {
    let mut http = link.http.clone();
    let mut headers = (*http.headers).clone();
    // A key with illegal characters cannot be sent. Google rejects the placeholder with its own
    // error.
    let value = HeaderValue::from_str(link.key()).unwrap_or(HeaderValue::from_static("invalid"));
    headers.insert(GOOGLE_KEY, value);
    http.headers = headers.into();
    http
}
