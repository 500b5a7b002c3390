//! Connections that read, beside the one that writes.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use tokio::sync::Semaphore;

use super::failure::{Failure, Outcome};
use super::{SqliteOptions, connection};

/// A few connections, opened when they are wanted and kept.
#[derive(Debug)]
pub(super) struct Readers {
    path: PathBuf,
    options: SqliteOptions,
    idle: Mutex<Vec<Connection>>,
    permits: Arc<Semaphore>,
}

impl Readers {
    pub(super) fn new(path: PathBuf, options: &SqliteOptions) -> Arc<Self> {
        let permits = Arc::new(Semaphore::new(options.readers.max(1)));
        Arc::new(Self { path, options: options.clone(), idle: Mutex::default(), permits })
    }

    /// Reads on a thread that may wait for the disk. What is read is the state of
    /// one moment.
    pub(super) async fn run<T, F>(self: &Arc<Self>, work: F) -> Outcome<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Outcome<T> + Send + 'static,
    {
        let readers = self.clone();
        let read = async {
            let permit = readers.permits.clone().acquire_owned().await;
            let read = tokio::task::spawn_blocking(move || {
                let _permit = permit;
                readers.read(work)
            });
            read.await.unwrap_or(Err(Failure::Silent))
        };
        tokio::time::timeout(self.options.patience, read).await.unwrap_or(Err(Failure::Silent))
    }

    fn read<T>(&self, work: impl FnOnce(&Connection) -> Outcome<T>) -> Outcome<T> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let connection = match idle {
            Some(connection) => connection,
            None => match connection::reader(&self.path, &self.options) {
                Err(_) if !self.path.exists() => return Err(Failure::Gone),
                opened => opened?,
            },
        };
        let result = work(&connection);
        // One that panicked, or could not end what it began, is not used again.
        if connection.is_autocommit() {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
        }
        result
    }
}

/// Does several reads on the state of one moment.
pub(super) fn at_once<T>(connection: &Connection, work: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
    connection.prepare_cached("BEGIN")?.execute([])?;
    let result = work();
    connection.prepare_cached("COMMIT")?.execute([])?;
    result
}
