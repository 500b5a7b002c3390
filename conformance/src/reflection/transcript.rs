//! Recordings, read.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

/// One file.
pub(super) struct Transcript {
    pub(super) name: String,
    pub(super) lines: Vec<Line>,
}

/// What happened, in its order.
#[derive(Debug, Clone)]
pub(super) enum Line {
    /// The manager sends this text.
    Manager(String),
    /// The runtime sends this frame.
    Runtime(Value),
    /// The runtime connects to this path.
    Upgrade(String),
    /// The manager closes with this code; without one the connection breaks.
    Leave(Option<u16>),
    /// The runtime ends.
    End,
    /// A part of the recording begins.
    Case(String),
}

impl Transcript {
    /// All of a folder. Those of one session are in the order in which they were
    /// recorded: later ones go on with what earlier ones have made.
    pub(super) fn read_all(directory: &Path) -> Result<Vec<Self>> {
        let mut all = Vec::new();
        for entry in fs::read_dir(directory)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "jsonl") {
                all.push(Self::read(&path).with_context(|| path.display().to_string())?);
            }
        }
        all.sort_by_cached_key(|transcript| (transcript.first_request(), transcript.name.clone()));
        Ok(all)
    }

    fn read(path: &Path) -> Result<Self> {
        let name = path.file_stem().context("it has a name")?.to_string_lossy().into_owned();
        let text = fs::read_to_string(path)?;
        let values: Vec<Value> =
            text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
        Ok(Self { name, lines: values.iter().filter_map(Line::of).collect() })
    }

    /// Whether it begins with a runtime that has just started.
    pub(super) fn begins_a_runtime(&self) -> bool {
        let first = self.lines.iter().find_map(|line| match line {
            Line::Manager(_) => Some(false),
            Line::Runtime(frame) => Some(frame["method"] == "register"),
            _ => None,
        });
        first == Some(true)
    }

    /// The number of the manager's first request; it counts over a whole session.
    fn first_request(&self) -> u32 {
        let mut numbers = self.lines.iter().filter_map(|line| match line {
            Line::Manager(text) => {
                let frame: Value = serde_json::from_str(text).ok()?;
                frame["method"].as_str()?;
                frame["id"].as_str()?.parse().ok()
            }
            _ => None,
        });
        if self.begins_a_runtime() { 0 } else { numbers.next().unwrap_or(0) }
    }

    /// The method of every request, by who sent it and its id as text.
    pub(super) fn methods(&self) -> BTreeMap<(bool, String), String> {
        let frames = self.lines.iter().filter_map(|line| match line {
            Line::Manager(text) => Some((true, serde_json::from_str(text).ok()?)),
            Line::Runtime(frame) => Some((false, frame.clone())),
            _ => None,
        });
        frames
            .filter_map(|(is_manager, frame)| {
                let method = frame["method"].as_str()?.to_owned();
                Some(((is_manager, frame.get("id")?.to_string()), method))
            })
            .collect()
    }
}

impl Line {
    /// What a line of a file says; `None` if it follows from what stands before.
    fn of(line: &Value) -> Option<Self> {
        if let Some(name) = line["case"].as_str() {
            return Some(Self::Case(name.trim_start_matches([' ', '.']).to_owned()));
        }
        let is_runtime = line["dir"] == "runtime->manager";
        if let Some(frame) = line.get("frame") {
            return Some(match frame {
                _ if is_runtime => Self::Runtime(frame.clone()),
                Value::String(text) => Self::Manager(text.clone()),
                frame => Self::Manager(frame.to_string()),
            });
        }
        let code = line["code"].as_u64().and_then(|code| u16::try_from(code).ok());
        match (line["event"].as_str()?, line.get("dir")) {
            ("upgrade", _) => Some(Self::Upgrade(line["url"].as_str()?.to_owned())),
            ("proxy-drops-connection", _) => Some(Self::Leave(None)),
            // 1006 is what one sees of a connection that broke.
            ("close", None) => Some(Self::Leave(code.filter(|code| *code != 1006))),
            ("close", Some(_)) if is_runtime && code == Some(1005) => Some(Self::End),
            _ => None,
        }
    }
}
