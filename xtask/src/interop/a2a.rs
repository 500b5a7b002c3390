//! Official A2A clients against our server, and our client against official servers:
//! `interop/a2a`.

mod faults;
mod matrix;
mod table;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use anyhow::{Context, Result, bail};

use super::{LIMIT, Places, Protocol, Score, Server, Suite, install_js, install_requirements};
use crate::tools;

use matrix::Matrix;
use table::{CLIENTS, SERVERS, Table};

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "a2a",
    packages: &["oxikit-interop-a2a-app", "oxikit-interop-a2a-client"],
    suites: &[
        Suite { name: "a2a/official-clients", needs: &["npm", "python3"], run: official_clients },
        Suite { name: "a2a/official-servers", needs: &["npm", "python3"], run: official_servers },
    ],
};

/// Versions of the client of JavaScript, which are installed side by side.
const JS_CLIENTS: [&str; 4] = ["0.3.4", "0.3.14", "1.3.0", "1.3.0 as 0.3"];
const JS_SERVERS: [&str; 2] = ["0.3.14", "1.3.0"];

/// The agents in the order in which the programs of cases are told their addresses.
const AGENTS: [&str; 3] = ["script", "reply", "locked"];

/// A program of cases with its name.
type Program = (String, Command);

fn official_clients(places: &Places) -> Result<Score> {
    install_js()?;
    let pythons = install_py(&places.scratch)?;
    build_rust(places)?;
    let receiver = places.start(&mut places.program("receiver"), "receiver")?;
    let mut urls = vec![receiver.url.clone()];
    // A server for each agent, which is the first one there: gRPC of 0.3 cannot name another.
    let mut apps = Vec::new();
    for agent in AGENTS {
        let app = places.start(places.program("app").arg(agent), &format!("app-{agent}"))?;
        urls.push(format!("{}/a2a/{agent}", app.url));
        apps.push(app);
    }
    let programs = clients(places, &pythons, &urls);
    matrix(places, &CLIENTS, programs)
}

fn official_servers(places: &Places) -> Result<Score> {
    install_js()?;
    let pythons = install_py(&places.scratch)?;
    let receiver = places.start(&mut places.program("receiver"), "receiver")?;
    let servers = servers(places, &pythons)?;
    let mut programs = Vec::new();
    for (name, binding) in SERVERS.columns {
        let (server, is_older) = match name.strip_suffix(" as 0.3") {
            Some(server) => (server, true),
            None => (*name, name.contains(" 0.3")),
        };
        let found = servers.iter().find(|(name, _)| name == server);
        let (_, server) = found.with_context(|| format!("no server is called {server}"))?;
        let mut client = places.program("client");
        let version = if is_older { "0.3" } else { "1.0" };
        client.args([name, binding, version, &server.url, &receiver.url]);
        programs.push((format!("client-{name}-{binding}").replace(' ', "-"), client));
    }
    matrix(places, &SERVERS, programs)
}

/// Runs the programs of cases and prints the matrix of their outcomes.
fn matrix(places: &Places, table: &'static Table, programs: Vec<Program>) -> Result<Score> {
    // At the same time, because a case that never ends takes its whole timeout.
    let output: Result<String> = thread::scope(|scope| {
        let run = |(name, mut cases): Program| scope.spawn(move || run(places, &mut cases, &name));
        let running: Vec<_> = programs.into_iter().map(run).collect();
        running.into_iter().map(|it| it.join().expect("the thread does not panic")).collect()
    });
    let matrix = Matrix::read(table, &output?)?;
    println!("\n{matrix}");
    Ok(matrix.score())
}

/// The programs of cases, one for each client. They are told the addresses.
fn clients(places: &Places, pythons: &[PathBuf; 2], urls: &[String]) -> Vec<Program> {
    let mut programs = Vec::new();
    for version in JS_CLIENTS {
        let mut cases = Command::new("node");
        cases.args(["cases.mjs", version]).args(urls).current_dir(places.sources.join("js"));
        programs.push((format!("js-{}", version.replace(' ', "-")), cases));
    }
    let [py0, py1] = pythons;
    for (name, python, version) in
        [("py-0.3", py0, None), ("py-1", py1, None), ("py-1-as-0.3", py1, Some("0.3"))]
    {
        let mut cases = python_command(places, python, "cases.py");
        cases.args(urls).args(version);
        programs.push((name.to_owned(), cases));
    }
    let mut cases = places.program("rust");
    cases.args(urls);
    programs.push(("rust".to_owned(), cases));
    programs
}

/// Starts the official servers. Returns each with its name in the matrix.
fn servers(places: &Places, [py0, py1]: &[PathBuf; 2]) -> Result<Vec<(String, Server)>> {
    let mut servers = Vec::new();
    for version in JS_SERVERS {
        let mut server = Command::new("node");
        server.args(["server.mjs", version]).current_dir(places.sources.join("js"));
        servers.push((format!("js {version}"), server));
    }
    for (name, python) in [("py 0.3.26", py0), ("py 1.3.0", py1)] {
        servers.push((name.to_owned(), python_command(places, python, "server.py")));
    }
    let start = |(name, mut command): Program| {
        let server = places.start(&mut command, &format!("server-{}", name.replace(' ', "-")))?;
        Ok((name, server))
    };
    servers.into_iter().map(start).collect()
}

fn python_command(places: &Places, python: &Path, script: &str) -> Command {
    let mut command = Command::new(python);
    command.arg(script).current_dir(places.sources.join("py"));
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

/// Runs the cases of one client. Returns its lines.
fn run(places: &Places, cases: &mut Command, name: &str) -> Result<String> {
    let (status, output) = tools::tee(places.prepare(cases, name)?, LIMIT)?;
    if !status.success() {
        bail!("the cases of {name} ended early ({status}); see {}", places.log(name).display());
    }
    Ok(output)
}

/// Builds the program of the Rust client, which is a workspace of its own, into our target folder.
fn build_rust(places: &Places) -> Result<()> {
    let mut build = tools::cargo(["build", "--quiet", "--locked", "--manifest-path"]);
    build.arg(places.sources.join("rust/Cargo.toml"));
    build.env("CARGO_TARGET_DIR", places.bins.parent().context("it is a folder of the target")?);
    tools::run(&mut build)
}

/// Installs the packages of Python, unless they are installed. Returns the interpreters of 0.3 and
/// 1.
pub(super) fn install_py(scratch: &Path) -> Result<[PathBuf; 2]> {
    let folder = tools::root().join("interop/a2a/py");
    let install = |version| {
        let requirements = folder.join(format!("requirements-{version}.txt"));
        install_requirements(&scratch.join(format!("a2a-py-{version}")), &requirements)
    };
    Ok([install("0.3")?, install("1")?])
}

impl Places {
    /// A program of ours, `oxikit-interop-a2a-NAME`.
    fn program(&self, name: &str) -> Command {
        Command::new(self.bins.join(format!("oxikit-interop-a2a-{name}")))
    }
}
