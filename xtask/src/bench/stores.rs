//! Stores for servers that are measured with one.

use std::collections::HashMap;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::peers::{self, Peer, Server};
use super::programs;
use crate::services::{self, Postgres};
use crate::tools;

/// Makes stores, and keeps those that took long to fill.
#[derive(Default)]
pub(super) struct Stores {
    postgres: Option<Postgres>,
    filled: HashMap<(&'static str, u32), Kept>,
}

/// A store by the name that the benchmark's program knows it by.
#[derive(Clone)]
pub(super) struct Kept(String);

impl Kept {
    pub(super) fn name(&self) -> &str {
        &self.0
    }
}

impl Stores {
    /// A store without anything in it.
    pub(super) fn empty(&mut self, kind: &'static str) -> Result<Kept> {
        let name = match kind {
            "sqlite" => {
                let file = peers::out_dir()?.join(format!("{kind}-{}.db", std::process::id()));
                remove(&file);
                format!("sqlite:{}", file.display())
            }
            "postgres" => {
                // A server with nothing of the scenario before in it.
                self.postgres = None;
                self.postgres.insert(services::postgres()?).url().to_owned()
            }
            _ => bail!("there is no store `{kind}`"),
        };
        Ok(Kept(name))
    }

    /// A store with this number of sessions, filled once.
    pub(super) fn with_sessions(
        &mut self,
        kind: &'static str,
        rows: u32,
        peer: Peer,
    ) -> Result<Kept> {
        if let Some(kept) = self.filled.get(&(kind, rows)) {
            return Ok(kept.clone());
        }
        let file = peers::out_dir()?.join(format!("sessions-{rows}-{}.db", programs::label()));
        remove(&file);
        let kept = Kept(format!("{kind}:{}", file.display()));
        eprintln!("filling a store with {rows} sessions");
        let mut fill = Command::new(peer.program()?);
        tools::run(fill.args(["fill", kept.name(), &rows.to_string()]))?;
        self.filled.insert((kind, rows), kept.clone());
        Ok(kept)
    }

    /// The path with `{deep}` replaced by the token of a page far behind.
    pub(super) fn path(&self, path: &str, server: &Server) -> Result<String> {
        let Some((list, _)) = path.split_once("&continuationToken={deep}") else {
            return Ok(path.to_owned());
        };
        let mut token = String::new();
        for _ in 0..DEEP {
            let next = if token.is_empty() { "" } else { "&continuationToken=" };
            let url = format!("http://127.0.0.1:{}{list}{next}{token}", server.port);
            let page = tools::read_within(
                Command::new("curl").args(["--silent", "--fail", "--noproxy", "*", &url]),
                Duration::from_secs(30),
            )?;
            let page: Value = serde_json::from_str(&page)?;
            let Some(next) = page["continuationToken"].as_str() else { break };
            token = next.to_owned();
        }
        Ok(path
            .replace("{deep}", Some(&*token).filter(|t| !t.is_empty()).context("one page only")?))
    }
}

/// Number of pages between the first page and the measured one.
const DEEP: usize = 15;

impl Drop for Stores {
    fn drop(&mut self) {
        let files = self.filled.values().filter_map(|kept| kept.0.split_once(':'));
        files.for_each(|(_, file)| remove(std::path::Path::new(file)));
    }
}

/// With the files that SQLite puts beside it.
pub(super) fn remove(file: &std::path::Path) {
    for suffix in ["", "-wal", "-shm"] {
        let mut name = file.as_os_str().to_owned();
        name.push(suffix);
        // It may not be there.
        _ = std::fs::remove_file(name);
    }
}
