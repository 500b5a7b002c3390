//! The server that is killed.

use std::time::Duration;

use anyhow::{Context, Result};
use oxikit::Oxikit;
use oxikit_serve::Server;
use tokio::io::AsyncReadExt;

use crate::{Args, counter, store};

/// Serves until it is killed, or until whoever started it is gone.
pub(crate) async fn run(args: &Args) -> Result<()> {
    let port = args.get("--port")?.parse().context("--port takes a number")?;
    let pace = Duration::from_millis(args.number("--pace")?.unwrap_or(20).try_into()?);
    let ai = Oxikit::builder().build();
    ai.define_agent(counter::agent(store::open(args).await?, pace))?;
    let server = Server::new(&ai).port(port).bind().await?;
    println!("listening on http://{}", server.local_addr()?);
    server.run(end_of_input()).await;
    Ok(())
}

async fn end_of_input() {
    let mut rest = Vec::new();
    // Whether it ends or breaks: nobody is there any more.
    _ = tokio::io::stdin().read_to_end(&mut rest).await;
}
