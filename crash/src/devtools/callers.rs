//! Callers of streams, and the checker of the chunks and errors that they received.

use std::collections::HashMap;
use std::time::Instant;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::tools::Tools;

/// The API by which a stream is requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamApi {
    /// `/api/v1/stream`, which sends server-sent events.
    Own,
    /// `/api/streamAction`, which sends lines of JSON.
    Official,
}

/// The chunks and the error that a caller received.
#[derive(Debug, Clone)]
pub(super) struct Received {
    pub(super) nonce: String,
    pub(super) chunks: Vec<u64>,
    /// The error at the end, if there is one.
    pub(super) error: Option<Value>,
    /// When the response ended.
    pub(super) at: Instant,
}

/// Streams from a runtime until the response ends.
pub(super) async fn stream(
    tools: &Tools,
    runtime: &str,
    api: StreamApi,
    nonce: String,
) -> Result<Received> {
    let path = match api {
        StreamApi::Own => "/api/v1/stream",
        StreamApi::Official => "/api/streamAction",
    };
    let body = json!({"key": "/flow/count", "input": nonce, "runtimeId": runtime, "stream": true});
    let response = tools.post(path, body.to_string()).await?;
    let text = response.text().await?;
    let at = Instant::now();
    let mut received = Received { nonce, chunks: Vec::new(), error: None, at };
    match api {
        StreamApi::Own => received.read_events(&text)?,
        StreamApi::Official => received.read_lines(&text)?,
    }
    Ok(received)
}

impl Received {
    fn read_events(&mut self, text: &str) -> Result<()> {
        for event in text.split("\n\n") {
            let member = |name: &str| event.lines().find_map(|line| line.strip_prefix(name));
            let Some(data) = member("data: ") else { continue };
            let data: Value = serde_json::from_str(data)?;
            match member("event: ").context("an event without a name")? {
                "chunk" => self.add(&data)?,
                "error" => self.error = Some(data),
                _ => {}
            }
        }
        Ok(())
    }

    fn read_lines(&mut self, text: &str) -> Result<()> {
        for line in text.lines() {
            let data: Value = serde_json::from_str(line)?;
            match data.get("error") {
                Some(error) => self.error = Some(error.clone()),
                None => self.add(&data)?,
            }
        }
        Ok(())
    }

    fn add(&mut self, chunk: &Value) -> Result<()> {
        anyhow::ensure!(chunk["nonce"] == *self.nonce, "{} got {chunk}", self.nonce);
        self.chunks.push(chunk["number"].as_u64().context("a chunk without its number")?);
        Ok(())
    }
}

/// Compares what callers received with the notes of the runtime, which was killed. The runtime
/// noted a chunk when its socket had taken it, so a caller must have received at least the noted
/// ones. Returns the differences.
pub(super) fn check(received: &[Received], notes: &str) -> Vec<String> {
    let mut written: HashMap<&str, u64> = HashMap::new();
    for nonce in notes.lines().filter_map(|line| Some(line.split_once(' ')?.0)) {
        *written.entry(nonce).or_default() += 1;
    }
    let mut wrong = Vec::new();
    for one in received {
        let (nonce, count) = (&one.nonce, one.chunks.len() as u64);
        if !one.chunks.iter().copied().eq(0..count) {
            wrong.push(format!("{nonce} has a gap"));
        }
        let written = written.get(&**nonce).copied().unwrap_or_default();
        if count < written {
            wrong.push(format!("{nonce} received {count} of {written} chunks"));
        }
        if one.error.as_ref().is_none_or(|error| error["code"] != 14) {
            wrong.push(format!(
                "{nonce} did not receive the error that its runtime is gone: {:?}",
                one.error
            ));
        }
    }
    wrong
}
