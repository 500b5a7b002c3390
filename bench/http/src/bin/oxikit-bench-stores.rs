//! Sessions and tasks in memory, or in the database that `$STORE` names: `sqlite:<file>` or the URL of a
//! PostgreSQL server.

use std::sync::Arc;

use oxikit::MemorySessions;
use oxikit_bench::Stores;
use oxikit_core::ports::memory::MemoryTasks;
use oxikit_core::ports::{SessionStore, TaskStore};
use oxikit_sql::{PostgresStore, SqliteStore};

fn main() -> anyhow::Result<()> {
    oxikit_bench::run(|store| Box::pin(open(store)))
}

async fn open(store: Option<String>) -> anyhow::Result<Stores> {
    let Some(store) = store else {
        let sessions = Arc::new(MemorySessions::default());
        return Ok(Stores { sessions, tasks: Some(Arc::new(MemoryTasks::default())) });
    };
    match store.strip_prefix("sqlite:") {
        Some(file) => Ok(in_one(Arc::new(SqliteStore::open(file)?))),
        None => Ok(in_one(Arc::new(PostgresStore::connect(&store).await?))),
    }
}

/// A database that keeps both.
fn in_one<S: SessionStore + TaskStore + 'static>(store: Arc<S>) -> Stores {
    Stores { sessions: store.clone(), tasks: Some(store) }
}
