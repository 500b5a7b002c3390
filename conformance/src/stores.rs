//! The stores that suites are run on, each new and empty.

use std::env;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, Result};
use oxikit::FileSessions;
use oxikit_core::ports::memory::{MemorySessions, MemoryStreams};
use oxikit_core::ports::{SessionStore, StreamStore};
use oxikit_sql::{PostgresOptions, PostgresStore, SqliteStore};
use tempfile::TempDir;

use crate::suite::{Outcome, Report};

/// The kinds of stores.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Memory,
    File,
    Sqlite,
    Postgres,
}

/// All that keep sessions.
pub(crate) const SESSIONS: [Kind; 4] = [Kind::Memory, Kind::File, Kind::Sqlite, Kind::Postgres];
/// All that keep streams.
pub(crate) const STREAMS: [Kind; 3] = [Kind::Memory, Kind::Sqlite, Kind::Postgres];

/// Where a PostgreSQL server is.
const POSTGRES: &str = "OXIKIT_TEST_POSTGRES";

/// A store, and the folder that goes with it.
pub(crate) struct Opened<Store: ?Sized> {
    pub(crate) store: Arc<Store>,
    _folder: Option<TempDir>,
}

impl<Store: ?Sized> Opened<Store> {
    fn new(store: Arc<Store>) -> Self {
        Self { store, _folder: None }
    }

    fn within(folder: TempDir, store: Arc<Store>) -> Self {
        Self { store, _folder: Some(folder) }
    }
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::File => "file",
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
        }
    }

    /// Why there can be no such store here.
    fn missing(self) -> Option<String> {
        match self {
            Self::Memory | Self::File | Self::Sqlite => None,
            Self::Postgres if env::var_os(POSTGRES).is_some() => None,
            Self::Postgres => Some(format!("there is no PostgreSQL server: {POSTGRES} is not set")),
        }
    }

    pub(crate) async fn sessions(self) -> Result<Opened<dyn SessionStore>> {
        Ok(match self {
            Self::Memory => Opened::new(Arc::new(MemorySessions::default())),
            Self::File => {
                let folder = tempfile::tempdir()?;
                let store = FileSessions::open(folder.path())?;
                Opened::within(folder, Arc::new(store))
            }
            Self::Sqlite => {
                let folder = tempfile::tempdir()?;
                let store = SqliteStore::open(folder.path().join("store.db"))?.sessions();
                Opened::within(folder, store)
            }
            Self::Postgres => Opened::new(Arc::new(postgres().await?)),
        })
    }

    pub(crate) async fn streams(self) -> Result<Opened<dyn StreamStore>> {
        Ok(match self {
            Self::Memory => Opened::new(Arc::new(MemoryStreams::default())),
            Self::File => anyhow::bail!("files keep no streams"),
            Self::Sqlite => {
                let folder = tempfile::tempdir()?;
                let store = SqliteStore::open(folder.path().join("store.db"))?.streams();
                Opened::within(folder, store)
            }
            Self::Postgres => Opened::new(Arc::new(postgres().await?)),
        })
    }
}

/// A store with tables of its own.
async fn postgres() -> Result<PostgresStore> {
    static SCHEMAS: AtomicU32 = AtomicU32::new(0);
    let url = env::var(POSTGRES).context(POSTGRES)?;
    let number = SCHEMAS.fetch_add(1, Ordering::Relaxed);
    let schema = format!("conformance_{}_{number}", std::process::id());
    let options = PostgresOptions::default().with_schema(schema).with_max_connections(4);
    Ok(PostgresStore::connect_with(&url, options).await?)
}

/// What to say instead of running a suite on this store, if there can be none here.
/// Where nothing may be skipped, that is a failure.
pub(crate) fn unavailable(store: Kind) -> Option<Outcome> {
    let why = store.missing()?;
    if env::var("CI").is_ok_and(|value| value == "true" || value == "1") {
        let mut report = Report::default();
        report.fail("all", format!("skipped, and CI is set: {why}"));
        return Some(Outcome::Ran(report));
    }
    Some(Outcome::Skipped(why))
}
