//! oxikit's client against the agents of an official server.
//!
//! `oxikit-interop-a2a-client SERVER BINDING VERSION http://127.0.0.1:PORT http://127.0.0.1:PORT`
//!
//! `SERVER` is its name in the matrix. The addresses are those of the agents and of the receiver of
//! notifications.

mod agent;

use anyhow::Context;
use async_trait::async_trait;
use oxikit_client::a2a::{A2aClient, Binding, Version};
use oxikit_interop_a2a_cases::{Agent, Column, Connect, Failure, Notifier, run};

use agent::{Ours, failure};

/// The key that the agent `locked` wants.
const KEY: &str = "sekret";

struct Server {
    base: String,
    binding: Binding,
    version: Version,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, binding, version, base, receiver] = arguments
        .try_into()
        .ok()
        .context("give the server, binding, version, and the addresses of agents and receiver")?;
    let (version, notifier) = match version.as_str() {
        "0.3" => (Version::V0_3, Notifier::V0_3),
        _ => (Version::V1_0, Notifier::V1_0),
    };
    let spoken = match binding.as_str() {
        "HTTP+JSON" => Binding::HttpJson,
        "GRPC" => Binding::Grpc,
        _ => Binding::JsonRpc,
    };
    let column = Column { name, binding, receiver, notifier };
    run(&column, &Server { base, binding: spoken, version }).await;
    Ok(())
}

#[async_trait]
impl Connect for Server {
    async fn connect(&self, agent: &str, has_key: bool) -> Result<Box<dyn Agent>, Failure> {
        let url = format!("{}/a2a/{agent}", self.base);
        let mut builder = A2aClient::builder(&url).version(self.version).binding(self.binding);
        let card = A2aClient::builder(&url).read_card().await.map_err(failure)?.card;
        // gRPC has a port of its own on these servers, which does not get the key otherwise.
        let listed = card.supported_interfaces.iter();
        for interface in listed.filter(|it| it.protocol_binding == Binding::Grpc.name()) {
            builder = builder.trust_origin(format!("http://{}", interface.url));
        }
        // As most programs do: the key is sent after the server has asked for it.
        let builder = match has_key {
            true => builder
                .on_refusal(|_| async { Ok(Some([("authorization", format!("Bearer {KEY}"))])) }),
            false => builder,
        };
        Ok(Box::new(Ours(builder.connect().await.map_err(failure)?)))
    }
}
