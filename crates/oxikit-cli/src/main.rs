//! The `oxikit` binary. All code is in the library, so that tests can use it.

use std::process::ExitCode;

/// The program needs Unix: it ends applications by their process group.
#[cfg(unix)]
fn main() -> ExitCode {
    oxikit_cli::main()
}

#[cfg(not(unix))]
fn main() -> ExitCode {
    eprintln!("error: oxikit runs on Linux and macOS only");
    ExitCode::from(4)
}
