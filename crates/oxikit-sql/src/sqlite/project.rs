//! The data sets, evaluations and revisions of a project, in an SQLite file of their own. Unlike
//! traces, they are people's work: nothing is ever removed unless a user asks for it.

mod documents;
mod moving;
mod options;
mod revisions;
mod salvage;

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use oxikit_core::ports::{DocumentList, ProjectError, ProjectStore, StoredDocument};
use rusqlite::Connection;

use super::notifier::SqliteNotifier;
use oxikit_sqlite::FileOptions;
use oxikit_sqlite::Readers;
use oxikit_sqlite::connection::{self, OpenError, Schema};
use oxikit_sqlite::damage::{Health, REPAIR, Reason};
use oxikit_sqlite::failure::{Failure, Outcome};
use oxikit_sqlite::file_check::{DELETED, OpenFile};
use oxikit_sqlite::writer::{Durability, Txn, Writer, WriterOptions};

pub use options::SqliteProjectOptions;

const SCHEMA: Schema = Schema {
    // `oxpr` in ASCII.
    application: 0x6f78_7072,
    tables: &["documents", "moved"],
    unreleased: 0,
    steps: &[include_str!("project/schema.sql"), include_str!("project/revisions.sql")],
};

/// Timeout of a call, which may wait for a file that another process has locked. The call
/// then fails as unavailable.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum number of reads at the same time. Further ones wait.
const READERS: usize = 2;

/// A [`ProjectStore`] and a [`RevisionStore`](oxikit_core::ports::RevisionStore) in one SQLite
/// file.
///
/// An acknowledged write is on the disk (`synchronous=FULL`), and nothing is ever pruned. Any
/// number of processes of one machine may open the file; each learns of changes by the others
/// within half a second. Cloning is cheap; the file is closed with the last clone.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
/// use oxikit_core::ports::ProjectStore;
/// use oxikit_sql::SqliteProject;
///
/// # let folder = std::env::temp_dir().join(format!("oxikit-project-{}", std::process::id()));
/// # let path = folder.join("project.db");
/// let store = SqliteProject::open(&path)?;
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
pub struct SqliteProject(Arc<Inner>);

/// The state that all clones of a store share.
struct Inner {
    /// Before the writer: the readers are closed first. SQLite removes the write-ahead log with
    /// the last connection, and not if two connections are closed at the same time.
    readers: Arc<Readers>,
    writer: Writer,
    health: Arc<Health>,
    notifier: Arc<SqliteNotifier>,
}

impl SqliteProject {
    /// Opens the file. Creates it, and its folder, if it does not exist, readable for its
    /// user only.
    ///
    /// # Errors
    ///
    /// If the file cannot be opened, is not a database of a project, or has the tables of a
    /// newer version.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        Self::open_with(path, SqliteProjectOptions::default())
    }

    /// Opens the file, and moves the documents that earlier versions kept in the database of the
    /// traces, if there is one. A document is removed there only after it is on the disk here, so
    /// that a process that is killed meanwhile loses none.
    ///
    /// ```
    /// # let folder = std::env::temp_dir().join(format!("oxikit-beside-{}", std::process::id()));
    /// use oxikit_sql::SqliteProject;
    ///
    /// let store = SqliteProject::open_beside(folder.join("project.db"), &folder.join("traces.db"))?;
    /// # drop(store);
    /// # std::fs::remove_dir_all(folder)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open). Documents that cannot be read or moved stay where they are, and
    /// are named in the log.
    pub fn open_beside(path: impl AsRef<Path>, traces: &Path) -> Result<Self, OpenError> {
        Self::open_with(path, SqliteProjectOptions::default().with_traces(traces))
    }

    /// Opens the file with these options.
    ///
    /// ```
    /// # let folder = std::env::temp_dir().join(format!("oxikit-project-with-{}", std::process::id()));
    /// use std::sync::Arc;
    ///
    /// use oxikit_core::ports::LocalNotifier;
    /// use oxikit_sql::{SqliteProject, SqliteProjectOptions};
    ///
    /// let notifier = Arc::new(LocalNotifier::default());
    /// let options = SqliteProjectOptions::default().with_notifier(notifier);
    /// let store = SqliteProject::open_with(folder.join("project.db"), options)?;
    /// # drop(store);
    /// # std::fs::remove_dir_all(folder)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub fn open_with(
        path: impl AsRef<Path>,
        options: SqliteProjectOptions,
    ) -> Result<Self, OpenError> {
        let path = path.as_ref();
        let mut connection = connection::writer(path, &file_options(), &SCHEMA)?;
        if let Some(traces) = &options.traces {
            moving::take_over(&mut connection, traces)?;
        }
        // A connection of its own: `data_version` shows commits of all other connections.
        let watched = connection::reader(path, &file_options())?;
        let notifier = SqliteNotifier::start(options.notifier, watched)?;
        let of_writer = WriterOptions { timeout: TIMEOUT, expects_failures: true };
        let writer = Writer::start(connection, OpenFile::at(path), notifier.clone(), of_writer)?;
        let readers = Readers::new(path.to_owned(), &file_options());
        let health = Arc::new(Health::of(path.to_owned()));
        Ok(Self(Arc::new(Inner { writer, readers, health, notifier })))
    }

    /// Reads. `what` names the affected thing in errors.
    async fn look<T, F>(&self, what: &str, read: F) -> Result<T, ProjectError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Outcome<T> + Send + 'static,
    {
        self.0.readers.run(read).await.map_err(|failure| self.error(what, failure))
    }

    /// Writes in a transaction that is on the disk when it is answered.
    async fn change<T, F>(&self, what: &str, work: F) -> Result<T, ProjectError>
    where
        T: Send + 'static,
        F: FnMut(&Txn<'_>) -> Outcome<T> + Send + 'static,
    {
        let done = self.0.writer.run(Durability::Synced, work).await;
        done.map_err(|failure| self.error(what, failure))
    }

    /// The failure as an error of the store. Damage is logged the first time.
    fn error(&self, what: &str, failure: Failure) -> ProjectError {
        match failure {
            Failure::FileDeleted => ProjectError::Gone(DELETED),
            failure if failure.is_damage() => {
                self.0.health.record_damage(what, &Reason(&failure));
                let text = format!(
                    "the database of the project is damaged, which affects `{what}`; {REPAIR}"
                );
                ProjectError::Damaged(text)
            }
            failure => ProjectError::Store(failure.about(what)),
        }
    }
}

#[async_trait]
impl ProjectStore for SqliteProject {
    async fn put_document(
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

    async fn document(&self, kind: &str, id: &str) -> Result<Option<StoredDocument>, ProjectError> {
        let (of_kind, of_id) = (kind.to_owned(), id.to_owned());
        let health = self.0.health.clone();
        let get = move |connection: &Connection| {
            // The second query is used only if the first one has met a damaged page.
            health.or_else(&of_id, documents::get(connection, &of_kind, &of_id), || {
                documents::get_damaged(connection, &of_kind, &of_id)
            })
        };
        self.look(id, get).await
    }

    async fn documents(&self, kind: &str) -> Result<DocumentList, ProjectError> {
        let (of_kind, health) = (kind.to_owned(), self.0.health.clone());
        let list = move |connection: &Connection| {
            health.or_else(&of_kind, documents::list(connection, &of_kind), || {
                documents::list_each(connection, &of_kind)
            })
        };
        self.look(kind, list).await
    }

    async fn delete_document(&self, kind: &str, id: &str) -> Result<bool, ProjectError> {
        let (of_kind, of_id) = (kind.to_owned(), id.to_owned());
        self.change(id, move |txn| documents::delete(txn, &of_kind, &of_id)).await
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.notifier.close();
    }
}

/// The options of all connections to the file.
fn file_options() -> FileOptions {
    FileOptions { timeout: TIMEOUT, readers: READERS, max_pages: None }
}

impl fmt::Debug for SqliteProject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteProject").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value of `PRAGMA synchronous` that waits for the disk at every commit.
    const FULL: i64 = 2;

    #[tokio::test]
    async fn every_change_waits_for_the_disk() {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteProject::open(folder.path().join("project.db")).unwrap();
        let read = |txn: &Txn<'_>| {
            Ok(txn.connection().pragma_query_value(None, "synchronous", |row| row.get(0))?)
        };
        let synchronous: i64 = store.change("the setting", read).await.unwrap();
        assert_eq!(synchronous, FULL);
    }
}
