//! The connections to the database, each used with a deadline.
//!
//! A database that hangs, or a network that drops packets, must not block callers: every
//! statement has a timeout on both sides. A connection whose statement was not answered is closed
//! and not reused, since the answer could still arrive on it.

use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use oxikit_core::ports::StoreError;
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgArguments, PgConnectOptions, PgPoolOptions, PgRow};
use sqlx::query::Query;
use sqlx::{Connection, PgConnection, PgPool, Postgres};
use tokio::time::{Instant, timeout, timeout_at};

use super::PostgresOptions;

/// Timeout of a statement. A statement that the database does not answer then fails as
/// unavailable, and its connection is closed.
pub(super) const DEADLINE: Duration = Duration::from_secs(4);
/// Timeout for a connection while the database is known to be unreachable. It is short, so
/// that a request with several statements fails in time, and no old requests wait when the
/// database is back.
const DEADLINE_WHILE_AWAY: Duration = Duration::from_secs(1);
/// Time since its last use within which a connection is used without a check.
const FRESH: Duration = Duration::from_secs(1);

/// The pool of connections.
#[derive(Debug, Clone)]
pub(super) struct Database {
    /// Connections for statements. They are opened when they are needed.
    pool: PgPool,
    connect: PgConnectOptions,
    /// Whether the last attempt to connect has failed, as [`set_away`](Self::set_away) says.
    is_away: Arc<AtomicBool>,
}

impl Database {
    /// Opens no connection yet.
    pub(super) fn new(url: &str, options: &PostgresOptions) -> Result<Self, StoreError> {
        let connect = connect_options(url, &options.schema)?;
        let pool = PgPoolOptions::new()
            .max_connections(options.max_connections)
            .acquire_timeout(DEADLINE)
            .test_before_acquire(false)
            .before_acquire(|connection, usage| {
                Box::pin(async move {
                    // A connection that was idle may have been closed by the server or a
                    // firewall. One round trip finds out before the caller's statement is sent.
                    if usage.idle_for > FRESH {
                        connection.ping().await?;
                    }
                    Ok(true)
                })
            })
            .connect_lazy_with(connect.clone());
        Ok(Self { pool, connect, is_away: Arc::default() })
    }

    /// Records whether the database is unreachable, as seen by the connection that is always
    /// open.
    pub(super) fn set_away(&self, is_away: bool) {
        self.is_away.store(is_away, Relaxed);
    }

    /// The options of a connection outside of the pool.
    pub(super) fn connect_options(&self) -> PgConnectOptions {
        self.connect.clone()
    }

    /// A connection for several statements.
    pub(super) async fn acquire(&self) -> Result<Busy, StoreError> {
        let now = Instant::now();
        let (deadline, is_away) = (now + DEADLINE, self.is_away.load(Relaxed));
        let connected_by = if is_away { now + DEADLINE_WHILE_AWAY } else { deadline };
        let connection = within(connected_by, self.pool.acquire()).await?;
        Ok(Busy { connection: Some(connection), deadline, is_done: false })
    }

    /// Executes a statement and returns its rows.
    pub(super) async fn all(&self, query: Statement<'_>) -> Result<Vec<PgRow>, StoreError> {
        let mut busy = self.acquire().await?;
        let rows = within(busy.deadline, query.fetch_all(busy.connection()?)).await?;
        busy.done();
        Ok(rows)
    }

    /// Executes a statement and returns its first row; `None` if it has none.
    pub(super) async fn optional(&self, query: Statement<'_>) -> Result<Option<PgRow>, StoreError> {
        Ok(self.all(query).await?.into_iter().next())
    }

    /// Executes a statement and returns the number of rows that it has written.
    pub(super) async fn execute(&self, query: Statement<'_>) -> Result<u64, StoreError> {
        let mut busy = self.acquire().await?;
        let result = within(busy.deadline, query.execute(busy.connection()?)).await?;
        busy.done();
        Ok(result.rows_affected())
    }

    /// Ends all connections that are not in use.
    pub(super) async fn close(&self) {
        // A connection that hangs is closed when the process ends.
        _ = timeout(DEADLINE, self.pool.close()).await;
    }
}

/// A statement with its parameters.
pub(super) type Statement<'q> = Query<'q, Postgres, PgArguments>;

/// A connection in use. Unless [`done`](Self::done) was called it is closed on drop, since the
/// answer to an abandoned statement could still arrive on it.
pub(super) struct Busy {
    connection: Option<PoolConnection<Postgres>>,
    /// The time at which all statements of the caller must be answered.
    pub(super) deadline: Instant,
    is_done: bool,
}

impl Busy {
    /// The connection, for a statement that must be answered before [`deadline`](Self::deadline).
    pub(super) fn connection(&mut self) -> Result<&mut PgConnection, StoreError> {
        self.connection.as_deref_mut().ok_or(StoreError::Invalid("a connection that is closed"))
    }

    /// Returns the connection to the pool: all statements were answered.
    pub(super) fn done(mut self) {
        self.is_done = true;
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let Some(mut connection) = self.connection.take() else { return };
        if self.is_done {
            // The pool sends one more query to check it, and would wait forever for a database that hangs.
            let back = connection.return_to_pool();
            tokio::spawn(async move { timeout(DEADLINE, back).await });
        } else {
            // Detached from the pool and closed: the statement may still be running, and its
            // answer must not be taken for that of the next one.
            drop(connection.detach());
        }
    }
}

/// Waits for an answer until `deadline`.
pub(super) async fn within<T>(
    deadline: Instant,
    answer: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<T, StoreError> {
    match timeout_at(deadline, answer).await {
        Ok(answer) => answer.map_err(failure),
        Err(late) => Err(StoreError::Unavailable(Box::new(late))),
    }
}

/// Converts an error of the database: a full disk is `Full`, a row that cannot be decoded is
/// `Damaged`, and anything else is `Unavailable`.
pub(super) fn failure(error: sqlx::Error) -> StoreError {
    const DISK_FULL: &str = "53100";
    let code = error.as_database_error().and_then(|error| error.code());
    if code.as_deref() == Some(DISK_FULL) {
        return StoreError::Full("the write".to_owned(), "the disk of the database is full");
    }
    match error {
        sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) => {
            StoreError::Damaged("a row".to_owned(), Box::new(error))
        }
        error => StoreError::Unavailable(Box::new(error)),
    }
}

/// The options of all connections. The name of the schema is not a parameter of any statement, so
/// it is checked here: it has no characters that need quotes.
fn connect_options(url: &str, schema: &str) -> Result<PgConnectOptions, StoreError> {
    let is_simple = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let begins_well = schema.starts_with(|c: char| c.is_ascii_lowercase() || c == '_');
    if !begins_well || schema.len() > 48 || !schema.chars().all(is_simple) {
        return Err(StoreError::Invalid("the schema's name"));
    }
    let options = PgConnectOptions::from_str(url)
        .map_err(|_| StoreError::Invalid("the address of the database"))?;
    Ok(options.application_name("oxikit").options([
        ("search_path", schema),
        ("synchronous_commit", "on"),
        // The server aborts a statement when this side has given up, and a transaction of a
        // process that was paused or lost its network.
        ("statement_timeout", "4s"),
        ("idle_in_transaction_session_timeout", "5s"),
        ("tcp_keepalives_idle", "5"),
        ("tcp_keepalives_interval", "5"),
        ("tcp_keepalives_count", "3"),
        ("tcp_user_timeout", "20s"),
    ]))
}
