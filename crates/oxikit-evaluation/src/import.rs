//! Imports the data sets and evaluations that the official tools have stored below the project.
//!
//! The files belong to the user and stay as they are. They are read with limits, since a project
//! may come from elsewhere.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use oxikit_core::ports::ProjectStore;
use oxikit_core::{Status, timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::case::{Sample, assign_ids};
use super::datasets::{DatasetInfo, DatasetType, Datasets, is_dataset_id};
use super::eval_runs::EvalRuns;
use oxikit_local::untrusted_file::read_text;

/// Maximum number of bytes of a file. Larger files are skipped.
const MAX_FILE: u64 = 64 << 20;
/// The file with the descriptions of all data sets.
const INDEX: &str = "index.json";

/// The result of an import.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct Imported {
    /// Number of imported data sets.
    datasets: usize,
    /// Number of imported evaluations.
    evaluations: usize,
    /// Files that were not imported.
    skipped: Vec<Skipped>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SkippedFile")]
struct Skipped {
    file: String,
    reason: String,
}

/// Imports the folders `datasets` and `evals` of the official tools, below `.genkit` of the
/// project. Data sets and evaluations that exist already are not changed, so an import may be
/// repeated. A file that cannot be read is listed in the result, and the others are imported.
///
/// # Errors
///
/// If the folders cannot be read, or the store cannot be used.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// use std::sync::Arc;
///
/// use oxikit_core::ports::ProjectStore;
/// use oxikit_core::ports::memory::MemoryProject;
/// use oxikit_evaluation::import;
///
/// let store: Arc<dyn ProjectStore> = Arc::new(MemoryProject::default());
/// # let project = std::env::temp_dir();
/// let imported = import(&store, &project).await?;
/// println!("{}", serde_json::to_string(&imported)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub async fn import(store: &Arc<dyn ProjectStore>, project: &Path) -> Result<Imported, Status> {
    let mut imported = Imported::default();
    let datasets = Datasets::new(store);
    let found = found_in(project, "datasets").await?;
    let index = found.index.as_deref().map(serde_json::from_str).and_then(Result::ok);
    let mut index: BTreeMap<String, DatasetInfo> = index.unwrap_or_default();
    for (id, text) in found.files {
        match add_dataset(&datasets, &id, index.remove(&id), text).await {
            Ok(()) => imported.datasets += 1,
            Err(reason) => imported.skip(&id, reason),
        }
    }
    let eval_runs = EvalRuns::new(store);
    // Checked once, before the first file: an import may exceed the limit by its own evaluations.
    eval_runs.check_room().await?;
    for (id, text) in found_in(project, "evals").await?.files {
        match add_eval_run(&eval_runs, &id, text).await {
            Ok(()) => imported.evaluations += 1,
            Err(reason) => imported.skip(&id, reason),
        }
    }
    Ok(imported)
}

impl Imported {
    /// Lists a file that was not imported.
    fn skip(&mut self, id: &str, reason: String) {
        self.skipped.push(Skipped { file: format!("{id}.json"), reason });
    }
}

/// Adds a data set. `info` is its description in the index; without one it has the defaults. The
/// error is the reason why the file is skipped.
async fn add_dataset(
    datasets: &Datasets,
    id: &str,
    info: Option<DatasetInfo>,
    text: io::Result<String>,
) -> Result<(), String> {
    if !is_dataset_id(id) {
        return Err("its name is not the id of a data set".to_owned());
    }
    let text = text.map_err(|error| error.to_string())?;
    let mut samples: Vec<Sample> =
        serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let message_of = |status: Status| status.message().to_owned();
    assign_ids(&mut samples).map_err(message_of)?;
    let now = timestamp::now();
    let info = info.unwrap_or_else(|| DatasetInfo {
        dataset_id: String::new(),
        size: 0,
        schema: None,
        dataset_type: DatasetType::Unknown,
        target_action: None,
        metric_refs: Vec::new(),
        version: 1,
        create_time: now.clone(),
        update_time: now,
    });
    let info = DatasetInfo { dataset_id: id.to_owned(), size: samples.len(), ..info };
    datasets.add(info, &samples).await.map(drop).map_err(message_of)
}

/// Adds an evaluation, unless there is one with its id. The error is the reason why the file is
/// skipped.
async fn add_eval_run(
    eval_runs: &EvalRuns,
    id: &str,
    text: io::Result<String>,
) -> Result<(), String> {
    #[derive(Deserialize)]
    struct Whole<'a> {
        #[serde(borrow)]
        key: &'a RawValue,
        /// Required, but not read.
        #[serde(borrow, rename = "results")]
        _results: Vec<&'a RawValue>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Key {
        eval_run_id: String,
    }
    let text = text.map_err(|error| error.to_string())?;
    let whole: Whole<'_> = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let key: Key = serde_json::from_str(whole.key.get()).map_err(|error| error.to_string())?;
    let message_of = |status: Status| status.message().to_owned();
    if key.eval_run_id != id {
        return Err("the name of the file is not the id of the evaluation in it".to_owned());
    }
    if eval_runs.get(id).await.map_err(message_of)?.is_some() {
        return Err("an evaluation with this id exists already".to_owned());
    }
    eval_runs.write(id, whole.key.get(), &text).await.map_err(message_of)
}

/// The files of a folder: each with its name without `.json`.
#[derive(Debug, Default)]
struct Found {
    /// The text of [`INDEX`], if it can be read.
    index: Option<String>,
    files: Vec<(String, io::Result<String>)>,
}

/// Reads a folder of the official tools, on a thread for blocking work.
async fn found_in(project: &Path, folder: &str) -> Result<Found, Status> {
    let (project, folder) = (project.to_owned(), folder.to_owned());
    let found = tokio::task::spawn_blocking(move || read_folder(&project, &folder)).await;
    found.map_err(|error| Status::internal("no thread").caused_by(error))?.map_err(|error| {
        Status::failed_precondition(format!("the files of `.genkit` cannot be read: {error}"))
    })
}

/// Reads all JSON files of a folder. A link that leads out of the project is not followed.
fn read_folder(project: &Path, folder: &str) -> io::Result<Found> {
    let mut found = Found::default();
    let project = project.canonicalize()?;
    let folder = match project.join(".genkit").join(folder).canonicalize() {
        Ok(folder) if folder.starts_with(&project) => folder,
        _ => return Ok(found),
    };
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    paths.sort_unstable();
    for path in paths {
        if path.file_name() == Some(OsStr::new(INDEX)) {
            found.index = read_file(&path).ok();
        } else if path.extension() == Some(OsStr::new("json")) {
            let id = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            found.files.push((id, read_file(&path)));
        }
    }
    Ok(found)
}

/// Reads a regular file of limited size. A link is not followed.
fn read_file(path: &Path) -> io::Result<String> {
    // Of the link itself, if it is one, and not of its target.
    let about = fs::symlink_metadata(path)?;
    if !about.is_file() || about.len() > MAX_FILE {
        return Err(io::Error::other(format!(
            "it is not a regular file of at most {MAX_FILE} bytes"
        )));
    }
    read_text(path, MAX_FILE)
}
