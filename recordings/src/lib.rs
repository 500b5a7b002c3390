//! Exchanges with the official Genkit tools, recorded by us, that tests compare with.
//!
//! They are files beside this crate; the README of each folder says what they show. A
//! file that is missing fails the test that asks for it: nothing is left uncompared.

#![allow(clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// A recorded file or folder, such as `telemetry/exchanges.jsonl`.
///
/// # Panics
/// If there is none.
#[track_caller]
pub fn path(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    assert!(path.exists(), "there is no recording `{name}`");
    path
}

/// The text of a recorded file.
///
/// # Panics
/// If there is none.
#[track_caller]
pub fn text(file: &str) -> String {
    match fs::read_to_string(path(file)) {
        Ok(text) => text,
        Err(error) => panic!("the recording `{file}` cannot be read: {error}"),
    }
}

/// A recorded JSON document.
///
/// # Panics
/// If there is none, or it is not JSON.
#[track_caller]
pub fn json(file: &str) -> Value {
    parse(file, &text(file))
}

/// The documents of a recorded file with one in each line.
///
/// # Panics
/// If there is none, or a line is not JSON.
#[track_caller]
pub fn lines(file: &str) -> Vec<Value> {
    text(file).lines().map(|line| parse(file, line)).collect()
}

#[track_caller]
fn parse(file: &str, text: &str) -> Value {
    match serde_json::from_str(text) {
        Ok(value) => value,
        Err(error) => panic!("the recording `{file}` is not JSON: {error}"),
    }
}
