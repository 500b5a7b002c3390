//! The programs that the benchmarks drive: they serve the floor's routes on oxikit,
//! with all that oxikit does switched on.
//!
//! There are two, as an application has no more in it than it uses: `oxikit-bench` keeps
//! sessions in memory, as the floor does, and `oxikit-bench-stores` has the databases too and
//! serves A2A agents.

mod chat;
mod fill;
mod tasks;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use oxikit::prelude::*;
use oxikit_core::ports::{SessionStore, TaskStore};
use oxikit_serve::Server;

/// The stores of a program.
#[derive(Debug)]
pub struct Stores {
    /// Keeps sessions of the agent `chat`.
    pub sessions: Arc<dyn SessionStore>,
    /// Keeps tasks of A2A agents; without it none are served.
    pub tasks: Option<Arc<dyn TaskStore>>,
}

/// Opens the stores that `$STORE` names, or those in memory if there is none.
pub type OpenStores = fn(Option<String>) -> BoxFuture<'static, anyhow::Result<Stores>>;

#[derive(Deserialize, JsonSchema)]
struct Count {
    n: u64,
    #[serde(default)]
    paced: bool,
}

#[derive(Serialize, JsonSchema)]
struct Tick {
    i: u64,
    text: &'static str,
}

#[derive(Serialize, JsonSchema)]
struct Counted {
    count: u64,
}

const TEXT: &str = "a small chunk";

/// Serves, or fills a store if the arguments say so.
///
/// # Errors
///
/// If the stores cannot be opened or the port is in use.
pub fn run(open: OpenStores) -> anyhow::Result<()> {
    let threads =
        std::env::var("THREADS").ok().and_then(|threads| threads.parse().ok()).unwrap_or(2);
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build()?;
    let args: Vec<String> = std::env::args().skip(1).collect();
    match &args[..] {
        [] => runtime.block_on(serve(open)),
        [command, store, sessions] if command == "fill" => runtime.block_on(async {
            fill::fill(open(Some(store.clone())).await?.sessions, sessions.parse()?).await
        }),
        _ => anyhow::bail!("usage: oxikit-bench [fill <store> <sessions>]"),
    }
}

async fn serve(open: OpenStores) -> anyhow::Result<()> {
    let ai = Oxikit::builder().build()?;
    // To a tree and back, as the floor's `/echo`.
    ai.define_flow("echo", |input: Value| async move { Ok(input) });
    // Passed on as text.
    ai.define_flow("echo-raw", |input: oxikit::Payload| async move { Ok(input) });
    ai.define_flow("count", count);
    ai.define_flow("hang", |_: Value, _: Context, out: Emitter<Tick>| async move {
        out.send(Tick { i: 0, text: TEXT }).await?;
        tokio::time::sleep(std::time::Duration::from_secs(900)).await;
        Ok(())
    });
    ai.define_flow("flood", |_: Value, _: Context, out: Emitter<String>| async move {
        // A hundred megabytes for a reader who may have stopped.
        let chunk = "x".repeat(48 * 1024);
        for _ in 0..2_100 {
            out.send(chunk.clone()).await?;
        }
        Ok(())
    });
    let store = std::env::var("STORE").ok().filter(|store| !store.is_empty());
    let Stores { sessions, tasks } = open(store).await?;
    chat::define(&ai, sessions)?;
    let mut server = Server::new(&ai).agents_api();
    if let Some(tasks) = tasks {
        server = tasks::serve(server, tasks);
    }
    Ok(server.serve().await?)
}

/// Counts; paced, each chunk comes in its own turn of the event loop, as the
/// chunks of a remote model do: from a task of its own, as on the floor.
async fn count(Count { n, paced }: Count, _: Context, out: Emitter<Tick>) -> Result<Counted> {
    if paced {
        tokio::spawn(emit(n, out, true)).await.or_internal()??;
    } else {
        emit(n, out, false).await?;
    }
    Ok(Counted { count: n })
}

async fn emit(n: u64, out: Emitter<Tick>, paced: bool) -> Result<()> {
    for i in 0..n {
        out.send(Tick { i, text: TEXT }).await?;
        if paced {
            tokio::task::yield_now().await;
        }
    }
    Ok(())
}
