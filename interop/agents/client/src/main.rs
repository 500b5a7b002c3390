//! oxikit's client against the agents of the official express server,
//! `../js/agents-app.cjs`. Prints `ok name` or `FAILED name: why` for every case.
//!
//! `oxikit-interop-agents-client http://127.0.0.1:PORT`

#![expect(clippy::print_stdout, reason = "the report is what it is for")]

mod cases;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    let base = std::env::args().nth(1).context("say where the server is")?;
    let mut has_failed = false;
    for (name, case) in cases::all(&base) {
        let limit = Duration::from_secs(10);
        let result = match tokio::time::timeout(limit, case).await {
            Ok(result) => result,
            Err(_) => Err(anyhow::anyhow!("it took more than 10 s")),
        };
        match result {
            Ok(()) => println!("ok {name}"),
            Err(error) => {
                has_failed = true;
                println!("FAILED {name}: {}", format!("{error:#}").replace('\n', " "));
            }
        }
    }
    Ok(if has_failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
