//! Sessions in memory, or in the database that `$STORE` names: `sqlite:<file>` or the URL of a
//! PostgreSQL server.

use std::sync::Arc;

use oxikit::MemorySessions;
use oxikit_core::ports::SessionStore;
use oxikit_sql::{PostgresStore, SqliteStore};

fn main() -> anyhow::Result<()> {
    oxikit_bench::run(|store| Box::pin(open(store)))
}

async fn open(store: Option<String>) -> anyhow::Result<Arc<dyn SessionStore>> {
    let Some(store) = store else { return Ok(Arc::new(MemorySessions::default())) };
    match store.strip_prefix("sqlite:") {
        Some(file) => Ok(Arc::new(SqliteStore::open(file)?)),
        None => Ok(Arc::new(PostgresStore::connect(&store).await?)),
    }
}
