//! The notes of managers and applications: one line of JSON per event. Each line is one write
//! without a buffer, so that it survives the kill of its process.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

/// An event. `at` is in milliseconds since 1970.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Note {
    pub(super) at: u64,
    /// The manager, by the number of its start; 0 is the application.
    pub(super) process: u32,
    #[serde(flatten)]
    pub(super) what: What,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "camelCase")]
pub(super) enum What {
    /// An application has registered.
    Registered,
    /// The manager is about to send a request for a run.
    Asked {
        id: String,
        nonce: String,
        chunks: u64,
        fails: bool,
    },
    State {
        id: String,
    },
    Chunk {
        id: String,
        nonce: String,
        number: u64,
    },
    /// The answer to a run. The nonce of a failure is taken from its message.
    Answer {
        id: String,
        nonce: String,
        failed: bool,
    },
    /// The manager was killed. `cargo xtask crash`, which killed it, writes this note.
    Killed,
    /// The application has begun a run.
    Began {
        nonce: String,
    },
}

/// The file of notes. Notes of previous processes stay in it.
#[derive(Debug)]
pub(super) struct Notes {
    process: u32,
    file: Mutex<File>,
}

impl Notes {
    pub(super) fn open(path: &str, process: u32) -> Result<Self> {
        let file = File::options().create(true).append(true).open(path);
        Ok(Self { process, file: Mutex::new(file.with_context(|| path.to_owned())?) })
    }

    pub(super) fn add(&self, what: What) -> Result<()> {
        let at = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis().try_into()?;
        let line = serde_json::to_string(&Note { at, process: self.process, what })? + "\n";
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(file.write_all(line.as_bytes())?)
    }
}

/// Reads a file of notes. Keeps the order of the lines.
pub(super) fn read(path: &str) -> Result<Vec<Note>> {
    let file = BufReader::new(File::open(path).with_context(|| path.to_owned())?);
    file.lines().map(|line| Ok(serde_json::from_str(&line?)?)).collect()
}
