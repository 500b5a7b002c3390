//! Data sets and evaluations that the official tools have left below the project.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use oxikit_core::{Status, timestamp};
use oxikit_sql::ProjectStore;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::case::{Sample, name_all};
use super::datasets::{DatasetInfo, DatasetType, Datasets, is_dataset_id};
use super::eval_runs::EvalRuns;
use crate::untrusted_file::read_text;

/// A larger file is left where it is.
const MAX_FILE: u64 = 64 << 20;
/// The list that stands beside the files.
const INDEX: &str = "index.json";

/// What has come of an import.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct Imported {
    datasets: usize,
    evaluations: usize,
    skipped: Vec<Skipped>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SkippedFile")]
struct Skipped {
    file: String,
    reason: String,
}

/// Takes over `datasets` and `evals` of a folder of the official tools, which is
/// `.genkit` of the project. What is there already stays as it is, so that it may be
/// done again; a file that cannot be read is named, and the others are taken.
pub(crate) async fn import(store: &ProjectStore, project: &Path) -> Result<Imported, Status> {
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
    fn skip(&mut self, id: &str, reason: String) {
        self.skipped.push(Skipped { file: format!("{id}.json"), reason });
    }
}

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
    let told = |status: Status| status.message().to_owned();
    name_all(&mut samples).map_err(told)?;
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
    datasets.add(info, &samples).await.map(drop).map_err(told)
}

async fn add_eval_run(
    eval_runs: &EvalRuns,
    id: &str,
    text: io::Result<String>,
) -> Result<(), String> {
    #[derive(Deserialize)]
    struct Whole<'a> {
        #[serde(borrow)]
        key: &'a RawValue,
        /// It has to be there.
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
    let told = |status: Status| status.message().to_owned();
    if key.eval_run_id != id {
        return Err("it has another name than the evaluation in it".to_owned());
    }
    if eval_runs.get(id).await.map_err(told)?.is_some() {
        return Err("it is there already".to_owned());
    }
    eval_runs.write(id, whole.key.get(), &text).await.map_err(told)
}

/// The files of a folder: each by its name without the ending.
#[derive(Debug, Default)]
struct Found {
    index: Option<String>,
    files: Vec<(String, io::Result<String>)>,
}

async fn found_in(project: &Path, folder: &str) -> Result<Found, Status> {
    let (project, folder) = (project.to_owned(), folder.to_owned());
    let found = tokio::task::spawn_blocking(move || read_folder(&project, &folder)).await;
    found.map_err(|error| Status::internal("no thread").caused_by(error))?.map_err(|error| {
        Status::failed_precondition(format!("the files of `.genkit` cannot be read: {error}"))
    })
}

/// All JSON files of a folder. A link that leads out of the project is not followed.
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

fn read_file(path: &Path) -> io::Result<String> {
    let about = fs::symlink_metadata(path)?;
    if !about.is_file() || about.len() > MAX_FILE {
        return Err(io::Error::other(format!("it is no file of at most {MAX_FILE} bytes")));
    }
    read_text(path, MAX_FILE)
}
