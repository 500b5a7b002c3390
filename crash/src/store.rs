//! The store that is named on the command line.

use std::sync::Arc;

use anyhow::Result;
use oxikit::FileSessions;
use oxikit_core::ports::SessionStore;
use oxikit_core::ports::contract::EarlyAnswers;
use oxikit_sql::{PostgresStore, SqliteStore};

use crate::Args;

/// Opens the store. With `--planted-fault` it acknowledges writes before they are done, which
/// the checker must find.
pub(crate) async fn open(args: &Args) -> Result<Arc<dyn SessionStore>> {
    let store = open_named(args).await?;
    Ok(match args.has("--planted-fault") {
        true => Arc::new(EarlyAnswers::new(store)),
        false => store,
    })
}

async fn open_named(args: &Args) -> Result<Arc<dyn SessionStore>> {
    let store = args.get("--store")?;
    if store.starts_with("postgres://") {
        return Ok(Arc::new(PostgresStore::connect(store).await?));
    }
    if let Some(directory) = store.strip_prefix("files:") {
        return Ok(Arc::new(FileSessions::open(directory)?));
    }
    Ok(SqliteStore::open(store)?.sessions())
}
