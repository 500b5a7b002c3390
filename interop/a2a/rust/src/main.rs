//! The official client for Rust against the agents of `../app`. It speaks version 1.0 only.
//!
//! `oxikit-interop-a2a-rust RECEIVER SCRIPT REPLY LOCKED`
//!
//! The addresses are those of the receiver of notifications and of the agents.

mod agent;

use std::sync::Arc;

use a2a_client::agent_card::AgentCardResolver;
use a2a_client::auth::AuthInterceptor;
use a2a_client::{A2AClientFactory, TransportFactory, jsonrpc, rest};
use a2a_grpc::GrpcTransportFactory;
use anyhow::Context;
use async_trait::async_trait;
use oxikit_interop_a2a_cases::{Agent, Column, Connect, Failure, Notifier, run};
use reqwest::header::{HeaderName, HeaderValue};

use agent::{Official, failure};

/// The key that the agent `locked` wants.
const KEY: &str = "sekret";

const BINDINGS: [&str; 3] = ["JSONRPC", "HTTP+JSON", "GRPC"];

struct Server {
    /// Addresses of the agents `script`, `reply` and `locked`.
    urls: [String; 3],
    binding: &'static str,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [receiver, urls @ ..]: [String; 4] =
        arguments.try_into().ok().context("give the addresses of the receiver and the agents")?;
    for binding in BINDINGS {
        let column = Column {
            name: "rust 0.2.9".to_owned(),
            binding: binding.to_owned(),
            receiver: receiver.clone(),
            notifier: Notifier::Oxikit,
        };
        run(&column, &Server { urls: urls.clone(), binding }).await;
    }
    Ok(())
}

#[async_trait]
impl Connect for Server {
    async fn connect(&self, agent: &str, has_key: bool) -> Result<Box<dyn Agent>, Failure> {
        let [script, reply, locked] = &self.urls;
        let url = match agent {
            "reply" => reply,
            "locked" => locked,
            _ => script,
        };
        let card = AgentCardResolver::new(Some(reader())).resolve(url).await.map_err(failure)?;
        let transport: Arc<dyn TransportFactory> = match self.binding {
            "JSONRPC" => Arc::new(jsonrpc::JsonRpcTransportFactory::new(None)),
            "HTTP+JSON" => Arc::new(rest::RestTransportFactory::new(None)),
            _ => Arc::new(GrpcTransportFactory::new()),
        };
        // With one transport there is only one binding to choose.
        let mut factory = A2AClientFactory::builder().no_defaults().register(transport);
        if has_key {
            factory = factory.with_interceptor(Arc::new(AuthInterceptor::bearer(KEY)));
        }
        let client = factory.build().create_from_card(&card).await.map_err(failure)?;
        Ok(Box::new(Official { client, card }))
    }
}

/// An HTTP client for cards. The resolver itself does not say which version it reads, and cannot
/// read the security schemes of 0.3, which a request without a version is answered with.
fn reader() -> reqwest::Client {
    let version = (HeaderName::from_static("a2a-version"), HeaderValue::from_static("1.0"));
    let client = reqwest::Client::builder().default_headers([version].into_iter().collect());
    client.build().expect("a client without TLS can always be made")
}
