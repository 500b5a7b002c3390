//! Traces that the official tools have left in files, one for each trace.

use std::fs;
use std::path::{Path, PathBuf};

use oxikit_core::redact;
use serde::Deserialize;

use super::{TraceError, TraceStore};

/// What has come of an import.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Imported {
    /// So many traces are in the store now.
    pub traces: usize,
    /// Files that could not be read, with the reason; they are left as they are.
    pub skipped: Vec<(PathBuf, String)>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Start {
    #[serde(default)]
    start_time: Option<f64>,
}

impl TraceStore {
    /// Takes over the traces of a folder such as `.genkit/traces`, oldest first. What is
    /// there already is merged, so that it may be done again; the files stay. What looks
    /// like a secret is covered.
    ///
    /// # Errors
    ///
    /// If the folder cannot be read, or the store does not work. A file that is torn or
    /// no trace is no error: it is named in the answer.
    pub async fn import(&self, folder: impl AsRef<Path>) -> Result<Imported, TraceError> {
        let folder = folder.as_ref().to_owned();
        let found = tokio::task::spawn_blocking(move || find(&folder)).await;
        let (files, mut imported) = found.map_err(std::io::Error::from)??;
        for path in files {
            match self.import_file(&path).await {
                Ok(()) => imported.traces += 1,
                Err(TraceError::Post(reason)) => imported.skipped.push((path, reason)),
                Err(TraceError::File(error)) => imported.skipped.push((path, error.to_string())),
                Err(error) => return Err(error),
            }
        }
        Ok(imported)
    }

    async fn import_file(&self, path: &Path) -> Result<(), TraceError> {
        let path = path.to_owned();
        let read = tokio::task::spawn_blocking(move || fs::read(path)).await;
        let json = read.map_err(std::io::Error::from)??;
        self.ingest(redact::json_text(&json).as_bytes()).await
    }
}

/// The files of a folder in the order of their traces, and those that are none.
fn find(folder: &Path) -> Result<(Vec<PathBuf>, Imported), std::io::Error> {
    let mut files = Vec::new();
    let mut imported = Imported::default();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if !entry.file_type()?.is_file() {
            continue;
        }
        let path = entry.path();
        let start = fs::read(&path).map_err(|error| error.to_string()).and_then(|json| {
            serde_json::from_slice::<Start>(&json).map_err(|error| error.to_string())
        });
        match start {
            Ok(start) => files.push((start.start_time.unwrap_or_default(), path)),
            Err(reason) => imported.skipped.push((path, reason)),
        }
    }
    files.sort_by(|(start, path), (other, other_path)| {
        start.total_cmp(other).then_with(|| path.cmp(other_path))
    });
    Ok((files.into_iter().map(|(_, path)| path).collect(), imported))
}
