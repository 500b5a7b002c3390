//! Flows over HTTP, and a client that calls them.
//!
//! `cargo run --bin serve` calls its own server once and ends; with `-- --stay` it
//! serves on port 3400 until Ctrl-C:
//!
//! ```sh
//! curl -d '{"data":"tea"}' -H 'content-type: application/json' 'http://127.0.0.1:3400/joke?stream=true'
//! ```

use oxikit::client::RemoteAction;
use oxikit::prelude::*;
use oxikit::serve::Server;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let ai = Oxikit::builder().plugin(Offline).default_model("offline/demo").build()?;
    ai.define_flow("joke", |topic: String, ctx: Context, out: Emitter<String>| async move {
        let mut answer = ctx.generate().prompt(format!("A joke about {topic}.")).stream();
        while let Some(chunk) = answer.next().await {
            out.send(chunk?.to_text()).await?;
        }
        Ok(answer.finish().await?.text())
    });

    if std::env::args().any(|argument| argument == "--stay") {
        println!("serving on http://127.0.0.1:3400, Ctrl-C ends it");
        return Ok(Server::new(&ai).port(3400).serve().await?);
    }

    let server = Server::new(&ai).port(0).bind().await?;
    let url = format!("http://{}/joke", server.local_addr()?);
    tokio::select! {
        () = server.run(std::future::pending()) => {}
        called = call(&url) => called?,
    }
    Ok(())
}

async fn call(url: &str) -> Result<()> {
    let mut stream = RemoteAction::new(url)?.stream::<String, String>("tea").await?;
    while let Some(text) = stream.next().await {
        print!("{}", text?);
    }
    println!("\nresult: {}", stream.finish().await?);
    Ok(())
}
