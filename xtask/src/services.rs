//! Servers that tests need. Each runs on a free loopback port with an empty database, and ends with
//! the process that started it.

mod install;
mod keeper;
mod postgres;

pub(crate) use postgres::{Postgres, run};

use std::process::Command;

use anyhow::Result;

/// Starts a PostgreSQL server for the caller alone. It is stopped and removed when the value is
/// dropped, and also when this process is killed.
pub(crate) fn postgres() -> Result<Postgres> {
    Postgres::launch()
}

/// Sets the environment variables with the URL of the server, and with the program that starts
/// another one, which tests may freeze and stop.
pub(crate) fn hand_over(command: &mut Command, server: &Postgres) -> Result<()> {
    command.env("OXIKIT_TEST_POSTGRES", server.url());
    command.env("OXIKIT_TEST_XTASK", std::env::current_exe()?);
    Ok(())
}
