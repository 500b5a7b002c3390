//! People's work in a project: data sets, evaluations. One SQLite file of its own, that
//! nothing is ever removed from unasked.

mod documents;
mod moving;
mod salvage;

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use oxikit_core::ports::StoreError;
use rusqlite::Connection;

use super::SqliteOptions;
use super::bells::Bells;
use super::connection::{self, OpenError, Schema};
use super::damage::{Health, REPAIR, Reason};
use super::failure::{Failure, Outcome};
use super::file_check::{DELETED, OpenFile};
use super::readers::Readers;
use super::writer::{Promise, Txn, Writer, WriterOptions};
pub use documents::{DocumentList, StoredDocument};

const SCHEMA: Schema = Schema {
    // `oxpr` in ASCII.
    application: 0x6f78_7072,
    tables: &["documents", "moved"],
    steps: &[include_str!("project/schema.sql")],
};

/// So long a call waits for the file, which another process may have locked.
const PATIENCE: Duration = Duration::from_secs(5);
/// So many reads go on at the same time.
const READERS: usize = 2;

/// What people have made in a project, in one SQLite file.
///
/// What is answered is on the disk. Any number of processes of one machine may open the
/// file. Cloning is cheap; the file is closed with the last clone.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
/// use oxikit_sql::ProjectStore;
///
/// # let folder = std::env::temp_dir().join(format!("oxikit-project-{}", std::process::id()));
/// # let path = folder.join("project.db");
/// let store = ProjectStore::open(&path)?;
/// store.put_document("dataset", "greetings", r#"["Ada"]"#.to_owned(), None).await?;
/// let document = store.document("dataset", "greetings").await?;
/// assert_eq!(document.unwrap().json, r#"["Ada"]"#);
/// # drop(store);
/// # std::fs::remove_dir_all(folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct ProjectStore(Arc<Inner>);

struct Inner {
    writer: Writer,
    readers: Arc<Readers>,
    health: Arc<Health>,
}

/// Why a [`ProjectStore`] did not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProjectError {
    /// Pages of the database cannot be read, or not written because of those that cannot
    /// be read. The text says what is affected and what to do. It was logged.
    #[error("{0}")]
    Damaged(String),
    /// The file was deleted or replaced while it was open. Nothing was stored.
    #[error("{DELETED}")]
    Gone,
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ProjectStore {
    /// Opens the file; makes it, and its folder, if there is none. Only the user of
    /// the process can read what is made.
    ///
    /// # Errors
    ///
    /// If the file cannot be opened, is no database of a project, or has the tables of a
    /// newer version.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        let path = path.as_ref();
        Self::start(path, connection::writer(path, &options(), &SCHEMA)?)
    }

    /// The same; and what earlier versions have kept in the database of the traces, if
    /// there is one, is moved over. Documents are removed there when they are on the disk
    /// here, so that a process that is killed meanwhile loses none.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open). Documents that cannot be read or moved stay where they are,
    /// and are named in the log.
    pub fn open_beside(path: impl AsRef<Path>, traces: &Path) -> Result<Self, OpenError> {
        let path = path.as_ref();
        let mut connection = connection::writer(path, &options(), &SCHEMA)?;
        moving::take_over(&mut connection, traces)?;
        Self::start(path, connection)
    }

    fn start(path: &Path, connection: Connection) -> Result<Self, OpenError> {
        let of_writer = WriterOptions {
            patience: PATIENCE,
            acknowledge_before_commit: false,
            expects_failures: true,
        };
        let (file, bells) = (OpenFile::at(path), Arc::new(Bells::default()));
        let writer = Writer::start(connection, file, bells, of_writer)?;
        let readers = Readers::new(path.to_owned(), &options());
        let health = Arc::new(Health::of(path.to_owned()));
        Ok(Self(Arc::new(Inner { writer, readers, health })))
    }

    /// Writes a document and answers its version: 1, or one more than before. With
    /// `expected` only if that is the version that is there, 0 for none.
    ///
    /// # Errors
    ///
    /// [`Conflict`](StoreError::Conflict) if another version is there; and if the store does
    /// not work.
    pub async fn put_document(
        &self,
        kind: &str,
        id: &str,
        json: String,
        expected: Option<u32>,
    ) -> Result<u32, ProjectError> {
        let (of_kind, of_id) = (kind.to_owned(), id.to_owned());
        let put = move |txn: &Txn<'_>| documents::put(txn, &of_kind, &of_id, &json, expected);
        self.change(id, put).await
    }

    /// A document.
    ///
    /// # Errors
    ///
    /// If the store does not work.
    pub async fn document(
        &self,
        kind: &str,
        id: &str,
    ) -> Result<Option<StoredDocument>, ProjectError> {
        let (of_kind, of_id) = (kind.to_owned(), id.to_owned());
        let health = self.0.health.clone();
        let get = move |connection: &Connection| {
            health.or_else(&of_id, documents::get(connection, &of_kind, &of_id), || {
                documents::get_damaged(connection, &of_kind, &of_id)
            })
        };
        self.look(id, get).await
    }

    /// All documents of a kind, in the order they were made.
    ///
    /// # Errors
    ///
    /// If the store does not work.
    pub async fn documents(&self, kind: &str) -> Result<DocumentList, ProjectError> {
        let (of_kind, health) = (kind.to_owned(), self.0.health.clone());
        let list = move |connection: &Connection| {
            health.or_else(&of_kind, documents::list(connection, &of_kind), || {
                documents::list_each(connection, &of_kind)
            })
        };
        self.look(kind, list).await
    }

    /// Removes a document; `false` if there is none.
    ///
    /// # Errors
    ///
    /// If the store does not work.
    pub async fn delete_document(&self, kind: &str, id: &str) -> Result<bool, ProjectError> {
        let (of_kind, of_id) = (kind.to_owned(), id.to_owned());
        self.change(id, move |txn| documents::delete(txn, &of_kind, &of_id)).await
    }

    async fn look<T, F>(&self, what: &str, read: F) -> Result<T, ProjectError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Outcome<T> + Send + 'static,
    {
        self.0.readers.run(read).await.map_err(|failure| self.error(what, failure))
    }

    async fn change<T, F>(&self, what: &str, work: F) -> Result<T, ProjectError>
    where
        T: Send + 'static,
        F: FnMut(&Txn<'_>) -> Outcome<T> + Send + 'static,
    {
        let done = self.0.writer.run(Promise::Durable, work).await;
        done.map_err(|failure| self.error(what, failure))
    }

    /// The failure as callers are told of it. Damage is logged when it is first met.
    fn error(&self, what: &str, failure: Failure) -> ProjectError {
        match failure {
            Failure::Gone => ProjectError::Gone,
            failure if failure.is_damage() => {
                self.0.health.note(what, &Reason(&failure));
                let text = format!(
                    "the database of the project is damaged, which affects `{what}`; {REPAIR}"
                );
                ProjectError::Damaged(text)
            }
            failure => failure.about(what).into(),
        }
    }
}

fn options() -> SqliteOptions {
    SqliteOptions { patience: PATIENCE, readers: READERS, ..SqliteOptions::default() }
}

impl fmt::Debug for ProjectStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProjectStore").finish_non_exhaustive()
    }
}
