//! `cargo xtask demo`: the developer tools with the demo application and the web page, from a
//! checkout.

use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::{metadata, tools, web};

/// The hidden argument of the process that opens the browser.
const OPENER: &str = "--opener";
/// Maximum time until the tools have written their file.
const START: Duration = Duration::from_secs(60);

/// Builds the page if its sources are newer than the build, and runs `oxikit start --demo` with
/// these arguments. With `--open` a browser shows the page.
pub(crate) fn run(args: &[String]) -> Result<ExitCode> {
    if let [first, pid] = args
        && first == OPENER
    {
        open_when_started(pid)?;
        return Ok(ExitCode::SUCCESS);
    }
    match web::need_node() {
        Ok(()) => _ = web::build_if_needed()?,
        Err(why) => println!("without the web page: {why:#}"),
    }
    tools::run(&mut tools::cargo(["build", "--package=oxikit-cli"]))?;
    if args.iter().any(|arg| arg == "--open") {
        // This process becomes the developer tools, so that Ctrl-C reaches them directly.
        let mut opener = Command::new(std::env::current_exe()?);
        opener
            .args(["demo", OPENER, &std::process::id().to_string()])
            .stdin(Stdio::null())
            .spawn()?;
    }
    let program = metadata::target_dir()?.join("debug").join("oxikit");
    let mut start = Command::new(&program);
    start.args(["start", "--demo"]).args(args.iter().filter(|arg| *arg != "--open"));
    Err(start.exec()).with_context(|| format!("cannot start {}", program.display()))
}

/// Waits until the developer tools with this process id have written their file, and lets the program
/// open their page.
fn open_when_started(pid: &str) -> Result<()> {
    let began = Instant::now();
    while began.elapsed() < START {
        if has_started(pid) {
            let program = metadata::target_dir()?.join("debug").join("oxikit");
            return tools::run(Command::new(program).arg("open"));
        }
        // The file is written by another process, which cannot be awaited.
        std::thread::sleep(Duration::from_millis(100));
    }
    bail!("the developer tools did not start; the URL of the page is in their output")
}

/// Whether the tools of this process have written their file.
fn has_started(pid: &str) -> bool {
    let text = std::fs::read_to_string(".oxikit/manager.json").unwrap_or_default();
    let file: Value = serde_json::from_str(&text).unwrap_or_default();
    file["pid"].as_u64().is_some_and(|own| own.to_string() == pid)
}
