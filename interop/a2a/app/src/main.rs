//! Serves the scripted agents on 127.0.0.1 and the port of `PORT` (0 takes a free one), and
//! prints where. The argument names the agent that is the first one of the server.

#![expect(clippy::print_stdout, reason = "the program that started it reads the address")]

mod agents;

use std::future::pending;

use oxikit::prelude::*;
use oxikit_serve::a2a::{A2aAgent, OutgoingPolicy, PushNotifications};
use oxikit_serve::{ApiKey, Server};

use agents::{Reply, Script};

/// The key that the agent `locked` wants, as the programs of cases send it.
const KEY: &str = "sekret";

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let port = std::env::var("PORT").unwrap_or_else(|_| "0".to_owned()).parse()?;
    let first = std::env::args().nth(1).unwrap_or_default();
    let server = server(&first)?.port(port).bind().await?;
    println!("listening on http://{}", server.local_addr()?);
    // The process runs until the suite that started it ends it.
    server.run(pending()).await;
    Ok(())
}

fn server(first: &str) -> Result<Server> {
    let ai = Oxikit::builder().build()?;
    let script = |name| {
        A2aAgent::with_executor(name, Script::default()).description("Does what a message says.")
    };
    let reply = A2aAgent::with_executor("reply", Reply).description("Answers without a task.");
    let mut agents = vec![
        ("script", script("script").title("Script")),
        ("reply", reply),
        ("locked", script("locked").auth(ApiKey::new(KEY))),
    ];
    // The sort is stable: the order of the others stays.
    agents.sort_by_key(|(name, _)| *name != first);
    // The receiver of the suite is on this machine.
    let push = PushNotifications::with_policy(OutgoingPolicy::default().allow_loopback())?;
    let server = Server::new(&ai).push_notifications(push);
    Ok(agents.into_iter().fold(server, |server, (_, agent)| server.a2a(agent)))
}
