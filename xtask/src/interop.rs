//! `cargo xtask interop`: runs this code against the official clients and servers, and its pages in
//! a browser.
//!
//! A suite starts a server on a free port of the loopback and runs a program of
//! cases against it, which prints `ok name` or `FAILED name: why` for each. The suite of A2A runs
//! one program for each client, and for each server, and prints matrices.

mod a2a;
mod action_http;
mod agents;
mod docs_page;
mod manager;
mod prompts_page;
mod reflection;
mod studio;
mod toolbox;
mod web_page;

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::{conformance, metadata, tools};

/// Timeout of a suite. Most take a few seconds; one that starts the official tools for every case
/// takes most of a minute.
const LIMIT: Duration = Duration::from_secs(300);
/// Timeout for the start of a server. Node needs a moment to load.
const START: Duration = Duration::from_secs(30);

/// Environment variables of HTTP proxies, which must not receive loopback requests.
pub(crate) const PROXIES: [&str; 6] =
    ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];

const PROTOCOLS: [&Protocol; 10] = [
    &a2a::PROTOCOL,
    &action_http::PROTOCOL,
    &agents::PROTOCOL,
    &docs_page::PROTOCOL,
    &prompts_page::PROTOCOL,
    &reflection::PROTOCOL,
    &studio::PROTOCOL,
    &toolbox::PROTOCOL,
    &web_page::PROTOCOL,
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
    /// The name of the protocol, a slash, and the name of the suite.
    name: &'static str,
    /// Programs that the suite needs.
    needs: &'static [&'static str],
    run: fn(&Places) -> Result<Score>,
}

/// The folders that are used.
struct Places {
    protocol: &'static str,
    /// The folder of the protocol.
    sources: PathBuf,
    /// The programs that cargo has built.
    bins: PathBuf,
    /// Installed packages, logs and reports.
    scratch: PathBuf,
}

#[derive(Debug, Default, PartialEq)]
struct Score {
    passed: u32,
    failed: u32,
}

/// Runs the suites with these names, or all. Returns one line per suite.
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
    /// Runs the suite. Returns its line, and whether it passed.
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

/// Fails if a program is missing. A missing browser is installed.
fn need(program: &str) -> Result<()> {
    if tools::read(Command::new(program).arg("--version")).is_ok() {
        return Ok(());
    }
    match program {
        "chromium" => tools::install_package("chromium"),
        _ => bail!("the program `{program}` is not installed"),
    }
}

/// Installs Chromium and the package that drives it, for programs other than the suites.
pub(crate) fn prepare_browser() -> Result<()> {
    install_js()?;
    need("chromium")
}

/// The names of all suites, such as `web-page/views`.
pub(crate) fn suite_names() -> Vec<&'static str> {
    PROTOCOLS.iter().flat_map(|protocol| protocol.suites).map(|suite| suite.name).collect()
}

/// Whether one of these suites was skipped on this machine.
pub(crate) fn is_incomplete(lines: &[String]) -> bool {
    lines.iter().any(|line| conformance::is_skipped(line))
}

/// Installs the packages of the suites in a thread, while other steps run. The suites repeat a
/// failed installation and report its error.
pub(crate) fn install_ahead() -> std::thread::JoinHandle<()> {
    std::thread::spawn(|| {
        _ = install_js();
        _ = need("chromium");
        let Ok(target) = metadata::target_dir() else { return };
        let scratch = target.join("interop");
        _ = install_py(&scratch);
        _ = a2a::install_py(&scratch);
    })
}

/// Installs the pinned packages of JavaScript, unless they are installed.
fn install_js() -> Result<()> {
    tools::install_npm_packages(&tools::root().join("interop"))
}

/// Installs the packages of Python, which are the same for all protocols. Returns the interpreter.
fn install_py(scratch: &Path) -> Result<PathBuf> {
    let requirements = tools::root().join("interop/action-http/py/requirements.txt");
    install_requirements(&scratch.join("py"), &requirements)
}

/// Installs these packages into a virtual environment, unless they are installed.
pub(crate) fn install_requirements(venv: &Path, requirements: &Path) -> Result<PathBuf> {
    let (python, done) = (venv.join("bin/python"), venv.join("installed"));
    if tools::is_newer(&done, requirements) && python.exists() {
        return Ok(python);
    }
    tools::run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(venv))?;
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"]);
    tools::run(pip.arg(requirements))?;
    fs::write(done, "")?;
    Ok(python)
}

impl Places {
    /// Starts a server and waits until it prints `listening on URL`.
    fn start(&self, command: &mut Command, name: &str) -> Result<Server> {
        let mut child = self
            .prepare(command, name)?
            .env("PORT", "0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start `{name}`"))?;
        let stdout = child.stdout.take().context("stdout is piped")?;
        // From here on the process ends with this value, also on an error.
        let mut server = Server { child, url: String::new() };
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            // The output is read to its end, so that the process never blocks on a full pipe.
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                _ = sender.send(line);
            }
        });
        let line = lines
            .recv_timeout(START)
            .with_context(|| format!("`{name}` did not start; see {}", self.log(name).display()))?;
        let url = line
            .strip_prefix("listening on ")
            .with_context(|| format!("the server printed {line:?}"))?;
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

    /// Redirects standard error to a file, because clients also print errors that the cases expect.
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

/// A running server. It ends when this is dropped.
struct Server {
    child: Child,
    url: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        // An error means that the process has already ended.
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
