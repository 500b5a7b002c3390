//! The log of the clients: one line of JSON per acknowledged turn. The checker compares it with
//! the store.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

/// A turn that was acknowledged.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Seen {
    pub(crate) session: String,
    pub(crate) client: usize,
    /// The token that the client sent.
    pub(crate) token: String,
    /// The text of the answer.
    pub(crate) text: String,
    pub(crate) snapshot: String,
    /// The snapshot that the client continued from; `None` if it sent the id of the session.
    pub(crate) from: Option<String>,
}

/// The file of acknowledged turns, written while the clients run.
#[derive(Debug)]
pub(crate) struct Log(Mutex<File>);

impl Log {
    pub(crate) fn create(path: &str) -> Result<Self> {
        Ok(Self(Mutex::new(File::create(path).with_context(|| path.to_owned())?)))
    }

    pub(crate) fn add(&self, seen: &Seen) -> Result<()> {
        let line = serde_json::to_string(seen)? + "\n";
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(file.write_all(line.as_bytes())?)
    }
}

/// Reads such files. Keeps the order of the lines.
pub(crate) fn read(paths: &[String]) -> Result<Vec<Seen>> {
    let mut all = Vec::new();
    for path in paths {
        for line in BufReader::new(File::open(path).with_context(|| path.clone())?).lines() {
            all.push(serde_json::from_str(&line?)?);
        }
    }
    Ok(all)
}
