//! Connections, each used with a deadline.

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

/// Whoever asks the store is answered within this time, also by a database that
/// does not answer.
pub(super) const DEADLINE: Duration = Duration::from_secs(4);
/// While the database is known to be away, nobody waits longer for a connection: several
/// statements of one request together are answered in time, and when it is back there is
/// no queue of old requests.
const DEADLINE_WHILE_AWAY: Duration = Duration::from_secs(1);
/// A connection that was used a moment ago is there; another one is asked first.
const FRESH: Duration = Duration::from_secs(1);

/// The pool of connections.
#[derive(Debug, Clone)]
pub(super) struct Database {
    pool: PgPool,
    connect: PgConnectOptions,
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
                    if usage.idle_for > FRESH {
                        connection.ping().await?;
                    }
                    Ok(true)
                })
            })
            .connect_lazy_with(connect.clone());
        Ok(Self { pool, connect, is_away: Arc::default() })
    }

    /// Notes whether the database is away, as the connection that is always open knows.
    pub(super) fn set_away(&self, is_away: bool) {
        self.is_away.store(is_away, Relaxed);
    }

    /// How to open a connection beside the pool.
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

    /// The rows that a statement answers.
    pub(super) async fn all(&self, query: Statement<'_>) -> Result<Vec<PgRow>, StoreError> {
        let mut busy = self.acquire().await?;
        let rows = within(busy.deadline, query.fetch_all(busy.connection()?)).await?;
        busy.done();
        Ok(rows)
    }

    /// The first row that a statement answers, if there is one.
    pub(super) async fn optional(&self, query: Statement<'_>) -> Result<Option<PgRow>, StoreError> {
        Ok(self.all(query).await?.into_iter().next())
    }

    /// How many rows a statement has written.
    pub(super) async fn execute(&self, query: Statement<'_>) -> Result<u64, StoreError> {
        let mut busy = self.acquire().await?;
        let result = within(busy.deadline, query.execute(busy.connection()?)).await?;
        busy.done();
        Ok(result.rows_affected())
    }

    /// Ends all connections that are not in use.
    pub(super) async fn close(&self) {
        // One that hangs is cut when the process ends.
        _ = timeout(DEADLINE, self.pool.close()).await;
    }
}

pub(super) type Statement<'q> = Query<'q, Postgres, PgArguments>;

/// A connection in use. Unless all has gone well, it is cut when this is dropped:
/// nobody knows what else would come out of it, nor when.
pub(super) struct Busy {
    connection: Option<PoolConnection<Postgres>>,
    pub(super) deadline: Instant,
    is_done: bool,
}

impl Busy {
    pub(super) fn connection(&mut self) -> Result<&mut PgConnection, StoreError> {
        self.connection.as_deref_mut().ok_or(StoreError::Invalid("a connection that is closed"))
    }

    /// All that was asked has been answered.
    pub(super) fn done(mut self) {
        self.is_done = true;
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let Some(mut connection) = self.connection.take() else { return };
        if self.is_done {
            // The pool asks it once more, and would wait for ever for a frozen database.
            let back = connection.return_to_pool();
            tokio::spawn(async move { timeout(DEADLINE, back).await });
        } else {
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

/// What a failure of the database means to the caller.
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
        // The server gives up when we have, and does not wait for a process that
        // was frozen or has lost its network.
        ("statement_timeout", "4s"),
        ("idle_in_transaction_session_timeout", "5s"),
        ("tcp_keepalives_idle", "5"),
        ("tcp_keepalives_interval", "5"),
        ("tcp_keepalives_count", "3"),
        ("tcp_user_timeout", "20s"),
    ]))
}
