//! Callers of streams: what each was told, and the checker of it.

use std::collections::HashMap;
use std::time::Instant;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::tools::Tools;

/// By which door a stream was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Door {
    /// `/api/v1/stream`, events.
    Own,
    /// `/api/streamAction`, lines.
    Official,
}

/// What a caller was told.
#[derive(Debug, Clone)]
pub(super) struct Told {
    pub(super) nonce: String,
    pub(super) chunks: Vec<u64>,
    /// The error at the end, if there is one.
    pub(super) error: Option<Value>,
    pub(super) at: Instant,
}

/// Streams from this runtime until there is no more.
pub(super) async fn stream(
    tools: &Tools,
    runtime: &str,
    door: Door,
    nonce: String,
) -> Result<Told> {
    let path = match door {
        Door::Own => "/api/v1/stream",
        Door::Official => "/api/streamAction",
    };
    let body = json!({"key": "/flow/count", "input": nonce, "runtimeId": runtime, "stream": true});
    let response = tools.post(path, body.to_string()).await?;
    let text = response.text().await?;
    let at = Instant::now();
    let mut told = Told { nonce, chunks: Vec::new(), error: None, at };
    match door {
        Door::Own => told.read_events(&text)?,
        Door::Official => told.read_lines(&text)?,
    }
    Ok(told)
}

impl Told {
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

/// What is wrong with what callers were told of a runtime that was killed: it has
/// written down what its socket had taken.
pub(super) fn check(told: &[Told], notes: &str) -> Vec<String> {
    let mut written: HashMap<&str, u64> = HashMap::new();
    for nonce in notes.lines().filter_map(|line| Some(line.split_once(' ')?.0)) {
        *written.entry(nonce).or_default() += 1;
    }
    let mut wrong = Vec::new();
    for told in told {
        let (nonce, count) = (&told.nonce, told.chunks.len() as u64);
        if !told.chunks.iter().copied().eq(0..count) {
            wrong.push(format!("{nonce} has a gap"));
        }
        let written = written.get(&**nonce).copied().unwrap_or_default();
        if count < written {
            wrong.push(format!("{nonce} was told {count} of {written} chunks"));
        }
        if told.error.as_ref().is_none_or(|error| error["code"] != 14) {
            wrong.push(format!("{nonce} was not told that its runtime is gone: {:?}", told.error));
        }
    }
    wrong
}
