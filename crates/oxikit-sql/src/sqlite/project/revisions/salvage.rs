//! Saves the revisions of a damaged file.
//!
//! The revisions and labels are copied. The rows of the logs are made anew from them, because a
//! current revision may be lost: then the newest applied one that is left is the current one.

use rusqlite::{Connection, OptionalExtension};

use super::damaged::{self, Logs};
use super::rows::{self, INFO};
use oxikit_sqlite::connection;
use oxikit_sqlite::failure::Outcome;
use oxikit_sqlite::repair::SavedPart;
use oxikit_sqlite::walk;

/// Copies all revisions and labels that can be read into a new file.
pub(in crate::sqlite::project) fn save(
    old: &Connection,
    new: &Connection,
) -> Outcome<Vec<SavedPart>> {
    // The file may be one of the first version, which had no revisions.
    if !connection::table_names(old)?.iter().any(|table| table == "revisions") {
        return Ok(Vec::new());
    }
    let (in_index, knows_all) = damaged::count_in_index(old)?;
    let (copied, lost, is_whole) = walk::copy_rows(old, new, "revisions")?;
    let saved = copied - remove_changed(new)?;
    let lost = lost.max(in_index.saturating_sub(saved));
    let revisions = SavedPart::new("revisions", saved, lost, is_whole || knows_all);
    save_logs(old, new)?;

    let (copied, lost, is_whole) = walk::copy_rows(old, new, "labels")?;
    let sql = "DELETE FROM labels WHERE NOT EXISTS (SELECT 1 FROM revisions r
         WHERE r.log = labels.log AND r.revision = labels.revision)";
    let dangling = new.execute(sql, [])? as u64;
    let labels = SavedPart::new("labels", copied - dangling, lost + dangling, is_whole);
    Ok(vec![revisions, labels])
}

/// Removes revisions whose text is not the one that was stored, because a page of it is damaged.
/// Returns their number.
fn remove_changed(new: &Connection) -> Outcome<u64> {
    let sql = format!("SELECT {INFO}, r.text, r.number FROM revisions r");
    let mut changed: Vec<i64> = Vec::new();
    let mut select = new.prepare(&sql)?;
    let mut found = select.query([])?;
    while let Some(row) = found.next()? {
        if rows::whole(row).is_err() {
            changed.push(row.get("number")?);
        }
    }
    for number in &changed {
        new.execute("DELETE FROM revisions WHERE number = ?1", [number])?;
    }
    Ok(changed.len() as u64)
}

/// Makes a row for each log that has a revision in the new file.
fn save_logs(old: &Connection, new: &Connection) -> Outcome<()> {
    let Logs { mut names, .. } = Logs::of(old)?;
    let mut select = new.prepare("SELECT log, MAX(revision) FROM revisions GROUP BY log")?;
    let logs: Vec<(i64, i64)> =
        select.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?;
    for (log, saved) in logs {
        let name = names.remove(&log).flatten();
        let name = name.unwrap_or_else(|| format!("recovered/log-{log}"));
        // Numbers that were given out are not given out again, also those of lost revisions.
        let known = walk::whole(damaged::newest_and_current(old, log))?;
        let known = known.and_then(|(newest, _)| i64::try_from(newest).ok()).unwrap_or(0);
        let current = current_of(new, log, saved)?;
        // Two logs with the same name can only be the result of damage.
        let insert = "INSERT OR IGNORE INTO logs (number, document, newest, current)
             VALUES (?1, ?2, ?3, ?4)";
        let newest = known.max(saved);
        if new.execute(insert, (log, name, newest, current))? == 0 {
            new.execute(insert, (log, format!("recovered/log-{log}"), newest, current))?;
        }
    }
    Ok(())
}

/// The newest applied revision that was saved. If there is none, the newest one becomes applied, so
/// that its text can be read.
fn current_of(new: &Connection, log: i64, newest: i64) -> Outcome<i64> {
    let sql = "SELECT MAX(revision) FROM revisions WHERE log = ?1 AND is_applied";
    let applied: Option<i64> = new.query_row(sql, [log], |row| row.get(0)).optional()?.flatten();
    if applied.is_none() {
        let sql = "UPDATE revisions SET is_applied = 1 WHERE log = ?1 AND revision = ?2";
        new.execute(sql, (log, newest))?;
    }
    Ok(applied.unwrap_or(newest))
}
