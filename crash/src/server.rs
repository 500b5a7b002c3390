//! The server that is killed: Action HTTP with the [`counter`] agent.

use std::time::Duration;

use anyhow::{Context, Result};
use oxikit::Oxikit;
use oxikit_serve::Server;
use tokio::io::AsyncReadExt;

use crate::{Args, counter, store};

/// Serves until the process is killed, or until standard input ends with the process that
/// started it.
pub(crate) async fn run(args: &Args) -> Result<()> {
    let port = args.get("--port")?.parse().context("--port takes a number")?;
    let pace = Duration::from_millis(args.number("--pace")?.unwrap_or(20).try_into()?);
    let ai = Oxikit::builder().build()?;
    ai.define_agent(counter::agent(store::open(args).await?, pace))?;
    let server = Server::new(&ai).port(port).bind().await?;
    println!("listening on http://{}", server.local_addr()?);
    server.run(end_of_input()).await;
    Ok(())
}

/// Ends with the process that started this one.
pub(crate) async fn end_of_input() {
    let mut rest = Vec::new();
    // An error also means that the process that started this one is gone.
    _ = tokio::io::stdin().read_to_end(&mut rest).await;
}
