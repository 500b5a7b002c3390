//! Sessions in memory.

use std::sync::Arc;

use oxikit::MemorySessions;
use oxikit_bench::Stores;

fn main() -> anyhow::Result<()> {
    oxikit_bench::run(|store| {
        Box::pin(async move {
            anyhow::ensure!(store.is_none(), "this program has no databases");
            Ok(Stores { sessions: Arc::new(MemorySessions::default()), tasks: None })
        })
    })
}
