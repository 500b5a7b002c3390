//! This code against the official clients and servers, and its page in a browser.
//!
//! A suite starts a server on a free port of the loopback and runs a program of
//! cases against it, which prints `ok name` or `FAILED name: why` for each.

mod action_http;
mod agents;
mod docs_page;
mod manager;
mod reflection;

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::{conformance, metadata, tools};

/// Most suites take a few seconds; one that starts the official tools for every
/// case, most of a minute.
const LIMIT: Duration = Duration::from_secs(120);
/// A server says where it listens at once; Node needs a moment to load.
const START: Duration = Duration::from_secs(30);

/// Where a program would send what is meant for the loopback.
pub(crate) const PROXIES: [&str; 6] =
    ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];

const PROTOCOLS: [&Protocol; 5] = [
    &action_http::PROTOCOL,
    &agents::PROTOCOL,
    &docs_page::PROTOCOL,
    &reflection::PROTOCOL,
    &manager::PROTOCOL,
];

/// Suites around one application.
struct Protocol {
    /// A folder of `interop`.
    name: &'static str,
    packages: &'static [&'static str],
    suites: &'static [Suite],
}

struct Suite {
    /// The protocol's name, and its own after a slash.
    name: &'static str,
    /// The programs without which it cannot be run.
    needs: &'static [&'static str],
    run: fn(&Places) -> Result<Score>,
}

/// Where things are.
struct Places {
    protocol: &'static str,
    /// The folder of the protocol.
    sources: PathBuf,
    /// What cargo has built.
    bins: PathBuf,
    /// What is installed and written for these suites.
    scratch: PathBuf,
}

#[derive(Debug, Default, PartialEq)]
struct Score {
    passed: u32,
    failed: u32,
}

/// Runs the suites with these names, or all; answers one line per suite.
pub(crate) fn run(names: &[String]) -> Result<Vec<String>> {
    let is_wanted = |suite: &&Suite| {
        names.is_empty() || names.iter().any(|name| suite.name.starts_with(name.as_str()))
    };
    let target = metadata::target_dir()?;
    let (mut lines, mut is_whole) = (Vec::new(), true);
    for protocol in PROTOCOLS {
        let suites: Vec<_> = protocol.suites.iter().filter(is_wanted).collect();
        if suites.is_empty() {
            continue;
        }
        tools::build(protocol.packages)?;
        let places = Places {
            protocol: protocol.name,
            sources: tools::root().join("interop").join(protocol.name),
            bins: target.join("debug"),
            scratch: target.join("interop"),
        };
        fs::create_dir_all(&places.scratch)?;
        for suite in suites {
            let (line, is_good) = suite.run_at(&places)?;
            is_whole &= is_good;
            lines.push(line);
        }
    }
    if lines.is_empty() {
        bail!("there is no such suite; there are: {}", PROTOCOLS.map(|it| it.name).join(", "));
    }
    println!("\n{}", lines.join("\n"));
    if !is_whole {
        bail!("{}", lines.join(", "));
    }
    Ok(lines)
}

impl Suite {
    /// Its line, and whether all is well.
    fn run_at(&self, places: &Places) -> Result<(String, bool)> {
        if let Some(Err(why)) = self.needs.iter().map(|it| need(it)).find(Result::is_err) {
            let line = format!("{} skipped: {why:#}", self.name);
            return Ok((line, !tools::is_ci()));
        }
        println!("--- {}", self.name);
        let score = (self.run)(places).with_context(|| self.name)?;
        let line = format!("{} {}/{}", self.name, score.passed, score.passed + score.failed);
        Ok((line, score.failed == 0))
    }
}

/// Makes sure that a program is there. A browser is installed if it is missing.
fn need(program: &str) -> Result<()> {
    if tools::read(Command::new(program).arg("--version")).is_ok() {
        return Ok(());
    }
    match program {
        "chromium" => tools::install_package("chromium"),
        _ => bail!("there is no `{program}`"),
    }
}

/// Whether a suite of these could not be run here.
pub(crate) fn is_incomplete(lines: &[String]) -> bool {
    lines.iter().any(|line| conformance::is_skipped(line))
}

/// Installs what the suites need while the machine does something else. What fails
/// here is tried again, and told, by the suites.
pub(crate) fn install_ahead() -> std::thread::JoinHandle<()> {
    std::thread::spawn(|| {
        _ = install_js();
        _ = need("chromium");
        _ = metadata::target_dir().and_then(|target| install_py(&target.join("interop")));
    })
}

/// Installs the pinned packages, unless that has been done.
fn install_js() -> Result<()> {
    let dir = tools::root().join("interop");
    // npm writes this file when it is done.
    let done = dir.join("node_modules/.package-lock.json");
    if is_newer(&done, &dir.join("package-lock.json")) {
        return Ok(());
    }
    let mut npm = Command::new("npm");
    npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]);
    tools::run(npm.current_dir(dir))
}

/// The same for Python, where all protocols need the same packages; answers the
/// interpreter that has them.
fn install_py(scratch: &Path) -> Result<PathBuf> {
    let requirements = tools::root().join("interop/action-http/py/requirements.txt");
    install_requirements(&scratch.join("py"), &requirements)
}

/// Installs these packages into an environment of their own, unless that has been done.
pub(crate) fn install_requirements(venv: &Path, requirements: &Path) -> Result<PathBuf> {
    let (python, done) = (venv.join("bin/python"), venv.join("installed"));
    if is_newer(&done, requirements) && python.exists() {
        return Ok(python);
    }
    tools::run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(venv))?;
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"]);
    tools::run(pip.arg(requirements))?;
    fs::write(done, "")?;
    Ok(python)
}

fn is_newer(file: &Path, source: &Path) -> bool {
    let changed = |path: &Path| path.metadata().and_then(|metadata| metadata.modified()).ok();
    changed(file).is_some_and(|time| Some(time) >= changed(source))
}

impl Places {
    /// Starts a server and waits until it says `listening on URL`.
    fn start(&self, command: &mut Command, name: &str) -> Result<Server> {
        let mut child = self
            .prepare(command, name)?
            .env("PORT", "0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start `{name}`"))?;
        let stdout = child.stdout.take().context("stdout is piped")?;
        // Ended from here on, however this goes on.
        let mut server = Server { child, url: String::new() };
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            // Read to its end, so that it never waits for us.
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                _ = sender.send(line);
            }
        });
        let line = lines
            .recv_timeout(START)
            .with_context(|| format!("`{name}` did not start; see {}", self.log(name).display()))?;
        let url =
            line.strip_prefix("listening on ").with_context(|| format!("it said {line:?}"))?;
        server.url = url.to_owned();
        Ok(server)
    }

    /// Runs a program of cases and counts them.
    fn score(&self, command: &mut Command, name: &str) -> Result<Score> {
        let (status, output) = tools::tee(self.prepare(command, name)?, LIMIT)?;
        let score = Score::of(&output);
        if score.passed == 0 || status.success() != (score.failed == 0) {
            bail!("the cases ended early ({status}); see {}", self.log(name).display());
        }
        Ok(score)
    }

    /// Standard error goes to a file: clients complain there about errors that
    /// the cases want.
    fn prepare<'a>(&self, command: &'a mut Command, name: &str) -> Result<&'a mut Command> {
        for proxy in PROXIES {
            command.env_remove(proxy);
        }
        Ok(command.env_remove("GENKIT_ENV").stderr(File::create(self.log(name))?))
    }

    fn log(&self, name: &str) -> PathBuf {
        self.scratch.join(format!("{}-{name}.log", self.protocol))
    }
}

/// A server that ends with its suite.
struct Server {
    child: Child,
    url: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

impl Score {
    fn of(output: &str) -> Self {
        let count = |word: &str| {
            let same = output.lines().filter(|line| line.starts_with(word));
            u32::try_from(same.count()).unwrap_or(u32::MAX)
        };
        Self { passed: count("ok "), failed: count("FAILED ") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_counted_by_their_first_word() {
        let output = "ok run: a\nnoise ok\nFAILED run: b: expected ok\nok run: c\n";
        assert_eq!(Score::of(output), Score { passed: 2, failed: 1 });
    }
}
