//! A manager or a telemetry server at work, ours or another one, with its addresses.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::peers::{self, Peer, Server};
use crate::tools;

/// Timeout for the start and the end of a server.
const START: Duration = Duration::from_secs(60);
const END: Duration = Duration::from_secs(5);

/// Settings of our tools; others have none.
#[derive(Default)]
pub(super) struct Settings {
    pub(super) max_traces: Option<u32>,
    pub(super) max_sockets: Option<u32>,
    /// A copy of this database is used.
    pub(super) traces: Option<PathBuf>,
}

/// A server; it ends, and its folder goes, when this is dropped.
pub(super) struct ToolServer {
    /// Before `/api/runAction`.
    pub(super) api: String,
    /// The URL at which runtimes connect.
    pub(super) sockets: String,
    /// From exec to the first answer; only ours is asked.
    pub(super) ready_ms: f64,
    /// Before `/api/traces`.
    telemetry: String,
    runtimes: Option<Child>,
    process: Process,
    folder: PathBuf,
}

enum Process {
    Peer(Server),
    Ours(Child),
}

impl ToolServer {
    pub(super) fn start(peer: Peer, settings: &Settings) -> Result<Self> {
        let folder = new_folder()?;
        let started = match peer {
            Peer::Tools => Self::start_ours(&folder, settings),
            _ => Self::start_peer(peer, &folder),
        };
        if started.is_err() {
            // The data of an earlier run is not used.
            _ = std::fs::remove_dir_all(&folder);
        }
        started
    }

    fn start_peer(peer: Peer, folder: &Path) -> Result<Self> {
        let temp = folder.to_string_lossy().into_owned();
        let server = Server::start(peer, &[("TMPDIR", &temp)])?;
        let port = server.port;
        let at = |port: u16, path: &str| format!("http://127.0.0.1:{port}{path}");
        let (telemetry, sockets) = match peer {
            Peer::Floor => (at(port, "/kept"), format!("ws://127.0.0.1:{port}/ws")),
            Peer::OfficialManager => (at(port + 2, ""), format!("ws://127.0.0.1:{}", port + 1)),
            _ => (at(port, ""), String::new()),
        };
        Ok(Self {
            api: at(port, ""),
            sockets,
            ready_ms: 0.0,
            telemetry,
            runtimes: None,
            process: Process::Peer(server),
            folder: folder.to_owned(),
        })
    }

    fn start_ours(folder: &Path, settings: &Settings) -> Result<Self> {
        settings.write(folder)?;
        let log = std::fs::File::create(peers::out_dir()?.join("oxikit-tools.log"))?;
        let mut command = Command::new("sh");
        command
            .args(["-c", "ulimit -n 20000; exec \"$0\" \"$@\""])
            .arg(Peer::Tools.program()?)
            .args(["start", "--port", "0", "--reflection-port", "0", "--telemetry-port", "0"])
            .args(["--", "sleep", "100000"]);
        command.current_dir(folder).stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let began = Instant::now();
        let mut process = command.spawn().context("cannot start oxikit")?;
        let endpoints = match wait_for_endpoints(&mut process, folder, began) {
            Ok(endpoints) => endpoints,
            Err(error) => {
                end(&mut process);
                return Err(error);
            }
        };
        let text = |name: &str| endpoints[name].as_str().unwrap_or_default().to_owned();
        Ok(Self {
            api: format!("{}/k/{}", text("apiUrl"), text("token")),
            sockets: text("reflectionUrl"),
            ready_ms: began.elapsed().as_secs_f64() * 1e3,
            telemetry: text("telemetryUrl"),
            runtimes: None,
            process: Process::Ours(process),
            folder: folder.to_owned(),
        })
    }

    /// The page of our tools, with the token in the fragment; a view is appended: `/traces`.
    pub(super) fn page(&self) -> String {
        self.api.replacen("/k/", "/#token=", 1)
    }

    /// Where traces are posted and listed.
    pub(super) fn traces(&self) -> String {
        format!("{}/api/traces", self.telemetry)
    }

    pub(super) fn pid(&self) -> String {
        match &self.process {
            Process::Peer(server) => server.pid(),
            Process::Ours(process) => process.id().to_string(),
        }
    }

    pub(super) fn resident_mb(&self) -> Result<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
        Ok(kilobytes.context("its memory is not known")? / 1024.0)
    }

    /// Connects this number of fast runtimes.
    pub(super) fn join(&mut self, count: usize) -> Result<()> {
        let mut runtimes = Command::new(peers::load_client())
            .args(["runtime", &self.sockets, "-c", &count.to_string()])
            .stdout(Stdio::piped())
            .spawn()?;
        let said = runtimes.stdout.take().context("its output is piped")?;
        self.runtimes = Some(runtimes);
        let mut line = String::new();
        BufReader::new(said).read_line(&mut line)?;
        ensure!(line.trim() == "registered", "the runtimes did not register");
        Ok(())
    }
}

impl Drop for ToolServer {
    fn drop(&mut self) {
        if let Some(runtimes) = &mut self.runtimes {
            // It may have ended by itself.
            _ = runtimes.kill();
            _ = runtimes.wait();
        }
        match &mut self.process {
            Process::Peer(server) => server.stop(),
            Process::Ours(process) => end(process),
        }
        _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Settings {
    fn write(&self, folder: &Path) -> Result<()> {
        let data = folder.join(".oxikit");
        std::fs::create_dir(&data)?;
        // The folder is the root of its project.
        std::fs::write(folder.join("package.json"), "{}")?;
        let mut lines = String::new();
        if let Some(most) = self.max_traces {
            lines += &format!("max_traces = {most}\nmax_megabytes = 16000\n");
        }
        if let Some(most) = self.max_sockets {
            // They never register.
            lines += &format!("[limits]\nsockets = {most}\nregister_ms = 600000\n");
        }
        std::fs::write(data.join("config.toml"), lines)?;
        if let Some(traces) = &self.traces {
            std::fs::copy(traces, data.join("devtools.db"))?;
        }
        Ok(())
    }
}

/// The content of the file of a server, once the server has answered.
fn wait_for_endpoints(process: &mut Child, folder: &Path, began: Instant) -> Result<Value> {
    let file = folder.join(".oxikit/manager.json");
    loop {
        let endpoints =
            std::fs::read(&file).ok().and_then(|text| serde_json::from_slice(&text).ok());
        if let Some(endpoints) = endpoints.filter(|endpoints| is_well(endpoints).unwrap_or(false)) {
            return Ok(endpoints);
        }
        if let Some(status) = process.try_wait()? {
            bail!("oxikit ended ({status}); its log is in bench/out");
        }
        ensure!(began.elapsed() < START, "oxikit did not answer; its log is in bench/out");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn is_well(endpoints: &Value) -> Option<bool> {
    let host = endpoints["apiUrl"].as_str()?.strip_prefix("http://")?;
    let token = endpoints["token"].as_str()?;
    let mut stream = TcpStream::connect(host).ok()?;
    stream.set_read_timeout(Some(END)).ok()?;
    let request = format!(
        "GET /api/__health HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\nconnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer.starts_with("HTTP/1.1 200"))
}

/// Asks it to end, so that it takes its application with it.
fn end(process: &mut Child) {
    let pid = process.id().to_string();
    // It may have ended by itself; one that does not is stopped.
    _ = tools::read(Command::new("kill").args(["-TERM", &pid]));
    let asked = Instant::now();
    while matches!(process.try_wait(), Ok(None)) {
        if asked.elapsed() > END {
            _ = process.kill();
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A folder for a server alone.
fn new_folder() -> Result<PathBuf> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let folder = peers::out_dir()?.join(format!("tools-{}-{number}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}
