//! The row of a session: what lists show, and what the next write and the pruner need to know.

use rusqlite::{Connection, OptionalExtension, Row};

use crate::summary::{Facts, Summary};
use oxikit_sqlite::failure::Outcome;
use oxikit_sqlite::writer::Txn;

/// The columns that [`SessionRow::read`] reads, in order.
macro_rules! columns {
    () => {
        "number, session, agent, created_at, snapshots, orphans, metadata, latest, latest_id,
         latest_created_at, updated_at, heartbeat_at, status, finish_reason, completed,
         completed_at, messages, has_artifacts, bytes, garbage, written, written_at, owner"
    };
}
pub(super) use columns;

/// A session's row. It is written with every snapshot.
#[derive(Debug)]
pub(super) struct SessionRow {
    /// Identifies the session in all other tables.
    pub(super) number: i64,
    pub(super) owner: String,
    pub(super) session: String,
    pub(super) summary: Summary,
    /// Bytes of all its rows, for the limit of a session.
    pub(super) bytes: i64,
    /// Upper bound of the bytes that replaced rows have left unused.
    pub(super) garbage: i64,
    /// The number of its last write: the order of lists.
    pub(super) written: i64,
    /// The time of its last write, in milliseconds since 1970.
    pub(super) written_at: i64,
}

impl SessionRow {
    /// Reads the columns that `columns!` names.
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let latest = Facts {
            number: row.get(7)?,
            id: row.get(8)?,
            created_at: row.get(9)?,
            updated_at: row.get(10)?,
            heartbeat_at: row.get(11)?,
            status: row.get(12)?,
            finish_reason: row.get(13)?,
            ..Facts::default()
        };
        let completed = match row.get(14)? {
            Some(number) => Some(Facts {
                number,
                created_at: row.get(15)?,
                messages: row.get(16)?,
                has_artifacts: row.get(17)?,
                ..Facts::default()
            }),
            None => None,
        };
        let summary = Summary {
            agent: row.get(2)?,
            created_at: row.get(3)?,
            snapshots: row.get(4)?,
            latest,
            completed,
            orphans: row.get(5)?,
            metadata: row.get(6)?,
        };
        Ok(Self {
            number: row.get(0)?,
            session: row.get(1)?,
            summary,
            bytes: row.get(18)?,
            garbage: row.get(19)?,
            written: row.get(20)?,
            written_at: row.get(21)?,
            owner: row.get(22)?,
        })
    }

    /// The session with this id.
    pub(super) fn find(
        connection: &Connection,
        owner: &str,
        session: &str,
    ) -> Outcome<Option<Self>> {
        let sql =
            concat!("SELECT ", columns!(), " FROM sessions WHERE owner = ?1 AND session = ?2");
        let mut select = connection.prepare_cached(sql)?;
        Ok(select.query_row((owner, session), Self::read).optional()?)
    }

    /// The session with this number.
    pub(super) fn find_number(connection: &Connection, number: i64) -> Outcome<Option<Self>> {
        let sql = concat!("SELECT ", columns!(), " FROM sessions WHERE number = ?1");
        Ok(connection.prepare_cached(sql)?.query_row([number], Self::read).optional()?)
    }

    /// Inserts or replaces the row.
    pub(super) fn write(&self, txn: &Txn<'_>) -> Outcome<()> {
        let Summary { agent, created_at, snapshots, latest, completed, orphans, metadata } =
            &self.summary;
        let of_completed = completed.as_ref();
        txn.sql(
            "INSERT INTO sessions (number, owner, session, agent, created_at, snapshots, orphans,
                 metadata, latest, latest_id, latest_created_at, updated_at, heartbeat_at, status,
                 finish_reason, is_active, completed, completed_at, messages, has_artifacts, bytes,
                 garbage, written, written_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17,
                 ?18, ?19, ?20, ?21, ?22, ?23, ?24)
             ON CONFLICT (number) DO UPDATE SET created_at = ?5, snapshots = ?6, orphans = ?7,
                 metadata = ?8, latest = ?9, latest_id = ?10, latest_created_at = ?11,
                 updated_at = ?12, heartbeat_at = ?13, status = ?14, finish_reason = ?15,
                 is_active = ?16, completed = ?17, completed_at = ?18, messages = ?19,
                 has_artifacts = ?20, bytes = ?21, garbage = ?22, written = ?23, written_at = ?24",
        )?
        .execute(rusqlite::params![
            self.number,
            self.owner,
            self.session,
            agent,
            created_at,
            snapshots,
            orphans,
            metadata,
            latest.number,
            latest.id,
            latest.created_at,
            latest.updated_at,
            latest.heartbeat_at,
            latest.status,
            latest.finish_reason,
            self.summary.is_active(),
            of_completed.map(|row| row.number),
            of_completed.map(|row| &row.created_at),
            of_completed.map_or(0, |row| row.messages),
            of_completed.is_some_and(|row| row.has_artifacts),
            self.bytes,
            self.garbage,
            self.written,
            self.written_at,
        ])?;
        Ok(())
    }
}
