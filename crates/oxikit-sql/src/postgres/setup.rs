//! Makes the tables.

use std::time::Duration;

use oxikit_core::ports::StoreError;
use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::{ConnectOptions, Connection, SqlSafeStr};
use tokio::time::timeout;

use super::database::{Database, failure};

/// Other processes may be making them just now, and a large table takes a while.
const LIMIT: Duration = Duration::from_secs(60);

/// Makes or changes the tables of this schema. A lock in the database lets one
/// process after the other do it.
pub(super) async fn tables(database: &Database, schema: &str) -> Result<(), StoreError> {
    match timeout(LIMIT, migrate(database, schema)).await {
        Ok(done) => done,
        Err(late) => Err(StoreError::Unavailable(Box::new(late))),
    }
}

async fn migrate(database: &Database, schema: &str) -> Result<(), StoreError> {
    // A connection of its own, without the limits of the others.
    let options = database.connect_options().options([("statement_timeout", "0")]);
    let mut connection = options.connect().await.map_err(failure)?;
    let step = |number, name: &'static str, sql: &'static str| {
        Migration::new(number, name.into(), MigrationType::Simple, sql.into_sql_str(), false)
    };
    // A step is never changed once it was released; new ones are added at the end.
    let mut migrator = Migrator::with_migrations(vec![
        step(1, "tables", include_str!("schema/1.sql")),
        step(2, "retention", include_str!("schema/2.sql")),
    ]);
    // The name was checked: it needs no quotes.
    migrator.create_schemas = vec![schema.to_owned().into()].into();
    migrator.dangerous_set_table_name(format!("{schema}.migrations"));
    let unavailable = |error| StoreError::Unavailable(Box::new(error));
    migrator.run_direct(None, &mut connection, false).await.map_err(unavailable)?;
    connection.close().await.map_err(failure)
}
