//! Servers that tests need: started on a free port of the loopback, with nothing
//! of an earlier run inside, and gone with the chore that started them.

mod install;
mod keeper;
mod postgres;

pub(crate) use postgres::{Postgres, run};

use std::process::Command;

use anyhow::Result;

/// A PostgreSQL server of one's own, ready to be used. It is stopped and removed
/// when this is dropped, and also when this process is killed.
pub(crate) fn postgres() -> Result<Postgres> {
    Postgres::launch()
}

/// Tells the tests of a command where the server is, and which program starts
/// another one that they may freeze and stop.
pub(crate) fn hand_over(command: &mut Command, server: &Postgres) -> Result<()> {
    command.env("OXIKIT_TEST_POSTGRES", server.url());
    command.env("OXIKIT_TEST_XTASK", std::env::current_exe()?);
    Ok(())
}
