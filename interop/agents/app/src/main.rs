//! The agents of `../js/agents-app.cjs` on oxikit, on 127.0.0.1 and the port of `PORT`
//! (0 takes a free one). Says where.
//!
//! `AGENT_FILES` is the directory of the agents that keep their sessions in files;
//! without it there are none.

#![expect(clippy::print_stdout, reason = "whoever started it reads the address")]

mod custom;
mod model;
mod tools;

use std::env;
use std::future::pending;

use anyhow::Result;
use oxikit::{Agent, AgentBuilder, FileLayout, FileSessions, MemorySessions, Oxikit};
use oxikit_serve::Server;
use schemars::JsonSchema;

#[tokio::main]
async fn main() -> Result<()> {
    let port = env::var("PORT").unwrap_or_else(|_| "0".to_owned()).parse()?;
    let ai = application()?;
    // For the suites of the developer tools, which set `GENKIT_ENV`.
    let _dev_tools = oxikit_serve::dev_tools(&ai).await?;
    let server = Server::new(&ai).port(port).bind().await?;
    println!("listening on http://{}", server.local_addr()?);
    // The process runs until the test that started it ends it.
    server.run(pending()).await;
    Ok(())
}

fn application() -> Result<Oxikit> {
    let ai = Oxikit::builder().build()?;
    ai.define_model(model::echo());
    for tool in tools::all() {
        ai.define_tool(tool);
    }
    let memory = MemorySessions::default;
    ai.define_agent(by_prompt("agentStore").store(memory()))?;
    ai.define_agent(by_prompt("agentClient"))?;
    ai.define_agent(by_prompt("agentSchema").state::<Numbered>())?;
    ai.define_agent(custom::agent("customAgent").store(memory()))?;
    ai.define_agent(custom::redacted("redacted"))?;
    ai.define_agent(custom::redacted("redactedStore").store(memory()))?;
    if let Some(directory) = env::var_os("AGENT_FILES") {
        // The official server of the same cases has its sessions there too.
        let shared = || FileSessions::open_with(&directory, FileLayout::Official);
        ai.define_agent(by_prompt("agentFile").store(shared()?))?;
        ai.define_agent(custom::agent("customFile").store(shared()?))?;
    }
    Ok(ai)
}

fn by_prompt(name: &str) -> AgentBuilder {
    let agent = Agent::builder(name).system("You are sys.").model(model::NAME);
    tools::NAMES.into_iter().fold(agent, AgentBuilder::tool_named)
}

#[derive(JsonSchema)]
struct Numbered {
    #[expect(dead_code, reason = "only its schema is of use")]
    n: f64,
}
