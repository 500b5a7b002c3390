//! Creates and migrates the tables.
//!
//! Each version of the tables is a numbered step. The database records the steps that were taken,
//! so an older schema is brought up to date when a newer version opens it, and an older version
//! refuses a newer schema.

use std::time::Duration;

use oxikit_core::ports::StoreError;
use sqlx::migrate::{MigrateError, Migration, MigrationType, Migrator};
use sqlx::{ConnectOptions, Connection, SqlSafeStr};
use tokio::time::timeout;

use super::database::{Database, failure};

/// Timeout of the migration. It is long, since another process may be migrating, and large
/// tables take time. Opening the store then fails.
const LIMIT: Duration = Duration::from_secs(60);

/// Creates or migrates the tables of this schema. A lock in the database lets one process after
/// the other do it, so several processes may start at the same time.
pub(super) async fn tables(database: &Database, schema: &str) -> Result<(), StoreError> {
    match timeout(LIMIT, migrate(database, schema)).await {
        Ok(done) => done,
        Err(late) => Err(StoreError::Unavailable(Box::new(late))),
    }
}

/// Takes the steps that are missing.
async fn migrate(database: &Database, schema: &str) -> Result<(), StoreError> {
    // A connection of its own, without the limits of the others.
    let options = database.connect_options().options([("statement_timeout", "0")]);
    let mut connection = options.connect().await.map_err(failure)?;
    let step = |number, name: &'static str, sql: &'static str| {
        Migration::new(number, name.into(), MigrationType::Simple, sql.into_sql_str(), false)
    };
    // A step is never changed once it was released; new ones are added at the end.
    let mut migrator =
        Migrator::with_migrations(vec![step(1, "tables", include_str!("schema.sql"))]);
    // The name was checked: it needs no quotes.
    migrator.create_schemas = vec![schema.to_owned().into()].into();
    migrator.dangerous_set_table_name(format!("{schema}.migrations"));
    migrator.run_direct(None, &mut connection, false).await.map_err(migration_failure)?;
    connection.close().await.map_err(failure)
}

/// Distinguishes a schema that this version cannot use from a database that does not work.
fn migration_failure(error: MigrateError) -> StoreError {
    match error {
        // The schema has steps that are not known here, or another first step.
        MigrateError::VersionMismatch(_) | MigrateError::VersionMissing(_) => StoreError::Invalid(
            "a schema whose tables were made by an unreleased or a newer version (name \
                 another schema, or drop this one if nothing in it is needed)",
        ),
        error => StoreError::Unavailable(Box::new(error)),
    }
}
