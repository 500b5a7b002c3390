//! The store that is named on the command line.

use std::sync::Arc;

use anyhow::Result;
use oxikit::FileSessions;
use oxikit_core::ports::SessionStore;
use oxikit_sql::{PostgresStore, SqliteOptions, SqliteStore};

use crate::Args;

/// Opens it. With `--planted-fault` it answers before it has committed, which only
/// the SQLite store can be asked to do.
pub(crate) async fn open(args: &Args) -> Result<Arc<dyn SessionStore>> {
    let store = args.get("--store")?;
    if store.starts_with("postgres://") {
        return Ok(Arc::new(PostgresStore::connect(store).await?));
    }
    if let Some(directory) = store.strip_prefix("files:") {
        return Ok(Arc::new(FileSessions::open(directory)?));
    }
    let mut options = SqliteOptions::default();
    options.acknowledge_before_commit = args.has("--planted-fault");
    Ok(SqliteStore::open_with(store, options)?.sessions())
}
