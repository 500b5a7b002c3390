//! What managers and applications write down while they live. A line is one write, so
//! that it outlives whoever wrote it.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

/// Something that happened, in milliseconds since 1970.
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
    /// A run is about to be asked for.
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
    /// The answer. Of a failure, the nonce is its message.
    Answer {
        id: String,
        nonce: String,
        failed: bool,
    },
    /// Noted by whoever killed it.
    Killed,
    /// The application has begun a run.
    Began {
        nonce: String,
    },
}

/// The file of such lines. Those of former processes stay in it.
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

/// All lines of such a file, in the order in which they were written.
pub(super) fn read(path: &str) -> Result<Vec<Note>> {
    let file = BufReader::new(File::open(path).with_context(|| path.to_owned())?);
    file.lines().map(|line| Ok(serde_json::from_str(&line?)?)).collect()
}
