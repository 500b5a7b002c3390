//! Finds what was recorded of official runtimes.

use std::path::{Path, PathBuf};

use serde_json::Value;

/// A file of the specification, if it is at hand.
pub(crate) fn recorded(file: &str) -> Option<Value> {
    let beside_workspace = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let spec = std::env::var_os("OXIKIT_SPEC").map_or_else(beside_workspace, PathBuf::from);
    let path = spec.join("wire").join(file);
    let Ok(text) = std::fs::read(&path) else {
        eprintln!("not compared with {}: it is not there", path.display());
        return None;
    };
    Some(serde_json::from_slice(&text).unwrap())
}
