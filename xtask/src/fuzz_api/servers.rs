//! The servers that are tested, on free loopback ports.

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

/// A server that is tested.
pub(super) struct Target {
    pub(super) name: &'static str,
    pub(super) packages: &'static [&'static str],
    pub(super) start: fn(&Places) -> Result<Server>,
}

pub(super) const TARGETS: [Target; 3] = [
    Target { name: "tools", packages: &["oxikit-cli"], start: start_tools },
    Target { name: "prompts", packages: &["oxikit-cli"], start: start_prompts },
    Target { name: "app", packages: &["oxikit-interop-agents-app"], start: start_app },
];

/// Timeout for the start of a server.
const START: Duration = Duration::from_secs(30);
/// Time in which a server must end after SIGTERM. Then it is killed.
const END: Duration = Duration::from_secs(10);
/// The API key of the application.
const APP_KEY: &str = "fuzz-key";
/// The token of the prompt manager.
const PROMPTS_TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// A running server. It ends when this is dropped.
pub(super) struct Server {
    child: Child,
    pub(super) url: String,
    pub(super) token: Option<String>,
    /// URL of its OpenAPI document.
    pub(super) document: &'static str,
    /// Its folder, which is removed with it.
    folder: Option<PathBuf>,
}

/// Starts `oxikit start --demo` in a temporary folder.
fn start_tools(places: &Places) -> Result<Server> {
    // Not below the target folder, because the tools would use this repository as the project.
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
        let endpoints = fs::read(&file).ok().and_then(|text| serde_json::from_slice(&text).ok());
        let endpoints: Value = endpoints.unwrap_or_default();
        if let (Some(url), Some(token)) =
            (endpoints["apiUrl"].as_str(), endpoints["token"].as_str())
        {
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

/// Starts `oxikit prompts` for a few documents in a temporary folder.
fn start_prompts(places: &Places) -> Result<Server> {
    let folder = std::env::temp_dir().join(format!("oxikit-fuzz-prompts-{}", std::process::id()));
    fs::create_dir_all(folder.join("prompts/fragments"))?;
    fs::write(folder.join("prompts/joke.prompt"), "Tell a joke about {{topic}}. [[tone]]")?;
    fs::write(folder.join("prompts/fragments/tone.md"), "---\ntags: [a]\n---\nBe kind.")?;
    let log = File::create(places.scratch.join("prompts-server.log"))?;
    let mut command = Command::new(places.bins.join("oxikit"));
    command.args(["prompts", "--port", "0"]).arg(format!("--token={PROMPTS_TOKEN}"));
    command.current_dir(&folder).stdout(Stdio::piped()).stderr(log);
    let mut child = spawn(&mut command)?;
    let stdout = child.stdout.take().context("stdout is piped")?;
    let (url, document) = (String::new(), "/api/prompts/openapi.json");
    let token = Some(PROMPTS_TOKEN.to_owned());
    let mut server = Server { child, url, token, document, folder: Some(folder) };
    let mut line = String::new();
    BufReader::new(stdout).read_line(&mut line)?;
    let url = line.split_whitespace().find(|word| word.starts_with("http://"));
    let url = url.with_context(|| format!("`oxikit prompts` printed {line:?}"))?;
    server.url = url.trim_end_matches('/').to_owned();
    Ok(server)
}

/// Whether the demo is connected.
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

/// Starts an application with flows, durable streams, agents, and an API key.
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
    server.url = url.with_context(|| format!("the application printed {line:?}"))?.to_owned();
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
        // The tools end their application. An error means that the server has already ended.
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
