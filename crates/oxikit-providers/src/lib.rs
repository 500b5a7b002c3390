//! Model providers for oxikit: Gemini, OpenAI and compatible servers, Anthropic, Ollama.
//!
//! | plugin | key or address | models | embedders |
//! | --- | --- | --- | --- |
//! | [`GoogleAi`] | `GEMINI_API_KEY` or `GOOGLE_API_KEY` | `googleai/gemini-2.5-flash` | `googleai/gemini-embedding-001` |
//! | [`OpenAi::from_env`] | `OPENAI_API_KEY` | `openai/gpt-5.2` | `openai/text-embedding-3-small` |
//! | [`OpenAi::compatible`] | as you say | `groq/llama-3.3-70b-versatile` | `lmstudio/nomic-embed-text` |
//! | [`Anthropic`] | `ANTHROPIC_API_KEY` | `anthropic/claude-sonnet-4-5` | none |
//! | [`Ollama`] | `OLLAMA_HOST` | `ollama/llama3.2` | `ollama/nomic-embed-text` |
//!
//! ```no_run
//! use oxikit::Oxikit;
//! use oxikit_providers::{Anthropic, GoogleAi};
//!
//! let ai = Oxikit::builder()
//!     .plugin(GoogleAi::from_env())
//!     .plugin(Anthropic::from_env())
//!     .default_model("googleai/gemini-2.5-flash")
//!     .build()?;
//! # Ok::<(), oxikit::Status>(())
//! ```
//!
//! **Names.** Any name of a model is accepted, so a new model works without a new
//! release of this crate; the developer tools list the well-known ones.
//!
//! **Keys** are looked up when a model is used, not when the plugin is made, so
//! an application starts without them. If a key is missing, the call fails with an internal
//! error, which names the variable to set and the page where keys are issued.
//! A call may use its own key in `config.apiKey`. Keys are sent as headers, and
//! never appear in a URL, error, log or trace of this crate.
//!
//! **Configuration.** `temperature`, `maxOutputTokens`, `topK`, `topP`,
//! `stopSequences` and `version` mean the same everywhere. Other members are
//! passed on to the provider; see the plugin. A setting that a provider does not support is
//! refused with `INVALID_ARGUMENT`, never dropped in silence.
//!
//! **Thinking models** need their signed thoughts back on the next turn. The
//! parts of an answer keep such items under `native` in their metadata, and the
//! message names its model under `origin`: pass messages on unchanged.
//!
//! **Failures** have the code to act on: `RESOURCE_EXHAUSTED` with the delay
//! that the provider asked for, `UNAVAILABLE` if a retry may succeed,
//! `DEADLINE_EXCEEDED` if nothing arrived within the plugin's timeout. The
//! [`ProviderFailure`] behind them has the provider's own code and request id.
//! None of it is public: the texts of a provider may name accounts and prompts.
//!
//! **Usage** counts alike for all: thoughts are part of the output tokens and
//! cached tokens part of the input tokens.

mod actions;
mod anthropic;
mod catalog;
mod chat;
mod config;
mod connection;
mod embed;
mod failure;
mod google_ai;
mod history;
mod http;
mod key;
mod media;
mod model_name;
mod native;
mod ollama;
mod open_ai;
mod provider;
mod request;
mod response;
mod retry_after;
mod schema;

pub use anthropic::Anthropic;
pub use failure::ProviderFailure;
pub use google_ai::GoogleAi;
pub use ollama::Ollama;
pub use open_ai::OpenAi;
