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
/// Programs that open a URL.
const BROWSERS: [&str; 2] = ["xdg-open", "open"];

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

/// Waits until the developer tools with this process id have written their URL, and opens it.
fn open_when_started(pid: &str) -> Result<()> {
    let began = Instant::now();
    while began.elapsed() < START {
        if let Some(url) = page_url(pid) {
            return open(&url);
        }
        // The file is written by another process, which cannot be awaited.
        std::thread::sleep(Duration::from_millis(100));
    }
    bail!("the developer tools did not start; the URL of the page is in their output")
}

/// The URL of the page with its token, if the tools of this process have written it.
fn page_url(pid: &str) -> Option<String> {
    let text = std::fs::read_to_string(".oxikit/manager.json").ok()?;
    let file: Value = serde_json::from_str(&text).ok()?;
    if file["pid"].as_u64()?.to_string() != pid {
        return None;
    }
    let (url, token) = (file["apiUrl"].as_str()?, file["token"].as_str()?);
    Some(format!("{}/prompts/#token={token}", url.trim_end_matches('/')))
}

fn open(url: &str) -> Result<()> {
    for browser in BROWSERS {
        let opened =
            Command::new(browser).arg(url).stdout(Stdio::null()).stderr(Stdio::null()).status();
        if opened.is_ok_and(|status| status.success()) {
            return Ok(());
        }
    }
    bail!("no program opens a browser here: open the URL that the developer tools print")
}
