//! Build AI flows, tools, prompts and agents: Genkit for Rust.
//!
//! This crate is the one dependency of an application. It has no code of its own: it
//! re-exports [`oxikit_ai`], and each of the other crates as a module behind a feature.
//!
//! ```toml
//! [dependencies]
//! oxikit = { version = "0.1", features = ["providers", "sqlite"] }
//! ```
//!
//! An application is an [`Oxikit`]. Each flow, tool, prompt or agent that it defines is an
//! [`Action`], which is checked by schema, traced, streamed and cancelled in the same way
//! whichever caller runs it. [`prelude`] has the names that most programs need.
//!
//! ```
//! use oxikit::prelude::*;
//!
//! /// Adds two numbers.
//! #[tool]
//! async fn add(a: f64, b: f64) -> f64 {
//!     a + b
//! }
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<()> {
//! let ai = Oxikit::builder().plugin(Offline).default_model("offline/demo").build()?;
//! let sum = ai.define_flow("sum", |question: String, ctx: Context| async move {
//!     Ok(ctx.generate().prompt(question).tool(add()).await?.text())
//! });
//! println!("{}", sum.run("What does add say about 2 and 3?").await?);
//! # Ok(()) }
//! ```
//!
//! | to | see | feature |
//! | --- | --- | --- |
//! | write the application's own work | [`Oxikit::define_flow`] | |
//! | ask a model | [`Oxikit::generate`], [`Generate`] | |
//! | let a model act | [`tool`], [`Tool`], [`interrupt`] | |
//! | keep a conversation | [`Oxikit::define_agent`], [`Agent::chat`], [`Session`] | |
//! | keep prompts in files | [`Oxikit::load_prompts`], [`Oxikit::prompt`] | |
//! | load prompts from a prompt manager | [`Oxikit::load_prompts_from`], `oxikit::client::PromptManager` | `client` |
//! | wrap calls: retry, fallback, cache, logging | [`middleware`] | |
//! | answer from documents | [`Oxikit::embed`], [`Oxikit::retrieve`], [`MemoryVectorStore`] | |
//! | judge results | [`Oxikit::evaluate`], [`Evaluator`] | |
//! | run without a key | [`offline`] | |
//! | use Gemini, OpenAI, Anthropic or Ollama | `oxikit::providers` | `providers` |
//! | serve over HTTP | `oxikit::serve` | `serve` (default) |
//! | run actions from the developer tools | `oxikit::serve::reflect` | `dev-tools` (default), `wss` |
//! | log to the standard error | `oxikit::serve::init_log` | `log` (default) |
//! | serve and call A2A agents over gRPC too | `oxikit::serve::Server::a2a`, `oxikit::client::a2a` | `a2a-grpc` |
//! | accept callers with a JWT, sign A2A cards | `oxikit::serve::JwtAuth`, `oxikit::serve::a2a::CardSigner` | `jwt` |
//! | accept callers with a TLS certificate | `oxikit::serve::ClientCert` | `mutual-tls` |
//! | check signatures of A2A cards | `oxikit::client::a2a::CardVerifier` | `signed-cards` |
//! | call webhooks when tasks of A2A agents change | `oxikit::serve::a2a::PushNotifications` | `a2a-push` |
//! | send spans to an OpenTelemetry collector | `oxikit::serve::serve` | `otlp` |
//! | keep sessions and streams in a database | `oxikit::sql` | `sqlite`, `postgres` |
//! | call actions and agents of other servers | `oxikit::client` | `client` |
//! | send requests to URLs that users or models have chosen | `oxikit::outgoing` | `outgoing` |
//! | serve tools to coding agents | `oxikit::mcp` | `mcp` |
//! | use tools, prompts and resources of MCP servers | `oxikit::mcp::McpClient` | `mcp-client` |
//! | use `?` on errors of `anyhow` | [`Status`] | `anyhow` |
//!
//! The crates can also be used without this one. Code that the [`tool`] attribute generates
//! refers to the crate `oxikit`, so an application without the facade depends on
//! `oxikit = { package = "oxikit-ai", version = "0.1" }`.

// Says on docs.rs which feature an item needs.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![warn(clippy::missing_errors_doc, clippy::missing_panics_doc)]

#[doc(inline)]
pub use oxikit_ai::*;

#[cfg(feature = "client")]
pub use oxikit_client as client;
#[cfg(feature = "mcp")]
pub use oxikit_mcp as mcp;
#[cfg(feature = "outgoing")]
pub use oxikit_outgoing as outgoing;
#[cfg(feature = "providers")]
pub use oxikit_providers as providers;
#[cfg(feature = "serve")]
pub use oxikit_serve as serve;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub use oxikit_sql as sql;
