//! Returns free pages to the file system.
//!
//! SQLite keeps the pages of deleted rows for later rows. After many rows were deleted the file
//! can be made smaller; it is done in steps, since each step blocks other writes.

use crate::failure::Outcome;
use crate::writer::{Durability, Txn, Writer};

/// At most 256 pages are returned in one transaction, so that other writes can go between.
const VACUUM: &str = "PRAGMA incremental_vacuum(256)";

/// Shrinks the file by the pages of deleted rows, in short transactions.
///
/// # Errors
/// If a transaction fails. The file is intact then, and only larger than needed.
pub async fn vacuum(writer: &Writer) -> Outcome<()> {
    let vacuum = |txn: &Txn<'_>| {
        let connection = txn.connection();
        let mut vacuum = connection.prepare(VACUUM)?;
        let mut rows = vacuum.query([])?;
        while rows.next()?.is_some() {}
        Ok(connection.pragma_query_value(None, "freelist_count", |row| row.get::<_, i64>(0))?)
    };
    let mut left = i64::MAX;
    loop {
        let now = writer.run(Durability::Unsynced, vacuum).await?;
        // It also ends if the number does not fall: other writes free pages meanwhile, or SQLite
        // cannot move the last page.
        if now == 0 || now >= left {
            return Ok(());
        }
        left = now;
    }
}
