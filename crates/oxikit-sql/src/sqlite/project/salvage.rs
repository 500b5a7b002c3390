//! Saves the documents and revisions of a damaged file.

use std::path::Path;

use super::{SCHEMA, SqliteProject, documents, revisions};
use oxikit_sqlite::connection::OpenError;
use oxikit_sqlite::repair::{self, RepairError, Repaired, SavedPart};
use oxikit_sqlite::walk;

impl SqliteProject {
    /// Checks a file with SQLite's `quick_check`. Returns its messages, none if the file is
    /// intact.
    ///
    /// ```
    /// # let folder = std::env::temp_dir().join(format!("oxikit-check-{}", std::process::id()));
    /// # let path = folder.join("project.db");
    /// use oxikit_sql::SqliteProject;
    ///
    /// drop(SqliteProject::open(&path)?);
    /// if !SqliteProject::check(&path)?.is_empty() {
    ///     let repaired = SqliteProject::repair(&path)?;
    ///     println!("the damaged file is kept as {}", repaired.copy.display());
    /// }
    /// # std::fs::remove_dir_all(folder)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the file cannot be opened at all.
    pub fn check(path: impl AsRef<Path>) -> Result<Vec<String>, OpenError> {
        repair::check(path.as_ref(), &SCHEMA)
    }

    /// Replaces a damaged file with a new one that contains all readable documents and
    /// revisions. The damaged file is kept beside it. No process may have the file open.
    ///
    /// # Errors
    ///
    /// If the file belongs to another program, or there is no room for the new one. Then
    /// nothing was changed.
    pub fn repair(path: impl AsRef<Path>) -> Result<Repaired, RepairError> {
        repair::repair(path.as_ref(), &SCHEMA, |old, new| {
            // The index may know of more than the table.
            let known = documents::known(old)?;
            let (saved, lost, _) = walk::copy_rows(old, new, "documents")?;
            let lost = lost.max((known.names.len() as u64).saturating_sub(saved));
            // The records of moved documents. Without them the documents may be moved again.
            let sql = "SELECT kind, id, version, updated_at FROM moved";
            walk::scan(old, sql, [], |row| {
                let row: (String, String, i64, i64) =
                    (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
                new.prepare_cached("INSERT OR REPLACE INTO moved VALUES (?1, ?2, ?3, ?4)")?
                    .execute(row)?;
                Ok(())
            })?;
            let documents = SavedPart::new("documents", saved, lost, known.is_whole);
            Ok([vec![documents], revisions::save(old, new)?].concat())
        })
    }
}
