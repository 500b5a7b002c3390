//! Fills a database of the developer tools with traces: the posts of the standard input,
//! one a line, all of them however many. `oxikit-bench-traces <file>`.

use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use futures_util::{StreamExt, TryStreamExt};
use oxikit_traces::{TraceOptions, TraceQuery, TraceStore};

/// Number of concurrent writes, so that commits are shared.
const AT_ONCE: usize = 512;
const PATIENCE: Duration = Duration::from_secs(60);

fn main() -> anyhow::Result<()> {
    let file = std::env::args_os().nth(1).context("usage: oxikit-bench-traces <file>")?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let file = PathBuf::from(file);
    runtime.block_on(fill(&file))?;
    wait_for_close(&file)
}

/// The last one who closes a database puts its log away; a thread does that.
fn wait_for_close(file: &Path) -> anyhow::Result<()> {
    let mut log = file.as_os_str().to_owned();
    log.push("-wal");
    let began = Instant::now();
    while Path::new(&log).exists() {
        anyhow::ensure!(began.elapsed() < PATIENCE, "the database was not closed");
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

async fn fill(file: &Path) -> anyhow::Result<()> {
    let mut options = TraceOptions::default();
    options.max_traces = usize::MAX;
    options.max_bytes = u64::MAX;
    options.patience = PATIENCE;
    let store = TraceStore::open_with(file, options)?;
    let posts = std::io::stdin().lock().lines();
    let stored = futures_util::stream::iter(posts).map(|post| {
        let store = store.clone();
        async move { anyhow::Ok(store.ingest(post?.as_bytes()).await?) }
    });
    stored.buffer_unordered(AT_ONCE).try_collect::<()>().await?;
    // A search waits until all words are indexed.
    let mut query = TraceQuery::default();
    query.text = Some("reply".to_owned());
    store.list(&query).await?;
    Ok(())
}
