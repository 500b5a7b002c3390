//! Finds what was recorded of official runtimes.

use std::path::{Path, PathBuf};

use serde_json::Value;

/// The lines of a file of the specification, if it is at hand.
pub(crate) fn recorded_lines(file: &str) -> Option<Vec<Value>> {
    let beside_workspace = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let spec = std::env::var_os("OXIKIT_SPEC").map_or_else(beside_workspace, PathBuf::from);
    let path = spec.join("wire").join(file);
    let Ok(text) = std::fs::read_to_string(&path) else {
        eprintln!("not compared with {}: it is not there", path.display());
        return None;
    };
    Some(text.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}
