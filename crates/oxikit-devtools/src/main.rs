//! The `oxikit` command. What it does is in the library.

use std::process::ExitCode;

/// Processes are ended by the group, which only Unix knows.
#[cfg(unix)]
fn main() -> ExitCode {
    oxikit_devtools::cli::main()
}

#[cfg(not(unix))]
fn main() -> ExitCode {
    eprintln!("oxikit runs on Linux and macOS");
    ExitCode::from(4)
}
