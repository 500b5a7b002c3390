//! Ollama: models that run on a machine of your own. Its native API is used, not the compatible
//! one of OpenAI.

use std::time::Duration;

use async_trait::async_trait;
use oxikit_ai::wire::{ConstrainedSupport, EmbedderInfo, JsonObject, ModelInfo};
use oxikit_ai::{Oxikit, Plugin, Result, Status};
use rig_core::completion::CompletionRequest;
use rig_core::message::ToolChoice;
use rig_core::providers::ollama::{self, OllamaConfig, PROVIDER_NAME};
use serde_json::{Value, json};

use crate::actions;
use crate::catalog::Traits;
use crate::config::Config;
use crate::connection::{Connection, Link, connection_methods};
use crate::embed;
use crate::key::KeySource;
use crate::provider::{Chat, EmbedCall, Provider};
use crate::request::Constrains;

const TRAITS: Traits = Traits {
    vendor: PROVIDER_NAME,
    // A reply that is held to a schema cannot call a tool.
    constrained: ConstrainedSupport::NoTools,
    tool_choice: false,
    knows_constrained: false,
};

/// The address at which Ollama listens by default.
const LOCAL: &str = "http://127.0.0.1:11434";

/// Maximum time for the list of models. Beyond it the developer tools show none.
const LIST_TIMEOUT: Duration = Duration::from_secs(2);

/// The models of an Ollama server, named `ollama/…`.
///
/// ```no_run
/// use oxikit::Oxikit;
/// use oxikit_providers::Ollama;
///
/// let ai = Oxikit::builder()
///     .plugin(Ollama::default())
///     .default_model("ollama/llama3.2")
///     .build()?;
/// # Ok::<(), oxikit::Status>(())
/// ```
///
/// Members of a model's configuration that Genkit does not know go to Ollama's
/// `options` in snake case, such as `numCtx`; `think`, `keepAlive` and `format`
/// beside them. The developer tools list the installed models.
///
/// ```
/// use oxikit_providers::Ollama;
///
/// // A server on another machine.
/// let ollama = Ollama::default().base_url("http://gpu.internal:11434");
/// ```
#[derive(Debug, Clone)]
pub struct Ollama {
    connection: Connection,
}

impl Default for Ollama {
    /// The server on this machine, at its usual port.
    fn default() -> Self {
        Self { connection: Connection::new("ollama", LOCAL, KeySource::None) }
    }
}

impl Ollama {
    /// The server in `OLLAMA_HOST`, in the forms that Ollama itself accepts, such as `10.0.0.5`
    /// or `0.0.0.0:8080`; the server on this machine if the variable is not set.
    pub fn from_env() -> Self {
        match std::env::var("OLLAMA_HOST") {
            Ok(host) if !host.trim().is_empty() => Self::default().base_url(address(&host)),
            _ => Self::default(),
        }
    }

    connection_methods!();

    fn client(link: &Link) -> ollama::Ollama {
        OllamaConfig::new()
            .with_base_url(&link.base_url)
            .with_api_key(link.key())
            .connect(link.http.clone())
    }
}

/// The base URL of a value of `OLLAMA_HOST`. The scheme, the host or the port may be missing, and
/// it may be an address to listen on, such as `0.0.0.0`.
fn address(host: &str) -> String {
    let host = host.trim().trim_end_matches('/');
    let (scheme, rest, port) = match host.split_once("://") {
        Some(("https", rest)) => ("https", rest, "443"),
        Some((_, rest)) => ("http", rest, "80"),
        None => ("http", host, "11434"),
    };
    let (authority, path) = match rest.split_once('/') {
        Some((authority, path)) => (authority, format!("/{path}")),
        None => (rest, String::new()),
    };
    let is_port = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (name, port) = match authority.rsplit_once(':') {
        Some((name, stated)) if is_port(stated) => (name, stated),
        _ => (authority, port),
    };
    let name = match name {
        "" | "0.0.0.0" => "127.0.0.1",
        "[::]" => "[::1]",
        name => name,
    };
    format!("{scheme}://{name}:{port}{path}")
}

impl Plugin for Ollama {
    fn install(&self, ai: &Oxikit) -> Result<()> {
        actions::install(ai, self.clone());
        Ok(())
    }
}

#[async_trait]
impl Provider for Ollama {
    fn connection(&self) -> &Connection {
        &self.connection
    }

    fn model_info(&self, model: &str) -> ModelInfo {
        // The catalogue knows models without their size: `qwen3`, not `qwen3:4b`.
        let family = model.split(':').next().unwrap_or(model);
        TRAITS.info(format!("Ollama - {model}"), family)
    }

    fn embedder_info(&self, model: &str) -> Option<EmbedderInfo> {
        Some(EmbedderInfo {
            label: Some(format!("Ollama - {model}")),
            dimensions: None,
            supports: Some(JsonObject::from_iter([("input".to_owned(), json!(["text"]))])),
        })
    }

    /// The installed models. Ollama does not say which of them are embedders, so the name decides.
    async fn names(&self) -> Result<(Vec<String>, Vec<String>)> {
        let mut link = self.connection.link(None)?;
        link.http.idle = link.http.idle.min(LIST_TIMEOUT);
        let models =
            Self::client(&link).list_models().await.map_err(|error| link.failure(error))?;
        Ok(models.data.into_iter().map(|model| model.id).partition(|name| !name.contains("embed")))
    }

    fn chat(&self, model: &str, link: &Link) -> Chat {
        // The native route: only it takes `think` and options such as `num_ctx`.
        let model = Self::client(link).native_completion(model);
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
        let mut params = config.take_snake_case();
        if let Some(top_k) = config.top_k {
            params.insert("top_k".to_owned(), top_k.into());
        }
        match request.tool_choice.take() {
            None | Some(ToolChoice::Auto) => {}
            Some(ToolChoice::None) => request.tools.clear(),
            Some(_) => {
                return Err(Status::invalid_argument("Ollama cannot make a model use its tools"));
            }
        }
        if any_json && request.tools.is_empty() {
            params.insert("format".to_owned(), "json".into());
        }
        request.additional_params = (!params.is_empty()).then_some(Value::Object(params));
        Ok(())
    }

    async fn embed(&self, call: EmbedCall) -> Result<Vec<Vec<f32>>> {
        if let Some(name) = call.options.rest.keys().next() {
            return Err(Status::invalid_argument(format!(
                "Ollama's embedders have no option `{name}`"
            )));
        }
        let model = Self::client(&call.link).embedding(&call.model, None);
        embed::in_batches(&model.erase(), &call).await
    }
}

#[cfg(test)]
mod tests {
    use super::address;

    #[test]
    fn ollama_host_is_read_as_ollama_reads_it() {
        for (host, expected) in [
            ("10.0.0.5", "http://10.0.0.5:11434"),
            ("0.0.0.0:8080", "http://127.0.0.1:8080"),
            (":8080", "http://127.0.0.1:8080"),
            ("[::]:11434", "http://[::1]:11434"),
            ("https://ollama.example.com/", "https://ollama.example.com:443"),
            ("http://box/ollama", "http://box:80/ollama"),
        ] {
            assert_eq!(address(host), expected);
        }
    }
}
