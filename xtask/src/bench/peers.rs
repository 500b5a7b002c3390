//! The programs that are measured: builds or installs, starts and stops them.

use std::fs::File;
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::programs;
use crate::tools;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Peer {
    Floor,
    /// The floor with JSON objects that keep the order of their keys, as ours do.
    FloorOrdered,
    /// The floor that has each edit on the disk before it is answered, as ours does.
    FloorStored,
    Oxikit,
    /// The same program with the databases in it.
    OxikitStores,
    GenkitJs,
    GenkitPython,
    /// Our developer tools: the program `oxikit`.
    Tools,
    OfficialManager,
    OfficialTelemetry,
    /// Agents on the official packages of A2A.
    A2aJs03,
    A2aJs1,
    A2aPython,
    /// Our prompt manager: the program `oxikit`.
    Prompts,
    /// The live rooms of a prompt manager without any refinement.
    NaivePrompts,
}

impl Peer {
    pub(super) const ALL: [Self; 15] = [
        Self::Floor,
        Self::FloorOrdered,
        Self::FloorStored,
        Self::Oxikit,
        Self::OxikitStores,
        Self::GenkitJs,
        Self::GenkitPython,
        Self::Tools,
        Self::OfficialManager,
        Self::OfficialTelemetry,
        Self::A2aJs03,
        Self::A2aJs1,
        Self::A2aPython,
        Self::Prompts,
        Self::NaivePrompts,
    ];
    /// One of them takes part in a suite, at most.
    pub(super) const OURS: [Self; 4] =
        [Self::Oxikit, Self::OxikitStores, Self::Tools, Self::Prompts];
    /// The figure that ours is compared with; at most one of them is set.
    pub(super) const OFFICIAL: [Self; 3] =
        [Self::GenkitJs, Self::OfficialManager, Self::OfficialTelemetry];

    /// Goals mention these by name.
    pub(super) const NAMED: [Self; 4] =
        [Self::A2aJs03, Self::A2aJs1, Self::A2aPython, Self::NaivePrompts];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Floor => "floor",
            Self::FloorOrdered => "floor, ordered",
            Self::FloorStored => "floor, stored",
            Self::Oxikit => "oxikit",
            Self::OxikitStores => "oxikit with stores",
            Self::GenkitJs => "Genkit JS",
            Self::GenkitPython => "Genkit Python",
            Self::Tools => "oxikit start",
            Self::OfficialManager => "official manager",
            Self::OfficialTelemetry => "official telemetry",
            Self::A2aJs03 => "a2a-js 0.3",
            Self::A2aJs1 => "a2a-js 1",
            Self::A2aPython => "a2a-python 0.3",
            Self::Prompts => "oxikit prompts",
            Self::NaivePrompts => "FastAPI",
        }
    }

    /// Whether a run goes on without it.
    pub(super) fn may_be_absent(self) -> bool {
        self == Self::GenkitPython || Self::OFFICIAL.contains(&self) || Self::NAMED.contains(&self)
    }

    /// Installs or builds it.
    pub(super) fn prepare(self) -> Result<()> {
        match self {
            Self::Floor => build_floor(&[]),
            Self::FloorOrdered => build_floor(&["--features=ordered", "--bin=floor-ordered"]),
            Self::FloorStored => build_floor(&["--features=stored", "--bin=floor-stored"]),
            Self::Oxikit | Self::OxikitStores | Self::Tools | Self::Prompts => {
                programs::prepare(self.our_programs())
            }
            Self::GenkitJs => install_js("genkit-express"),
            Self::OfficialManager => install_js("genkit-manager"),
            Self::OfficialTelemetry => install_js("genkit-telemetry"),
            Self::GenkitPython => install_python("genkit-python"),
            Self::A2aJs03 => install_js("a2a-js-0.3"),
            Self::A2aJs1 => install_js("a2a-js-1"),
            Self::A2aPython => install_python("a2a-python-0.3"),
            Self::NaivePrompts => install_python("prompt-room"),
        }
    }

    /// The programs of this repository that it needs, the one that is measured first. They are
    /// built together, so that their dependencies are built once.
    pub(super) fn our_programs(self) -> &'static [&'static str] {
        match self {
            Self::Oxikit => &["oxikit-bench"],
            Self::OxikitStores => &["oxikit-bench-stores"],
            Self::Tools | Self::Prompts => &["oxikit", TRACE_FILLER],
            _ => &[],
        }
    }

    /// The command that starts it. It listens on `$PORT`.
    pub(super) fn program(self) -> Result<PathBuf> {
        Ok(match self {
            Self::Floor => floor_target().join("release/floor"),
            Self::FloorOrdered => floor_target().join("release/floor-ordered"),
            Self::FloorStored => floor_target().join("release/floor-stored"),
            Self::Oxikit | Self::OxikitStores | Self::Tools | Self::Prompts => {
                programs::path(self.our_programs()[0])?
            }
            Self::GenkitJs => dir("genkit-express").join("start.sh"),
            Self::OfficialManager => dir("genkit-manager").join("start.sh"),
            Self::OfficialTelemetry => dir("genkit-telemetry").join("start.sh"),
            Self::GenkitPython => dir("genkit-python").join("start.sh"),
            Self::A2aJs03 => dir("a2a-js-0.3").join("start.sh"),
            Self::A2aJs1 => dir("a2a-js-1").join("start.sh"),
            Self::A2aPython => dir("a2a-python-0.3").join("start.sh"),
            Self::NaivePrompts => dir("prompt-room").join("start.sh"),
        })
    }
}

/// The load client, once the floor is built.
pub(super) fn load_client() -> PathBuf {
    floor_target().join("release/load")
}

/// The program that fills a database with traces, once our tools are built.
pub(super) fn trace_filler() -> Result<PathBuf> {
    programs::path(TRACE_FILLER)
}

const TRACE_FILLER: &str = "oxikit-bench-traces";

fn dir(peer: &str) -> PathBuf {
    tools::root().join("bench/peers").join(peer)
}

fn floor_target() -> PathBuf {
    dir("rust-floor").join("target")
}

fn build_floor(options: &[&str]) -> Result<()> {
    let mut command = tools::cargo(["build", "--release", "--quiet", "--locked"]);
    command.args(options).current_dir(dir("rust-floor"));
    // Its own folder, so that it never mixes with what the workspace builds.
    tools::run(command.env("CARGO_TARGET_DIR", floor_target()))
}

fn install_js(peer: &str) -> Result<()> {
    let dir = dir(peer);
    // npm writes this file when it is done.
    if dir.join("node_modules/.package-lock.json").exists() {
        return Ok(());
    }
    let mut npm = Command::new("npm");
    npm.args(["ci", "--no-audit", "--no-fund", "--loglevel=error"]);
    tools::run(npm.current_dir(dir))
}

fn install_python(peer: &str) -> Result<()> {
    let dir = dir(peer);
    let done = dir.join("venv/installed");
    let wanted = std::fs::read_to_string(dir.join("requirements.txt"))?;
    if std::fs::read_to_string(&done).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    tools::run(Command::new("python3").args(["-m", "venv", "venv"]).current_dir(&dir))?;
    let mut pip = Command::new("venv/bin/pip");
    pip.args(["install", "--quiet", "--disable-pip-version-check", "-r", "requirements.txt"]);
    tools::run(pip.current_dir(&dir))?;
    Ok(std::fs::write(done, wanted)?)
}

/// A running peer on its own loopback port. It is stopped when this is dropped.
#[derive(Debug)]
pub(super) struct Server {
    child: Child,
    pub(super) port: u16,
}

impl Server {
    pub(super) fn start(peer: Peer, variables: &[(&str, &str)]) -> Result<Self> {
        // A manager has two more ports, which follow.
        let port = if peer == Peer::OfficialManager { free_ports(3)? } else { free_port()? };
        Self::launch(peer, port, |command| {
            command.env("PORT", port.to_string()).envs(variables.iter().copied());
        })
    }

    /// Starts the program of a peer, with what `set` adds to the command, and waits until it
    /// listens on this port.
    pub(super) fn launch(peer: Peer, port: u16, set: impl FnOnce(&mut Command)) -> Result<Self> {
        let log = out_dir()?.join(format!("{}.log", peer.name().replace([',', ' '], "-")));
        let log = File::create(log)?;
        // Ten thousand streams need as many files; `exec` keeps the process id.
        let mut command = Command::new("sh");
        command.args(["-c", "ulimit -n 20000; exec \"$0\" \"$@\""]).arg(peer.program()?);
        set(&mut command);
        let child = command
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .with_context(|| format!("cannot start {}", peer.name()))?;
        let mut server = Self { child, port };
        server.wait().with_context(|| format!("{} did not start", peer.name()))?;
        Ok(server)
    }

    pub(super) fn pid(&self) -> String {
        self.child.id().to_string()
    }

    fn wait(&mut self) -> Result<()> {
        let began = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            if let Some(status) = self.child.try_wait()? {
                bail!("it ended ({status}); its log is in bench/out");
            }
            if began.elapsed() > Duration::from_secs(60) {
                bail!("it did not listen within a minute; its log is in bench/out");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

impl Server {
    pub(super) fn stop(&mut self) {
        // It may have ended by itself; none of them has anything to save.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A port that was free a moment ago, so that two runs do not meet.
pub(super) fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// The first of some ports in a row that were free a moment ago.
fn free_ports(count: u16) -> Result<u16> {
    for _ in 0..100 {
        let first = TcpListener::bind("127.0.0.1:0")?;
        let port = first.local_addr()?.port();
        let Some(end) = port.checked_add(count) else { continue };
        let is_free = |port| TcpListener::bind(("127.0.0.1", port)).is_ok();
        if (port + 1..end).all(is_free) {
            return Ok(port);
        }
    }
    bail!("there are no {count} free ports in a row")
}

/// The folder of logs and single runs.
pub(super) fn out_dir() -> Result<PathBuf> {
    let out = tools::root().join("bench/out");
    std::fs::create_dir_all(&out)?;
    Ok(out)
}
