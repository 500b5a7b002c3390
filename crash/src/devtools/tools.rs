//! A real `oxikit start` in a project folder of its own, with the requests and measurements that
//! trials need.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;
use serde_json::Value;
use tokio::process::{Child, Command};
use tokio::time::sleep;

use super::Setting;

/// Timeout of everything that a trial waits for. Then the trial fails.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(10);
const ANY_PORTS: [&str; 6] = ["--port", "0", "--reflection-port", "0", "--telemetry-port", "0"];

/// The folder of a project.
pub(super) struct Project {
    pub(super) folder: PathBuf,
    program: PathBuf,
    ports: Vec<String>,
}

/// A running `oxikit start`. It is killed when this is dropped.
pub(super) struct Tools {
    child: Child,
    pub(super) pid: u32,
    pub(super) endpoints: Endpoints,
    pub(super) http: reqwest::Client,
}

/// The content of `.oxikit/manager.json`.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Endpoints {
    pid: u32,
    pub(super) api_url: String,
    pub(super) token: String,
    pub(super) reflection_url: String,
    pub(super) telemetry_url: String,
}

impl Project {
    /// An empty project with this text in its `.oxikit/config.toml`.
    pub(super) fn new(setting: &Setting, name: &str, settings: &str) -> Result<Self> {
        let folder = setting.folder.join(name);
        fs::create_dir_all(folder.join(".oxikit"))?;
        // `oxikit start` recognises a project by this file.
        fs::write(folder.join("package.json"), "{}")?;
        fs::write(folder.join(".oxikit/config.toml"), settings)?;
        let ports = ANY_PORTS.map(str::to_owned).into();
        Ok(Self { folder, program: setting.program.clone(), ports })
    }

    /// Sets the ports for runtimes and spans.
    pub(super) fn on_ports(mut self, reflection: u16, telemetry: u16) -> Self {
        self.ports[3] = reflection.to_string();
        self.ports[5] = telemetry.to_string();
        self
    }

    pub(super) fn path(&self, file: &str) -> PathBuf {
        self.folder.join(file)
    }

    /// The output of the tools so far.
    pub(super) fn log(&self) -> Result<String> {
        Ok(String::from_utf8_lossy(&fs::read(self.path("tools.log"))?).into_owned())
    }

    /// Starts the tools with an application that only waits.
    pub(super) async fn start(&self) -> Result<Tools> {
        self.start_with(&["sleep", "100000"]).await
    }

    /// Starts the tools and waits until they answer.
    pub(super) async fn start_with(&self, app: &[&str]) -> Result<Tools> {
        let mut child = self.spawn(app)?;
        let pid = child.id().context("the tools ended at once")?;
        let began = Instant::now();
        let endpoints = loop {
            let file = fs::read(self.path(".oxikit/manager.json")).unwrap_or_default();
            if let Ok(endpoints) = serde_json::from_slice::<Endpoints>(&file)
                && endpoints.pid == pid
            {
                break endpoints;
            }
            if child.try_wait()?.is_some() || began.elapsed() > PATIENCE {
                bail!("the tools do not start: {}", self.log()?);
            }
            sleep(POLL).await;
        };
        let http = reqwest::Client::builder().no_proxy().build()?;
        Ok(Tools { child, pid, endpoints, http })
    }

    /// Starts the tools and waits until they end by themselves.
    pub(super) async fn fail_to_start(&self) -> Result<ExitStatus> {
        let mut child = self.spawn(&["sleep", "100000"])?;
        Ok(tokio::time::timeout(PATIENCE, child.wait()).await??)
    }

    fn spawn(&self, app: &[&str]) -> Result<Child> {
        let log = File::options().create(true).append(true).open(self.path("tools.log"))?;
        let mut command = Command::new(&self.program);
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            let is_ours = ["GENKIT_", "OXIKIT_", "OTEL_", "RUST_LOG"];
            if is_ours.iter().any(|start| text.starts_with(start)) {
                command.env_remove(&name);
            }
        }
        command.arg("start").args(&self.ports).arg("--").args(app);
        command.current_dir(&self.folder).stdin(Stdio::null()).kill_on_drop(true);
        Ok(command.stdout(log.try_clone()?).stderr(log).spawn()?)
    }
}

impl Tools {
    pub(super) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.endpoints.api_url)
    }

    pub(super) async fn get(&self, path: &str) -> Result<Value> {
        let request = self.http.get(self.url(path)).bearer_auth(&self.endpoints.token);
        let response = request.send().await?;
        let status = response.status();
        let text = response.text().await?;
        serde_json::from_str(&text).with_context(|| format!("{path} answered {status}: {text}"))
    }

    /// Posts a body. Returns the response, also if it is an error.
    pub(super) async fn post(
        &self,
        path: &str,
        body: impl Into<reqwest::Body>,
    ) -> Result<reqwest::Response> {
        let request = self.http.post(self.url(path)).bearer_auth(&self.endpoints.token);
        Ok(request.header("content-type", "application/json").body(body).send().await?)
    }

    pub(super) async fn post_json(&self, path: &str, body: &Value) -> Result<Value> {
        Ok(self.post(path, body.to_string()).await?.json().await?)
    }

    /// Runs an action of a runtime that returns its input.
    pub(super) async fn call(&self, runtime: &str) -> Result<()> {
        let body = serde_json::json!({"key": "/flow/echo", "input": 1, "runtimeId": runtime});
        let answer = self.post_json("/api/v1/run", &body).await?;
        if answer["result"] != 1 {
            bail!("{runtime} answered {answer}");
        }
        Ok(())
    }

    /// The runtime with this id, as it is listed.
    pub(super) async fn runtime(&self, id: &str) -> Result<Option<Value>> {
        let list = self.get("/api/v1/runtimes").await?;
        let runtimes = list["runtimes"].as_array().cloned().unwrap_or_default();
        Ok(runtimes.into_iter().find(|runtime| runtime["id"] == id))
    }

    /// Waits until this runtime is connected. Returns the time.
    pub(super) async fn wait_for_runtime(&self, id: &str) -> Result<Duration> {
        let began = Instant::now();
        while self.runtime(id).await?.is_none() {
            if began.elapsed() > PATIENCE {
                bail!("the runtime `{id}` does not connect");
            }
            sleep(POLL).await;
        }
        Ok(began.elapsed())
    }

    pub(super) fn is_alive(&mut self) -> Result<bool> {
        Ok(self.child.try_wait()?.is_none())
    }

    /// Sends SIGTERM and waits for the end of the process.
    pub(super) async fn end(mut self) -> Result<()> {
        signal(self.pid, Signal::TERM)?;
        tokio::time::timeout(PATIENCE, self.child.wait()).await??;
        Ok(())
    }

    /// Resident bytes now. Resets the peak.
    pub(super) fn resident(&self) -> Result<u64> {
        fs::write(format!("/proc/{}/clear_refs", self.pid), "5")?;
        status_bytes(self.pid, "VmRSS:")
    }

    /// Maximum of resident bytes since [`resident`](Self::resident).
    pub(super) fn peak(&self) -> Result<u64> {
        status_bytes(self.pid, "VmHWM:")
    }
}

fn status_bytes(pid: u32, name: &str) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.split_whitespace().next());
    Ok(number.with_context(|| format!("there is no {name}"))?.parse::<u64>()? << 10)
}

/// User and system time of a process; the kernel counts in hundredths of a second.
pub(super) fn cpu_time(pid: u32) -> Result<Duration> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let (_, behind_name) = stat.rsplit_once(')').context("/proc/PID/stat cannot be parsed")?;
    let times = behind_name.split_whitespace().skip(11).take(2);
    let ticks = times.map(|ticks| ticks.parse::<u64>()).sum::<Result<u64, _>>()?;
    Ok(Duration::from_millis(ticks * 10))
}

pub(super) fn signal(pid: u32, signal: Signal) -> Result<()> {
    let pid =
        i32::try_from(pid).ok().and_then(Pid::from_raw).context("the process id is invalid")?;
    Ok(kill_process(pid, signal)?)
}

/// Whether a process has ended. A zombie, whose parent has not waited for it yet, counts.
pub(super) fn is_gone(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.map_or(true, |stat| stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with('Z')))
}

/// Waits until a condition holds. Returns the time.
pub(super) async fn until(what: &str, mut is_so: impl FnMut() -> bool) -> Result<Duration> {
    let began = Instant::now();
    while !is_so() {
        if began.elapsed() > PATIENCE {
            bail!("this did not happen in time: {what}");
        }
        sleep(POLL).await;
    }
    Ok(began.elapsed())
}

/// A free port outside of the range that the system assigns to outgoing connections.
pub(super) fn free_port() -> Result<u16> {
    (0..100)
        .map(|_| fastrand::u16(20_000..32_000))
        .find(|port| std::net::TcpListener::bind(("127.0.0.1", *port)).is_ok())
        .context("no port is free")
}

/// Creates a folder with its parents.
pub(super) fn make_dir(path: &Path) -> Result<()> {
    Ok(fs::create_dir_all(path)?)
}
