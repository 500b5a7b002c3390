//! Runs the cases: `oxikit-interop-toolbox-cases TOOLBOX FOLDER SCRIPT`, with the program of Toolbox,
//! the folder of its configurations, and the script of the reference server of MCP; `OXIKIT_TEST_POSTGRES` is the URL of an empty database. Prints
//! `ok name` or `FAILED name: why` for each case.

mod cases;
mod everything;
mod server;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};

use server::Toolbox;

#[tokio::main]
async fn main() -> Result<ExitCode> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let program = arguments.next().context("the first argument is the program of Toolbox")?;
    let folder = arguments.next().context("the second argument is the folder of its files")?;
    let script = arguments.next().context("the third argument is the reference server")?;
    let database = std::env::var("OXIKIT_TEST_POSTGRES").context("OXIKIT_TEST_POSTGRES")?;

    let postgres = Toolbox::over_postgres(&program, &folder, &database).await?;
    let mut failed = cases::run("postgres", &postgres).await;
    let sqlite = Toolbox::over_sqlite(&program, &folder).await?;
    failed += cases::run("sqlite", &sqlite).await;
    failed += everything::run(&script).await;
    let stored = cases::stored(&database).await;
    failed += report("studio", [("conversations outlive it in PostgreSQL", stored)]);
    // The child processes end with the values above.
    Ok(ExitCode::from(u8::from(failed > 0)))
}

/// Prints the results of cases, and returns the number of those that failed.
fn report<'a>(group: &str, results: impl IntoIterator<Item = (&'a str, Result<()>)>) -> u32 {
    let mut failed = 0;
    for (name, result) in results {
        match result {
            Ok(()) => println!("ok {group}: {name}"),
            Err(error) => {
                println!("FAILED {group}: {name}: {error:#}");
                failed += 1;
            }
        }
    }
    failed
}
