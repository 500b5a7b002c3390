//! Runs the cases: `oxikit-interop-toolbox-cases TOOLBOX FOLDER`, with the program of Toolbox and the
//! folder of its configurations; `OXIKIT_TEST_POSTGRES` is the URL of an empty database. Prints
//! `ok name` or `FAILED name: why` for each case.

mod cases;
mod server;

use std::path::PathBuf;

use anyhow::{Context, Result};

use server::Toolbox;

#[tokio::main]
async fn main() -> Result<()> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let program = arguments.next().context("the first argument is the program of Toolbox")?;
    let folder = arguments.next().context("the second argument is the folder of its files")?;
    let database = std::env::var("OXIKIT_TEST_POSTGRES").context("OXIKIT_TEST_POSTGRES")?;

    let postgres = Toolbox::over_postgres(&program, &folder, &database).await?;
    let mut failed = cases::run("postgres", &postgres).await;
    let sqlite = Toolbox::over_sqlite(&program, &folder).await?;
    failed += cases::run("sqlite", &sqlite).await;
    std::process::exit(i32::from(failed > 0));
}
