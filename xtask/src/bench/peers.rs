//! The programs that are measured: how they are had, started and stopped.

use std::fs::File;
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::{metadata, tools};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Peer {
    Floor,
    /// The floor with JSON objects that keep the order of their keys, as ours do.
    FloorOrdered,
    Oxikit,
    GenkitJs,
    GenkitPython,
}

impl Peer {
    pub(super) const ALL: [Self; 5] =
        [Self::Floor, Self::FloorOrdered, Self::Oxikit, Self::GenkitJs, Self::GenkitPython];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Floor => "floor",
            Self::FloorOrdered => "floor, ordered",
            Self::Oxikit => "oxikit",
            Self::GenkitJs => "Genkit JS",
            Self::GenkitPython => "Genkit Python",
        }
    }

    /// Installs or builds it.
    pub(super) fn prepare(self) -> Result<()> {
        match self {
            Self::Floor => build_floor(&[]),
            Self::FloorOrdered => build_floor(&["--features=ordered", "--bin=floor-ordered"]),
            Self::Oxikit => tools::run(&mut tools::cargo([
                "build",
                "--release",
                "--quiet",
                "--package=oxikit-bench",
            ])),
            Self::GenkitJs => install_js(),
            Self::GenkitPython => install_python(),
        }
    }

    /// What starts it; it listens on `$PORT`.
    pub(super) fn program(self) -> Result<PathBuf> {
        Ok(match self {
            Self::Floor => floor_target().join("release/floor"),
            Self::FloorOrdered => floor_target().join("release/floor-ordered"),
            Self::Oxikit => metadata::target_dir()?.join("release/oxikit-bench"),
            Self::GenkitJs => dir("genkit-express").join("start.sh"),
            Self::GenkitPython => dir("genkit-python").join("start.sh"),
        })
    }
}

/// The load client, once the floor is built.
pub(super) fn load_client() -> PathBuf {
    floor_target().join("release/load")
}

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

fn install_js() -> Result<()> {
    let dir = dir("genkit-express");
    // npm writes this file when it is done.
    if dir.join("node_modules/.package-lock.json").exists() {
        return Ok(());
    }
    let mut npm = Command::new("npm");
    npm.args(["ci", "--no-audit", "--no-fund", "--loglevel=error"]);
    tools::run(npm.current_dir(dir))
}

fn install_python() -> Result<()> {
    let dir = dir("genkit-python");
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

/// A peer at work on a loopback port of its own; stopped when dropped.
#[derive(Debug)]
pub(super) struct Server {
    child: Child,
    pub(super) port: u16,
}

impl Server {
    pub(super) fn start(peer: Peer, variables: &[(&str, &str)]) -> Result<Self> {
        let port = free_port()?;
        let log = out_dir()?.join(format!("{}.log", peer.name().replace([',', ' '], "-")));
        let log = File::create(log)?;
        // Ten thousand streams need as many files; `exec` keeps the process id.
        let child = Command::new("sh")
            .args(["-c", "ulimit -n 20000; exec \"$0\""])
            .arg(peer.program()?)
            .env("PORT", port.to_string())
            .envs(variables.iter().copied())
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

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself; none of them has anything to save.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// A port that was free a moment ago, so that two runs do not meet.
pub(super) fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// Where logs and single runs are kept.
pub(super) fn out_dir() -> Result<PathBuf> {
    let out = tools::root().join("bench/out");
    std::fs::create_dir_all(&out)?;
    Ok(out)
}
