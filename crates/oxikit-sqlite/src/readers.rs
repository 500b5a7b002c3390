//! A pool of connections that read. They never wait for the writer, since the file has a
//! write-ahead log.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use tokio::sync::Semaphore;

use super::failure::{Failure, Outcome};
use super::{FileOptions, connection};

/// A pool of read connections, opened on demand and reused.
#[derive(Debug)]
pub struct Readers {
    path: PathBuf,
    options: FileOptions,
    /// Connections that are not in use. Opening one costs more than a small query.
    idle: Mutex<Vec<Connection>>,
    /// One permit for each read at the same time.
    permits: Arc<Semaphore>,
}

impl Readers {
    /// An empty pool for the file at this path.
    pub fn new(path: PathBuf, options: &FileOptions) -> Arc<Self> {
        let permits = Arc::new(Semaphore::new(options.readers.max(1)));
        Arc::new(Self { path, options: options.clone(), idle: Mutex::default(), permits })
    }

    /// Executes `work` on a thread of the blocking pool. Each query sees one state of the
    /// file; [`at_once`] gives several queries the same one.
    ///
    /// # Errors
    /// With [`Failure::Timeout`] if the read takes longer than [`FileOptions::timeout`], or
    /// the failure of `work`.
    pub async fn run<T, F>(self: &Arc<Self>, work: F) -> Outcome<T>
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
            read.await.unwrap_or(Err(Failure::Timeout))
        };
        tokio::time::timeout(self.options.timeout, read).await.unwrap_or(Err(Failure::Timeout))
    }

    /// Executes `work` with an idle connection, or opens one.
    fn read<T>(&self, work: impl FnOnce(&Connection) -> Outcome<T>) -> Outcome<T> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let connection = match idle {
            Some(connection) => connection,
            None => match connection::reader(&self.path, &self.options) {
                Err(_) if !self.path.exists() => return Err(Failure::FileDeleted),
                opened => opened?,
            },
        };
        let result = work(&connection);
        // A connection with an open transaction is dropped: reusing it would keep reading an
        // old state of the file. After a panic the connection is dropped by unwinding.
        if connection.is_autocommit() {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
        }
        result
    }
}

/// Executes several reads in one transaction, so that all see the same state of the file.
///
/// # Errors
/// The failure of `work`, or if SQLite cannot begin the transaction.
pub fn at_once<T>(connection: &Connection, work: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
    connection.prepare_cached("BEGIN")?.execute([])?;
    let result = work();
    connection.prepare_cached("COMMIT")?.execute([])?;
    result
}
