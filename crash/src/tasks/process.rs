//! The server of a trial as a process that can be killed.

use std::net::TcpListener;
use std::process::Stdio;

use anyhow::{Context, Result, bail};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

/// A running server. It is killed when this is dropped.
pub(super) struct Server {
    child: Child,
    store: String,
    port: u16,
}

impl Server {
    /// Starts a server and waits until it listens.
    pub(super) async fn start(store: &str, port: u16) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["tasks-server", "--store", store, "--port", &port.to_string()]);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true).spawn()?;
        let output = child.stdout.take().context("the server has no output")?;
        let line = BufReader::new(output).lines().next_line().await?.unwrap_or_default();
        if !line.starts_with("listening on ") {
            bail!("the server printed {line:?}");
        }
        Ok(Self { child, store: store.to_owned(), port })
    }

    /// The URL of the agent.
    pub(super) fn agent(&self) -> String {
        format!("http://127.0.0.1:{}/a2a/count", self.port)
    }

    /// SIGKILL: the server can do nothing about it. Another one is started on the same store and
    /// port.
    pub(super) async fn kill_and_restart(mut self) -> Result<Self> {
        self.child.kill().await.context("the server could not be killed")?;
        Self::start(&self.store, self.port).await
    }
}

/// A free port outside of the range that the system assigns to outgoing connections. Otherwise a
/// client that connects to a killed server might get the port of the server and connect to itself.
pub(crate) fn free_port(rng: &mut fastrand::Rng) -> Result<u16> {
    (0..100)
        .map(|_| rng.u16(20_000..32_000))
        .find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok())
        .context("no port is free")
}
