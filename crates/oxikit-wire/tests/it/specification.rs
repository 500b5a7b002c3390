//! Finds the published schemas and recordings.

use std::path::{Path, PathBuf};

use serde_json::Value;

/// The specification's directory, if it is at hand.
pub(crate) fn find() -> Option<PathBuf> {
    let beside_workspace = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let path = std::env::var_os("OXIKIT_SPEC").map_or_else(beside_workspace, PathBuf::from);
    if path.join("wire").is_dir() {
        return Some(path);
    }
    eprintln!("skipped: no specification in {}; set OXIKIT_SPEC to its directory", path.display());
    None
}

pub(crate) fn read_json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}
