//! Imports the trace files of the official tools, which write one file per trace.

use std::fs;
use std::path::{Path, PathBuf};

use oxikit_core::redact;
use serde::Deserialize;

use super::{TraceError, TraceStore};

/// The result of an import.
///
/// ```no_run
/// # async fn example(store: oxikit_traces::TraceStore) -> Result<(), oxikit_traces::TraceError> {
/// let imported = store.import(".genkit/traces").await?;
/// println!("{} traces were imported", imported.traces);
/// for (file, reason) in imported.skipped {
///     eprintln!("{}: {reason}", file.display());
/// }
/// # Ok(()) }
/// ```
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Imported {
    /// Number of imported traces.
    pub traces: usize,
    /// Files that could not be read, with the reason; they are left as they are.
    pub skipped: Vec<(PathBuf, String)>,
}

/// The part of a file that decides the order of the import.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Start {
    #[serde(default)]
    start_time: Option<f64>,
}

impl TraceStore {
    /// Imports the traces of a folder such as `.genkit/traces`, oldest first. Traces that
    /// are stored already are merged, so that an import can be repeated; the files are kept.
    /// Values that look like secrets are redacted.
    ///
    /// # Errors
    ///
    /// If the folder cannot be read, or the store fails. A file that is not a valid trace is
    /// not an error: it is listed in [`Imported::skipped`].
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

    /// Imports one file.
    async fn import_file(&self, path: &Path) -> Result<(), TraceError> {
        let path = path.to_owned();
        let read = tokio::task::spawn_blocking(move || fs::read(path)).await;
        let json = read.map_err(std::io::Error::from)??;
        self.ingest(redact::json_text(&json).as_bytes()).await
    }
}

/// The trace files of a folder, oldest first, and the skipped ones.
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
    // Traces are listed in the order of their arrival, so the oldest is imported first.
    files.sort_by(|(start, path), (other, other_path)| {
        start.total_cmp(other).then_with(|| path.cmp(other_path))
    });
    Ok((files.into_iter().map(|(_, path)| path).collect(), imported))
}
