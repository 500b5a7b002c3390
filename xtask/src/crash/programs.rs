//! Starts and controls the programs of a crash test as processes: servers, clients and checkers,
//! applications and their managers.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::{interop, metadata, tools};

/// Timeout for the start of a server, which opens its store first.
const START: Duration = Duration::from_secs(30);

/// Raises the limit of open files to the maximum: a thousand clients need a thousand sockets.
const SCRIPT: &str = r#"ulimit -n "$(ulimit -Hn)"; exec "$@""#;

/// The path of the programs, and the folder that they write to.
pub(super) struct Programs {
    program: PathBuf,
    folder: PathBuf,
}

impl Programs {
    /// Builds the programs, and empties the folder with this name.
    pub(super) fn build(name: &str) -> Result<Self> {
        Self::build_with(name, &[])
    }

    /// Builds the programs, and those of other packages.
    pub(super) fn build_with(name: &str, others: &[&str]) -> Result<Self> {
        tools::build(&[&["oxikit-crash"], others].concat())?;
        let target = metadata::target_dir()?;
        let folder = target.join("crash").join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(&folder)?;
        Ok(Self { program: target.join("debug/oxikit-crash"), folder })
    }

    pub(super) fn path(&self, file: &str) -> PathBuf {
        self.folder.join(file)
    }

    /// Another program that was built.
    pub(super) fn other(&self, name: &str) -> PathBuf {
        self.program.with_file_name(name)
    }

    /// Starts a server and waits until it listens.
    pub(super) fn serve(&self, store: &str, port: u16, options: &[&str]) -> Result<Server> {
        self.serve_by(self.command("server")?, store, port, options)
    }

    /// Starts a server with a prepared command.
    pub(super) fn serve_by(
        &self,
        mut command: Command,
        store: &str,
        port: u16,
        options: &[&str],
    ) -> Result<Server> {
        command.args(["--store", store, "--port", &port.to_string()]).args(options);
        let process = Process::start(&mut command)?;
        let line = process.line(START).with_context(|| {
            format!("the server did not start; see {}", self.path("server.log").display())
        })?;
        let url = line
            .strip_prefix("listening on ")
            .with_context(|| format!("the server printed {line:?}"))?;
        Ok(Server { url: url.to_owned(), process })
    }

    /// Starts clients that send turns to these servers. `sessions` is the prefix of their session
    /// ids.
    pub(super) fn talk(
        &self,
        name: &str,
        sessions: &str,
        clients: usize,
        servers: &[&Server],
        options: &[&str],
    ) -> Result<Clients> {
        let urls: Vec<_> = servers.iter().map(|server| &*server.url).collect();
        let mut command = self.command("clients")?;
        command.args(["--name", name, "--sessions", sessions, "--clients", &clients.to_string()]);
        command.args(["--urls", &urls.join(",")]).args(options);
        command.arg("--log").arg(self.seen(name));
        Ok(Clients(Process::start(&mut command)?))
    }

    /// Compares the turns that these clients saw acknowledged with the store.
    pub(super) fn check(&self, store: &str, names: &[&str]) -> Result<Findings> {
        let logs: Vec<_> = names.iter().map(|name| self.seen(name)).collect();
        let logs: Vec<_> = logs.iter().map(|log| log.to_string_lossy()).collect();
        let mut command = self.command("check")?;
        command.args(["--store", store, "--log", &logs.join(",")]).stderr(Stdio::inherit());
        let output = command.stdin(Stdio::null()).output()?;
        let findings = Findings::read(&String::from_utf8_lossy(&output.stdout))?;
        if findings.is_good() != output.status.success() {
            bail!("the checker says {findings}, but ended with {}", output.status);
        }
        Ok(findings)
    }

    /// Number of turns that these clients have seen acknowledged so far.
    pub(super) fn count_seen(&self, name: &str) -> Result<usize> {
        Ok(fs::read_to_string(self.seen(name))?.lines().count())
    }

    fn seen(&self, name: &str) -> PathBuf {
        self.path(&format!("{name}.seen"))
    }

    /// A command of one of the programs, with its standard error in a file.
    pub(super) fn command(&self, name: &str) -> Result<Command> {
        self.command_with_log(name, &format!("{name}.log"))
    }

    pub(super) fn command_with_log(&self, name: &str, log: &str) -> Result<Command> {
        let log = self.path(log);
        let mut command = Command::new("sh");
        command.args(["-c", SCRIPT, "crash"]).arg(&self.program).arg(name);
        for proxy in interop::PROXIES {
            command.env_remove(proxy);
        }
        command.stderr(File::options().create(true).append(true).open(log)?);
        Ok(command)
    }
}

/// A free port outside of the range that the system assigns to outgoing connections. Otherwise a
/// client that connects to a killed server might get the port of the server and connect to itself.
pub(super) fn free_port(rng: &mut fastrand::Rng) -> Result<u16> {
    (0..100)
        .map(|_| rng.u16(20_000..32_000))
        .find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok())
        .context("no port is free")
}

/// A process that is controlled with lines on its standard input and output. It is killed when this
/// is dropped, and ends by itself when its standard input ends.
pub(crate) struct Process {
    child: Child,
    commands: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Process {
    pub(super) fn start(command: &mut Command) -> Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().context("cannot start a program of the crash test")?;
        let stdout = child.stdout.take().context("stdout is piped")?;
        let commands = child.stdin.take();
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            // The output is read to its end, so that the process never blocks on a full pipe.
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                _ = sender.send(line);
            }
        });
        Ok(Self { child, commands, lines })
    }

    pub(crate) fn line(&self, limit: Duration) -> Result<String> {
        Ok(self.lines.recv_timeout(limit)?)
    }

    /// Sends a command.
    pub(super) fn tell(&mut self, what: &str) -> Result<()> {
        let commands = self.commands.as_mut().context("the process has no standard input")?;
        Ok(writeln!(commands, "{what}")?)
    }

    fn signal(&self, signal: &str) -> Result<()> {
        tools::read(Command::new("kill").args([signal, &self.child.id().to_string()])).map(drop)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // SIGKILL. An error means that the process has already ended.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// A server. Dropping it kills it.
pub(super) struct Server {
    url: String,
    process: Process,
}

impl Server {
    /// Kills the server (SIGKILL) and waits for its end.
    pub(super) fn kill(self) {
        drop(self);
    }

    /// Suspends the process (SIGSTOP).
    pub(super) fn freeze(&self) -> Result<()> {
        self.process.signal("-STOP")
    }

    pub(super) fn thaw(&self) -> Result<()> {
        self.process.signal("-CONT")
    }
}

/// A process of clients.
pub(super) struct Clients(Process);

impl Clients {
    /// Reports a state of their server, or asks for their counters.
    pub(super) fn tell(&mut self, what: &str) -> Result<()> {
        self.0.tell(what)
    }

    /// The next line of the clients: the number of active turns, the delays after a restart, or the
    /// summary at the end.
    pub(super) fn answer(&self, limit: Duration) -> Result<Value> {
        let line = self.0.line(limit).context("not every client continued in time")?;
        Ok(serde_json::from_str(&line)?)
    }

    /// Waits until the clients have completed their turns. Returns their summary.
    pub(super) fn end(self, limit: Duration) -> Result<Value> {
        self.answer(limit)
    }

    pub(super) fn stop(mut self, limit: Duration) -> Result<Value> {
        self.tell("stop")?;
        self.end(limit)
    }
}

/// The findings of the checker.
pub(super) struct Findings(Value);

impl Findings {
    fn read(output: &str) -> Result<Self> {
        let line = output.lines().last().context("the checker printed nothing")?;
        Ok(Self(serde_json::from_str(line)?))
    }

    pub(super) fn count(&self, what: &str) -> u64 {
        self.0[what].as_u64().unwrap_or_default()
    }

    pub(super) fn is_good(&self) -> bool {
        let faults = ["lost", "unreadable", "mixed"].map(|what| self.count(what));
        self.count("acknowledged") > 0 && faults == [0, 0, 0]
    }

    /// Fails if anything is wrong.
    pub(super) fn good(self) -> Result<Self> {
        if !self.is_good() {
            bail!("{self}");
        }
        Ok(self)
    }
}

impl std::fmt::Display for Findings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let parts: Vec<_> = ["acknowledged", "lost", "unreadable", "mixed"]
            .iter()
            .map(|what| format!("{what} {}", self.count(what)))
            .collect();
        f.write_str(&parts.join(", "))
    }
}
