//! Where sessions and tasks are kept.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use oxikit::sql::{PostgresStore, SqliteStore};
use oxikit::{MemorySessions, SessionStore, TaskStore};

use crate::settings::StoreSetting;

/// The stores of one studio.
#[derive(Debug, Clone)]
pub struct Stores {
    pub sessions: Arc<dyn SessionStore>,
    /// `None` is the memory of each server.
    pub tasks: Option<Arc<dyn TaskStore>>,
    /// The place, for people.
    pub place: String,
}

impl Stores {
    /// Opens the stores.
    ///
    /// # Errors
    ///
    /// If the file or the database cannot be opened.
    pub async fn open(setting: &StoreSetting) -> Result<Self> {
        match setting {
            StoreSetting::Memory => Ok(Self {
                sessions: Arc::new(MemorySessions::default()),
                tasks: None,
                place: "memory".to_owned(),
            }),
            StoreSetting::Sqlite(path) => {
                let store = SqliteStore::open(path)
                    .with_context(|| format!("cannot open `{}`", path.display()))?;
                let place = format!("SQLite, {}", path.display());
                Ok(Self { tasks: Some(store.tasks()), sessions: Arc::new(store), place })
            }
            StoreSetting::Postgres(url) => {
                let store = PostgresStore::connect(url.expose())
                    .await
                    .context("cannot connect to the database of DATABASE_URL")?;
                let store = Arc::new(store);
                let place = "PostgreSQL, DATABASE_URL".to_owned();
                Ok(Self { tasks: Some(store.clone()), sessions: store, place })
            }
        }
    }
}
