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
//!     .build();
//! ```
//!
//! **Names.** Any name of a model is taken, so a model that came out this
//! morning works; the developer tools list the well-known ones.
//!
//! **Keys** are looked up when a model is used, not when the plugin is made, so
//! an application starts without them. One that is missing is
//! `FAILED_PRECONDITION`, with the variable to set and the page to get it from.
//! A call may bring its own in `config.apiKey`. Keys are sent as headers, and
//! stand in no URL, error, log or trace of this crate.
//!
//! **Configuration.** `temperature`, `maxOutputTokens`, `topK`, `topP`,
//! `stopSequences` and `version` mean the same everywhere. Other members are
//! passed on to the provider; see the plugin. What a provider cannot do is
//! refused with `INVALID_ARGUMENT`, never dropped in silence.
//!
//! **Thinking models** need what they thought back on the next turn, signed. The
//! parts of an answer keep such items under `native` in their metadata, the
//! message says under `origin` which model it is from; pass messages on as they
//! came.
//!
//! **Failures** carry the code to act on: `RESOURCE_EXHAUSTED` with the delay
//! that the provider asked for, `UNAVAILABLE` for what may work again,
//! `DEADLINE_EXCEEDED` when nothing came for the plugin's timeout. The
//! [`ProviderFailure`] behind them knows the provider's own code and request id.
//! None of it is public: what a provider says is not for strangers.
//!
//! **Usage** counts alike for all: thoughts are part of the output tokens and
//! cached tokens part of the input tokens.

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
