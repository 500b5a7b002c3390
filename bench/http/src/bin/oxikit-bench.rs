//! Sessions in memory.

use std::sync::Arc;

use oxikit::MemorySessions;

fn main() -> anyhow::Result<()> {
    oxikit_bench::run(|store| {
        Box::pin(async move {
            anyhow::ensure!(store.is_none(), "this program has no databases");
            Ok(Arc::new(MemorySessions::default()) as _)
        })
    })
}
