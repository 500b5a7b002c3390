//! The servers that are tried, on free ports of the loopback.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::Places;
use crate::interop::PROXIES;
use crate::tools;

/// A server that is tried.
pub(super) struct Target {
    pub(super) name: &'static str,
    pub(super) packages: &'static [&'static str],
    pub(super) start: fn(&Places) -> Result<Server>,
}

pub(super) const TARGETS: [Target; 2] = [
    Target { name: "tools", packages: &["oxikit-devtools"], start: start_tools },
    Target { name: "app", packages: &["oxikit-interop-agents-app"], start: start_app },
];

/// A server takes a moment to start.
const START: Duration = Duration::from_secs(30);
/// One that is asked to end and does not is killed.
const END: Duration = Duration::from_secs(10);
/// What the application wants to hear.
const APP_KEY: &str = "fuzz-key";

/// A server that ends with its tests.
pub(super) struct Server {
    child: Child,
    pub(super) url: String,
    pub(super) token: Option<String>,
    /// Where its description is.
    pub(super) document: &'static str,
    /// Its folder, which goes with it.
    folder: Option<PathBuf>,
}

/// The real binary, with its demo, in a folder of its own.
fn start_tools(places: &Places) -> Result<Server> {
    // Not below the target folder: the tools would take this repository for the project.
    let folder = std::env::temp_dir().join(format!("oxikit-fuzz-{}", std::process::id()));
    fs::create_dir_all(folder.join(".genkit"))?;
    let log = File::create(places.scratch.join("tools-server.log"))?;
    let mut command = Command::new(places.bins.join("oxikit"));
    command.args(["start", "--demo", "--port", "0"]);
    command.args(["--reflection-port", "0", "--telemetry-port", "0"]);
    command.current_dir(&folder).stdout(log.try_clone()?).stderr(log);
    let child = spawn(&mut command)?;
    let document = "/api/v1/openapi.json";
    let kept = Some(folder.clone());
    let mut server = Server { child, url: String::new(), token: None, document, folder: kept };
    let file = folder.join(".oxikit/manager.json");
    let began = Instant::now();
    loop {
        let doors = fs::read(&file).ok().and_then(|text| serde_json::from_slice(&text).ok());
        let doors: Value = doors.unwrap_or_default();
        if let (Some(url), Some(token)) = (doors["apiUrl"].as_str(), doors["token"].as_str()) {
            server.url = url.to_owned();
            server.token = Some(token.to_owned());
            if has_runtime(&server) {
                return Ok(server);
            }
        }
        ensure!(began.elapsed() < START, "`oxikit start --demo` did not start");
        if let Some(status) = server.child.try_wait()? {
            bail!("`oxikit start --demo` ended ({status}); see tools-server.log");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Whether the demo has dialled in.
fn has_runtime(server: &Server) -> bool {
    let list = || -> Option<String> {
        use std::io::{Read, Write};
        let host = server.url.strip_prefix("http://")?;
        let token = server.token.as_deref()?;
        let mut stream = std::net::TcpStream::connect(host).ok()?;
        let request = format!(
            "GET /api/v1/runtimes HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\n\
             connection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        Some(answer)
    };
    list().is_some_and(|answer| answer.contains("\"current\":\""))
}

/// An application with flows, streams that are kept, agents, and a key.
fn start_app(places: &Places) -> Result<Server> {
    let mut command = Command::new(places.bins.join("oxikit-fuzz-app"));
    let log = File::create(places.scratch.join("app-server.log"))?;
    command.env("PORT", "0").env("APP_KEY", APP_KEY).stdout(Stdio::piped()).stderr(log);
    let mut child = spawn(&mut command)?;
    let stdout = child.stdout.take().context("stdout is piped")?;
    let (url, document) = (String::new(), "/openapi.json");
    let token = Some(APP_KEY.to_owned());
    let mut server = Server { child, url, token, document, folder: None };
    let mut line = String::new();
    BufReader::new(stdout).read_line(&mut line)?;
    let url = line.trim().strip_prefix("listening on ");
    server.url = url.with_context(|| format!("the application said {line:?}"))?.to_owned();
    Ok(server)
}

fn spawn(command: &mut Command) -> Result<Child> {
    for proxy in PROXIES {
        command.env_remove(proxy);
    }
    let child = command.env_remove("GENKIT_ENV").stdin(Stdio::null()).spawn();
    child.with_context(|| format!("cannot start {}", command.get_program().display()))
}

impl Drop for Server {
    fn drop(&mut self) {
        // It takes its application with it; one that has ended by itself is not there.
        _ = tools::read(Command::new("kill").args(["-TERM", &self.child.id().to_string()]));
        let asked = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) {
            if asked.elapsed() > END {
                _ = self.child.kill();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        if let Some(folder) = &self.folder {
            _ = fs::remove_dir_all(folder);
        }
    }
}
