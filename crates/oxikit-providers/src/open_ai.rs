//! OpenAI, and every server with a compatible API.

use std::time::Duration;

use async_trait::async_trait;
use oxikit_ai::wire::{ConstrainedSupport, EmbedderInfo, JsonObject, ModelInfo};
use oxikit_ai::{Oxikit, Plugin, Result, Status};
use rig_core::completion::{CompletionRequest, GenerationOptions};
use rig_core::providers::openai::wire::{Auth, Dialect, OPENAI, by_name};
use rig_core::providers::openai::{self, OpenAIConfig};
use serde_json::{Value, json};

use crate::actions;
use crate::catalog::Traits;
use crate::config::Config;
use crate::connection::{Connection, Link, connection_methods};
use crate::embed;
use crate::key::{KeySource, Variables};
use crate::provider::{Chat, EmbedCall, Provider};
use crate::request::Constrains;

/// OpenAI's embedders and the dimensions of their vectors.
const EMBEDDERS: [(&str, u32); 3] = [
    ("text-embedding-3-small", 1536),
    ("text-embedding-3-large", 3072),
    ("text-embedding-ada-002", 1536),
];

/// Maximum time for the list of models. Beyond it the developer tools show none.
const LIST_TIMEOUT: Duration = Duration::from_secs(2);

/// OpenAI's models and embedders, named `openai/…`, or those of a compatible
/// server under a name of its own.
///
/// ```no_run
/// use oxikit::Oxikit;
/// use oxikit_providers::OpenAi;
///
/// let ai = Oxikit::builder()
///     .plugin(OpenAi::from_env())
///     .plugin(
///         OpenAi::compatible("groq", "https://api.groq.com/openai/v1")
///             .api_key_env("GROQ_API_KEY"),
///     )
///     .plugin(OpenAi::compatible("lmstudio", "http://127.0.0.1:1234/v1"))
///     .default_model("groq/llama-3.3-70b-versatile")
///     .build()?;
/// # Ok::<(), oxikit::Status>(())
/// ```
///
/// OpenAI itself is called by its Responses API, which returns the thoughts of
/// reasoning models and accepts them back; a compatible server by Chat Completions, which all of
/// them support. [`responses`](Self::responses) and
/// [`chat_completions`](Self::chat_completions) choose the other one.
///
/// Members of a model's configuration that Genkit does not know go into the
/// request in snake case: `reasoningEffort`, `seed`, `serviceTier`.
/// `stopSequences` are refused with the Responses API, which does not have them.
#[derive(Debug, Clone)]
pub struct OpenAi {
    connection: Connection,
    dialect: Dialect,
    route: Route,
}

/// The API that is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Route {
    Responses,
    ChatCompletions,
}

impl OpenAi {
    /// OpenAI itself, with the key in `OPENAI_API_KEY`, which is looked up when
    /// a model is used.
    pub fn from_env() -> Self {
        let key = KeySource::variables(&["OPENAI_API_KEY"], "https://platform.openai.com/api-keys");
        Self {
            connection: Connection::new("openai", OPENAI.base_url, key),
            dialect: OPENAI,
            route: Route::Responses,
        }
    }

    /// A server with OpenAI's Chat Completions API, under a name of its own and
    /// without a key. The name selects the peculiarities of well-known servers (`groq`, `mistral`,
    /// `deepseek`, `openrouter`, `xai` …). The base URL ends before `/chat/completions`, mostly
    /// with `/v1`.
    pub fn compatible(name: impl Into<String>, base_url: impl Into<String>) -> Self {
        let mut connection = Connection::new(name, base_url, KeySource::None);
        connection.wants_path = true;
        let mut dialect = by_name(&connection.name).copied().unwrap_or(Dialect::gateway(
            "openai-compatible",
            "",
            "",
        ));
        // rig has other paths for some well-known servers, relative to its own base URLs. The base
        // URL given here always ends where the usual paths begin.
        dialect.quirks.completion_path = "/chat/completions";
        dialect.quirks.embeddings_path = "/embeddings";
        dialect.quirks.models_path = "/models";
        // Local servers often do not report the usage.
        dialect.quirks.embedding.requires_usage = false;
        Self { connection, dialect, route: Route::ChatCompletions }
    }

    connection_methods!();

    /// Uses the key in this variable, which is looked up when a model is used.
    #[must_use]
    pub fn api_key_env(mut self, variable: impl Into<String>) -> Self {
        self.connection.key =
            KeySource::Environment(Variables { names: vec![variable.into().into()], page: None });
        self
    }

    /// Calls the Responses API: the default for OpenAI itself.
    #[must_use]
    pub fn responses(mut self) -> Self {
        self.route = Route::Responses;
        self
    }

    /// Calls the Chat Completions API: the default for compatible servers.
    #[must_use]
    pub fn chat_completions(mut self) -> Self {
        self.route = Route::ChatCompletions;
        self
    }

    fn is_official(&self) -> bool {
        self.dialect.name == OPENAI.name
    }

    fn traits(&self) -> Traits {
        let dialect = &self.dialect;
        Traits {
            vendor: dialect.name,
            constrained: match self.route {
                Route::Responses => ConstrainedSupport::All,
                Route::ChatCompletions if !dialect.quirks.supports_response_format => {
                    ConstrainedSupport::None
                }
                // rig sends the schema only after the tools have answered.
                Route::ChatCompletions => ConstrainedSupport::NoTools,
            },
            tool_choice: dialect.quirks.supports_tools,
            knows_constrained: self.is_official(),
        }
    }

    fn client(&self, link: &Link) -> openai::OpenAI {
        let mut config =
            OpenAIConfig::with_key(&self.dialect, link.key()).with_base_url(&link.base_url);
        if config.auth == Auth::Bearer {
            // A server without a key must not be sent an empty one.
            config.auth = Auth::OptionalBearer;
        }
        config.connect(link.http.clone())
    }
}

impl Plugin for OpenAi {
    fn install(&self, ai: &Oxikit) -> Result<()> {
        actions::install(ai, self.clone());
        Ok(())
    }
}

#[async_trait]
impl Provider for OpenAi {
    fn connection(&self) -> &Connection {
        &self.connection
    }

    fn model_info(&self, model: &str) -> ModelInfo {
        let name = if self.is_official() { "OpenAI" } else { &self.connection.name };
        self.traits().info(format!("{name} - {model}"), model)
    }

    fn embedder_info(&self, model: &str) -> Option<EmbedderInfo> {
        let known = EMBEDDERS.iter().find(|(name, _)| *name == model);
        Some(EmbedderInfo {
            label: Some(format!("{} - {model}", self.connection.name)),
            dimensions: known.map(|(_, dimensions)| *dimensions),
            supports: Some(JsonObject::from_iter([("input".to_owned(), json!(["text"]))])),
        })
    }

    /// For OpenAI the names of the catalogue; another server is asked for its models.
    async fn names(&self) -> Result<(Vec<String>, Vec<String>)> {
        if self.is_official() {
            let embedders = EMBEDDERS.iter().map(|(name, _)| (*name).to_owned());
            return Ok((self.traits().names(), embedders.collect()));
        }
        let mut link = self.connection.link(None)?;
        link.http.idle = link.http.idle.min(LIST_TIMEOUT);
        let models = self.client(&link).list_models().await;
        let models = models.map_err(|error| link.failure(error))?;
        Ok(models.data.into_iter().map(|model| model.id).partition(|name| !name.contains("embed")))
    }

    fn chat(&self, model: &str, link: &Link) -> Chat {
        let client = self.client(link);
        match self.route {
            Route::Responses => {
                let model = client.responses(model);
                Chat { target: Box::new(model.wire.clone()), model: model.erase() }
            }
            Route::ChatCompletions => {
                let model = client.chat(model);
                Chat { target: Box::new(model.wire.clone()), model: model.erase() }
            }
        }
    }

    fn constrains(&self) -> Constrains {
        match self.traits().constrained {
            ConstrainedSupport::None => Constrains::Nothing,
            _ => Constrains::Objects,
        }
    }

    fn configure(
        &self,
        config: &mut Config,
        any_json: bool,
        request: &mut CompletionRequest,
    ) -> Result<()> {
        let mut params = config.take_snake_case();
        if let Some(top_k) = config.top_k {
            params.insert("top_k".to_owned(), top_k.into());
        }
        let json_mode = json!({"type": "json_object"});
        match self.route {
            Route::Responses => {
                // Chat Completions has flat members, where the Responses API has objects.
                if let Some(effort) = params.shift_remove("reasoning_effort") {
                    put_inside(&mut params, "reasoning", "effort", effort);
                }
                if any_json {
                    put_inside(&mut params, "text", "format", json_mode);
                }
            }
            Route::ChatCompletions => {
                if any_json && request.tools.is_empty() {
                    params.entry("response_format").or_insert(json_mode);
                }
                if !self.is_official() {
                    put_options(&mut params, &mut request.options);
                }
            }
        }
        request.additional_params = (!params.is_empty()).then_some(Value::Object(params));
        Ok(())
    }

    async fn embed(&self, call: EmbedCall) -> Result<Vec<Vec<f32>>> {
        let mut dimensions = None;
        for (name, value) in &call.options.rest {
            match name.as_str() {
                "dimensions" | "outputDimensionality" => dimensions = value.as_u64(),
                "encodingFormat" => {}
                _ => {
                    return Err(Status::invalid_argument(format!(
                        "embedders of `{}` have no option `{name}`",
                        self.connection.name
                    )));
                }
            }
        }
        let dimensions = dimensions.and_then(|count| usize::try_from(count).ok());
        let model = self.client(&call.link).embedding(&call.model, dimensions);
        embed::in_batches(&model.erase(), &call).await
    }
}

/// Moves options into the parameters that are sent as they are. rig refuses these options for
/// unknown servers, although all compatible servers support them.
fn put_options(params: &mut JsonObject, options: &mut GenerationOptions) {
    if let Some(top_p) = options.top_p.take() {
        params.insert("top_p".to_owned(), top_p.into());
    }
    if !options.stop.is_empty() {
        params.insert("stop".to_owned(), std::mem::take(&mut options.stop).into());
    }
}

/// Sets a member of an object unless it is already set; the object is made if it is missing.
fn put_inside(params: &mut JsonObject, object: &str, member: &str, value: Value) {
    let inside = params.entry(object).or_insert_with(|| json!({}));
    if let Value::Object(members) = inside {
        members.entry(member).or_insert(value);
    }
}
