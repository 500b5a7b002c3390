//! The notifications that the receiver of the suite has got.

use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const TOKEN: &str = "push token";

/// A webhook of the receiver.
#[derive(Debug)]
pub struct Hook {
    /// Its address.
    pub url: String,
    /// The token that notifications must have.
    pub token: String,
}

/// The server that sends notifications, by which the cases know what to expect.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Notifier {
    /// oxikit, in version 1.0.
    Oxikit,
    /// An official server. These send different events, but all of them the last one.
    V0_3,
    /// The same in version 1.0.
    V1_0,
}

impl Hook {
    /// A webhook with a name that no other one has.
    pub(crate) fn new(receiver: &str) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let url = format!("{receiver}/rust-{}-{number}", std::process::id());
        Self { url, token: TOKEN.to_owned() }
    }

    /// Waits for the end of the task and compares its notifications: all of them with those of
    /// oxikit, otherwise the last one. `expected` has kind, state and text of each.
    pub(crate) async fn check(&self, notifier: Notifier, expected: &[&str]) -> Result<()> {
        let received = self.received().await?;
        let version = if notifier == Notifier::V0_3 { "0.3" } else { "1.0" };
        for one in &received {
            ensure!(one["version"] == version, "the body has another version: {one}");
            ensure!(one["token"] == TOKEN, "the token is missing: {one}");
        }
        let mut told: Vec<String> = received.iter().map(told).collect();
        // A webhook that is registered later may miss this one.
        told.retain(|it| it != "task working" && it != "status working");
        if notifier == Notifier::Oxikit {
            ensure!(told == expected, "expected {expected:?}, got {told:?}");
            let is_typed = |one: &Value| one["type"] == "application/a2a+json";
            ensure!(received.iter().all(is_typed), "another media type: {received:?}");
            return Ok(());
        }
        let end = |one: &Value| one["state"] == "completed";
        ensure!(received.iter().filter(|it| end(it)).count() == 1, "not one end: {told:?}");
        ensure!(received.last().is_some_and(end), "the end is not the last one: {told:?}");
        Ok(())
    }

    async fn received(&self) -> Result<Vec<Value>> {
        let (host, path) = self
            .url
            .strip_prefix("http://")
            .and_then(|rest| rest.split_once('/'))
            .context("the receiver has no http address")?;
        let mut connection = TcpStream::connect(host).await?;
        let request = format!("GET /{path} HTTP/1.0\r\nHost: {host}\r\n\r\n");
        connection.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        connection.read_to_string(&mut answer).await?;
        let (_, body) = answer.split_once("\r\n\r\n").context("the receiver sent no body")?;
        Ok(serde_json::from_str(body)?)
    }
}

fn told(one: &Value) -> String {
    let member = |name: &str| one[name].as_str().unwrap_or_default();
    let text = format!("{} {} {}", member("kind"), member("state"), member("text"));
    text.trim_end().to_owned()
}
