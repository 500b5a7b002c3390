//! Serves oxikit actions over HTTP: `POST /<name>` with `{"data": …}` answers `{"result": …}`,
//! or a stream of server-sent events for a client that asks for one.
//!
//! [`serve`] serves all flows and agents of an application with the defaults; [`Server`] is the
//! same with options. This crate does not define actions (`oxikit-ai` does) and has no user
//! interface beside the description of the API at `/docs`.
//!
//! ```no_run
//! use oxikit::prelude::*;
//!
//! #[tokio::main]
//! async fn main() -> Result<()> {
//!     let ai = Oxikit::builder().build()?;
//!     ai.define_flow("greet", |name: String| async move { Ok(format!("Hello, {name}!")) });
//!     Ok(oxikit_serve::serve(&ai).await?)
//! }
//! ```
//!
//! ```sh
//! curl -d '{"data":"Ada"}' -H 'content-type: application/json' http://127.0.0.1:3400/greet
//! ```
//!
//! | to | see |
//! | --- | --- |
//! | choose what is served, and at which path | [`Server::expose`], [`Expose`] |
//! | authenticate callers | [`Server::auth`], [`ApiKey`], `JwtAuth`, `ClientCert`, [`ContextProvider`] |
//! | accept one of several credentials, or demand several | [`AnyOf`], [`AllOf`] |
//! | decide which caller may call which action | [`Expose::policy`] |
//! | let streams survive a lost connection | [`Server::durable_streams`] |
//! | serve agents and their sessions as REST | [`Server::agents_api`], [`agents_api`] |
//! | bound sizes, times and numbers of requests | [`Server::limits`], [`Limits`] |
//! | put the routes into an axum application | [`Server::router`] |
//!
//! # Features
//!
//! `a2a-grpc` serves A2A agents over gRPC too, `a2a-push` adds push notifications of A2A agents,
//! `mutual-tls` adds `ClientCert`, `dev-tools` lets the developer tools of Genkit list and run
//! actions, `jwt` adds `JwtAuth`,
//! `log` writes a log to the standard error unless the application has set one up, and `otlp`
//! exports spans to an OpenTelemetry collector.

// Shows on docs.rs which feature an item needs.
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod a2a;
mod action_http;
pub mod agents_api;
mod app;
mod auth;
#[cfg(feature = "dev-tools")]
mod dev_tools;
mod durable;
mod end;
mod exposed;
#[cfg(feature = "jwt")]
mod jwt;
#[cfg(feature = "log")]
mod log;
mod openapi;
mod operations;
mod origin;
#[cfg(feature = "otlp")]
mod otlp;
mod request;
mod server;
mod stream;

#[cfg(feature = "mutual-tls")]
pub use auth::ClientCert;
pub use auth::{
    AllOf, AnyOf, ApiKey, ContextProvider, Policy, RequestInfo, Security, context_from,
};
#[cfg(feature = "dev-tools")]
pub use dev_tools::{dev_agents, dev_tools, reflect};
pub use end::asked_to_end;
pub use exposed::Expose;
#[cfg(feature = "jwt")]
pub use jwt::{Algorithm, JwtAuth};
#[cfg(feature = "log")]
pub use log::init_log;
#[cfg(feature = "otlp")]
pub use otlp::export_spans;
pub use oxikit_http::Limits;
#[cfg(feature = "dev-tools")]
pub use oxikit_reflection::{AgentsApi, DevConfig, DevTools, dev_log_layer};
pub use oxikit_wire::a2a::{OAuthFlow, OAuthFlows, SecurityScheme};
pub use server::{BoundServer, Server, serve};
