//! Documents out of a damaged file.

use std::path::Path;

use super::super::connection::OpenError;
use super::super::repair::{self, RepairError, Repaired, SavedPart};
use super::super::walk;
use super::{ProjectStore, SCHEMA, documents};

impl ProjectStore {
    /// What is wrong with a file, in the words of SQLite; nothing if it is whole.
    ///
    /// # Errors
    ///
    /// If the file cannot be opened at all.
    pub fn check(path: impl AsRef<Path>) -> Result<Vec<String>, OpenError> {
        repair::check(path.as_ref(), &SCHEMA)
    }

    /// Puts all that can be read of a damaged file into a new one, which takes its place.
    /// The damaged file is kept beside it. Nobody may have the file open.
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
            // What was moved from the traces; without it, it may be moved again.
            let sql = "SELECT kind, id, version, updated_at FROM moved";
            walk::scan(old, sql, [], |row| {
                let row: (String, String, i64, i64) =
                    (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
                new.prepare_cached("INSERT OR REPLACE INTO moved VALUES (?1, ?2, ?3, ?4)")?
                    .execute(row)?;
                Ok(())
            })?;
            Ok(vec![SavedPart { name: "documents", saved, lost, may_be_more: !known.is_whole }])
        })
    }
}
