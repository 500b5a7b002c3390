//! Stores data sets.
//!
//! A data set is two documents: a row with its description, and its samples. A change first
//! writes the new samples under a new name and then replaces the row that points to them, on
//! the condition that the row still has the version that was read. So a reader always sees a
//! row with its own samples, and of two writers the second repeats its change on the result of
//! the first.

use std::collections::HashMap;
use std::sync::Arc;

use oxikit_core::ports::{ProjectError, ProjectStore, StoreError, StoredDocument};
use oxikit_core::{Status, StatusCode, timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::case::{Sample, assign_ids};
use super::{Listed, reread, stored};
use oxikit_http::api::{objects, some_objects};

/// The kinds of documents of a data set: its row, which lists show, and its samples.
const INFO: &str = "dataset";
const SAMPLES: &str = "dataset.samples";
/// Maximum number of data sets of a project. More are refused until some are deleted.
const MAX_DATASETS: usize = 1000;
/// Maximum number of bytes of the samples of one data set. More are refused.
const MAX_BYTES: usize = 32 << 20;
/// Maximum number of attempts to apply a change while other writers change the same data set.
/// Then the change fails with `ABORTED`.
const MAX_TRIES: usize = 8;

/// The description of a data set, without its samples.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DatasetInfo {
    /// The id of the data set.
    pub dataset_id: String,
    /// Number of samples.
    #[serde(deserialize_with = "oxikit_wire::number::integer")]
    pub size: usize,
    /// JSON Schemas of inputs and references.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Box<RawValue>>,
    /// The kind of action that the data set is for.
    #[serde(default)]
    pub dataset_type: DatasetType,
    /// The action that the data set is for, such as `/flow/greet`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_action: Option<String>,
    /// The evaluators that are called if a request names none.
    #[serde(default)]
    pub metric_refs: Vec<String>,
    /// 1 at first; each change of the samples adds one.
    #[serde(deserialize_with = "oxikit_wire::number::integer")]
    pub version: u32,
    /// When the data set was created (RFC 3339).
    pub create_time: String,
    /// When it was changed last (RFC 3339).
    pub update_time: String,
}

/// The kind of action that a data set is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum DatasetType {
    /// It was not said.
    #[default]
    Unknown,
    /// A flow.
    Flow,
    /// A model.
    Model,
    /// A prompt.
    ExecutablePrompt,
}

/// A request to create a data set.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewDataset {
    /// The samples.
    #[serde(deserialize_with = "objects")]
    pub data: Vec<Sample>,
    /// The id of the data set. Without one a random id is assigned.
    #[serde(default)]
    pub dataset_id: Option<String>,
    /// The kind of action that the data set is for.
    #[serde(default)]
    pub dataset_type: DatasetType,
    /// JSON Schemas of inputs and references.
    #[serde(default)]
    pub schema: Option<Box<RawValue>>,
    /// The evaluators that are called if a request names none.
    #[serde(default)]
    pub metric_refs: Vec<String>,
    /// The action that the data set is for, such as `/flow/greet`.
    #[serde(default)]
    pub target_action: Option<String>,
}

/// A change of a data set. Members that are missing stay as they are.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct DatasetChange {
    /// Samples to add. A sample with a known id replaces the old one, or deletes it if it has
    /// neither input nor reference.
    #[serde(deserialize_with = "some_objects")]
    pub data: Option<Vec<Sample>>,
    /// JSON Schemas of inputs and references.
    pub schema: Option<Box<RawValue>>,
    /// The evaluators that are called if a request names none.
    pub metric_refs: Option<Vec<String>>,
    /// The action that the data set is for.
    pub target_action: Option<String>,
}

/// The stored row of a data set; `samples` is the name of the document with its samples.
#[derive(Debug, Serialize, Deserialize)]
struct Row {
    info: DatasetInfo,
    samples: String,
}

/// The data sets of a project.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
/// use std::sync::Arc;
///
/// use oxikit_core::ports::ProjectStore;
/// use oxikit_core::ports::memory::MemoryProject;
/// use oxikit_evaluation::{DatasetChange, Datasets};
///
/// let store: Arc<dyn ProjectStore> = Arc::new(MemoryProject::default());
/// let datasets = Datasets::new(&store);
/// let new = r#"{"datasetId": "greetings", "data": [{"testCaseId": "a", "input": "Ada"}]}"#;
/// datasets.create(serde_json::from_str(new)?).await?;
/// // A sample with a known id replaces the stored one; others are added.
/// let change: DatasetChange = serde_json::from_str(
///     r#"{"data": [{"testCaseId": "a", "input": "Ada!"}, {"input": "Grace"}]}"#,
/// )?;
/// let info = datasets.update("greetings", change).await?;
/// assert_eq!((info.size, info.version), (2, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Datasets(Arc<dyn ProjectStore>);

impl Datasets {
    /// The data sets in this store.
    pub fn new(store: &Arc<dyn ProjectStore>) -> Self {
        Self(store.clone())
    }

    /// All data sets, oldest first. Those that cannot be read, because the file is damaged, are
    /// named in the warning.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub async fn list(&self) -> Result<Listed<DatasetInfo>, Status> {
        let list = stored(self.0.documents(INFO).await)?;
        let row = |document: StoredDocument| reread::<Row>(&document.id, &document.json);
        Ok(Listed::of(list, |document| row(document).map(|row| row.info)))
    }

    /// A data set, with its samples as stored JSON.
    ///
    /// # Errors
    ///
    /// `NOT_FOUND` if there is none with this id; else if the store cannot be read.
    pub async fn get(&self, id: &str) -> Result<(DatasetInfo, Box<RawValue>), Status> {
        let (row, _, samples) = self.read(id).await?;
        let samples = RawValue::from_string(samples.json).map_err(Status::from)?;
        Ok((row.info, samples))
    }

    /// A data set with its samples.
    ///
    /// # Errors
    ///
    /// Those of [`get`](Self::get).
    pub async fn samples(&self, id: &str) -> Result<(DatasetInfo, Vec<Sample>), Status> {
        let (row, _, samples) = self.read(id).await?;
        Ok((row.info, reread(id, &samples.json)?))
    }

    /// Creates a data set.
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT` if the id cannot be one of a data set or two samples have the same id;
    /// `ALREADY_EXISTS` if there is a data set with this id; `RESOURCE_EXHAUSTED` if it is too
    /// large or there are too many.
    pub async fn create(&self, new: NewDataset) -> Result<DatasetInfo, Status> {
        let NewDataset { mut data, dataset_id, dataset_type, schema, metric_refs, target_action } =
            new;
        let dataset_id = dataset_id.unwrap_or_else(random_id);
        check_id(&dataset_id)?;
        assign_ids(&mut data)?;
        let now = timestamp::now();
        let info = DatasetInfo {
            dataset_id,
            size: data.len(),
            schema,
            dataset_type,
            target_action,
            metric_refs,
            version: 1,
            create_time: now.clone(),
            update_time: now,
        };
        self.add(info, &data).await
    }

    /// Adds a data set with its description, unless there is one with its id.
    pub(super) async fn add(
        &self,
        info: DatasetInfo,
        samples: &[Sample],
    ) -> Result<DatasetInfo, Status> {
        if stored(self.0.documents(INFO).await)?.documents.len() >= MAX_DATASETS {
            let message = format!("there are {MAX_DATASETS} data sets: delete some");
            return Err(Status::resource_exhausted(message));
        }
        let taken = || {
            let message = format!("there is a data set `{}` already", info.dataset_id);
            Status::public(StatusCode::AlreadyExists, message)
        };
        // Before the samples are written, which may be large. The write of the row checks it
        // again.
        if stored(self.0.document(INFO, &info.dataset_id).await)?.is_some() {
            return Err(taken());
        }
        let row = Row { samples: self.write_samples(samples).await?, info: info.clone() };
        if self.write_row(&row, 0).await? { Ok(info) } else { Err(taken()) }
    }

    /// Changes a data set. Changes that other writers make at the same time are kept.
    ///
    /// # Errors
    ///
    /// `NOT_FOUND` if there is none with this id, `ABORTED` if other writers changed it each time
    /// this change was tried; else those of [`create`](Self::create).
    pub async fn update(&self, id: &str, change: DatasetChange) -> Result<DatasetInfo, Status> {
        let DatasetChange { mut data, schema, metric_refs, target_action } = change;
        assign_ids(data.as_deref_mut().unwrap_or_default())?;
        // Optimistic concurrency: read, change, and write on the condition that the version is
        // still the same. After a conflict the change is applied to the new state.
        for _ in 0..MAX_TRIES {
            let (mut row, version, samples) = self.read(id).await?;
            let old = row.samples.clone();
            if let Some(data) = &data {
                let mut samples = merge(reread(id, &samples.json)?, data);
                // Together with the old samples there may be too many.
                assign_ids(&mut samples)?;
                row.samples = self.write_samples(&samples).await?;
                row.info.size = samples.len();
                row.info.version += 1;
            }
            let info = &mut row.info;
            info.schema = schema.clone().or(info.schema.take());
            info.target_action = target_action.clone().or(info.target_action.take());
            info.metric_refs = metric_refs.clone().unwrap_or(std::mem::take(&mut info.metric_refs));
            info.update_time = timestamp::now();
            if self.write_row(&row, version).await? {
                // The old samples are deleted last: readers of the old row may still need them,
                // and read again if they are gone.
                if old != row.samples {
                    stored(self.0.delete_document(SAMPLES, &old).await)?;
                }
                return Ok(row.info);
            }
        }
        let message = format!("the data set `{id}` is changed by others all the time; try again");
        Err(Status::public(StatusCode::Aborted, message))
    }

    /// Deletes a data set with its samples. Evaluations that used it stay.
    ///
    /// # Errors
    ///
    /// `NOT_FOUND` if there is none with this id; else if the store cannot be written.
    pub async fn delete(&self, id: &str) -> Result<(), Status> {
        let (row, ..) = self.read(id).await?;
        // The row first: without it the samples cannot be found.
        stored(self.0.delete_document(INFO, id).await)?;
        stored(self.0.delete_document(SAMPLES, &row.samples).await)?;
        Ok(())
    }

    /// The row, its version, and the samples it points to.
    async fn read(&self, id: &str) -> Result<(Row, u32, StoredDocument), Status> {
        for _ in 0..MAX_TRIES {
            let Some(document) = stored(self.0.document(INFO, id).await)? else {
                let message =
                    format!("there is no data set `{id}`; `oxikit dataset list` says which");
                return Err(Status::not_found(message));
            };
            let row: Row = reread(id, &document.json)?;
            // If the samples are gone, a writer has replaced the row after it was read.
            if let Some(samples) = stored(self.0.document(SAMPLES, &row.samples).await)? {
                return Ok((row, document.version, samples));
            }
        }
        Err(Status::internal(format!("the samples of `{id}` are lost; delete it")))
    }

    /// Writes samples under a new name and returns the name.
    async fn write_samples(&self, samples: &[Sample]) -> Result<String, Status> {
        let json = serde_json::to_string(samples).map_err(Status::from)?;
        if json.len() > MAX_BYTES {
            let message = format!("the samples have {} bytes: at most {MAX_BYTES}", json.len());
            return Err(Status::resource_exhausted(message));
        }
        let name = uuid::Uuid::new_v4().to_string();
        stored(self.0.put_document(SAMPLES, &name, json, Some(0)).await)?;
        Ok(name)
    }

    /// Replaces the row if it still has the version `over`. If not, deletes the samples of the
    /// new row, which no other row names, and returns false.
    async fn write_row(&self, row: &Row, over: u32) -> Result<bool, Status> {
        let json = serde_json::to_string(row).map_err(Status::from)?;
        let written = self.0.put_document(INFO, &row.info.dataset_id, json, Some(over)).await;
        match written {
            Err(ProjectError::Store(StoreError::Conflict(_))) => {
                stored(self.0.delete_document(SAMPLES, &row.samples).await)?;
                Ok(false)
            }
            written => stored(written).map(|_| true),
        }
    }
}

/// Applies changes to samples: adds, replaces, or deletes.
fn merge(samples: Vec<Sample>, changes: &[Sample]) -> Vec<Sample> {
    let places = samples.iter().enumerate();
    let places: HashMap<String, usize> =
        places.map(|(place, sample)| (sample.test_case_id.clone(), place)).collect();
    let mut merged: Vec<Option<Sample>> = samples.into_iter().map(Some).collect();
    for change in changes {
        let is_empty = change.input.is_none() && change.reference.is_none();
        let change_to = (!is_empty).then(|| change.clone());
        match places.get(&change.test_case_id) {
            Some(place) => merged[*place] = change_to,
            None => merged.push(change_to),
        }
    }
    merged.into_iter().flatten().collect()
}

/// An id for a data set that was created without one.
fn random_id() -> String {
    let random = uuid::Uuid::new_v4().simple().to_string();
    format!("data-{}", &random[..12])
}

/// Refuses texts that are not [ids of data sets](is_dataset_id).
fn check_id(id: &str) -> Result<(), Status> {
    if is_dataset_id(id) {
        return Ok(());
    }
    Err(Status::invalid_argument(
        "the id of a data set has 6 to 36 letters, digits, `-`, `_` and `.`; it begins with a \
         letter and ends with a letter or a digit",
    ))
}

/// Whether a text can be the id of a data set: 6 to 36 letters, digits, `-`, `_` and `.`, or a
/// UUID, which the official tools assign.
///
/// ```
/// assert!(oxikit_evaluation::is_dataset_id("greetings"));
/// assert!(!oxikit_evaluation::is_dataset_id("../etc"));
/// ```
pub fn is_dataset_id(id: &str) -> bool {
    let bytes = id.as_bytes();
    let is_inner = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    let is_named = (6..=36).contains(&bytes.len())
        && bytes[0].is_ascii_alphabetic()
        && bytes[bytes.len() - 1].is_ascii_alphanumeric()
        && bytes.iter().all(is_inner);
    is_named || (id.len() == 36 && uuid::Uuid::try_parse(id).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(json: &str) -> Vec<Sample> {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn samples_are_added_replaced_and_removed() {
        let known = samples(r#"[{"testCaseId":"a","input":1},{"testCaseId":"b","input":2}]"#);
        let changes = r#"[{"testCaseId":"c","input":3},{"testCaseId":"a"},
            {"testCaseId":"b","input":4,"reference":"four"},{"testCaseId":"nobody"}]"#;
        let known = merge(known, &samples(changes));
        let expected =
            r#"[{"testCaseId":"b","input":4,"reference":"four"},{"testCaseId":"c","input":3}]"#;
        assert_eq!(serde_json::to_string(&known).unwrap(), expected);
    }

    #[tokio::test]
    async fn changes_at_the_same_time_are_all_kept() {
        let dir = tempfile::tempdir().unwrap();
        let store = oxikit_sql::SqliteProject::open(dir.path().join("project.db")).unwrap();
        let store: Arc<dyn ProjectStore> = Arc::new(store);
        let datasets = Datasets::new(&store);
        let new = r#"{"datasetId":"busy-one","data":[]}"#;
        datasets.create(serde_json::from_str(new).unwrap()).await.unwrap();
        // All of them read what is there before one of them writes.
        let changes = (0..6).map(|n| {
            let data = Some(samples(&format!(r#"[{{"testCaseId":"{n}","input":{n}}}]"#)));
            datasets.update("busy-one", DatasetChange { data, ..DatasetChange::default() })
        });
        for changed in futures_util::future::join_all(changes).await {
            changed.unwrap();
        }
        let (info, samples) = datasets.samples("busy-one").await.unwrap();
        assert_eq!((info.size, info.version, samples.len()), (6, 7, 6));
        assert_eq!(
            store.documents(SAMPLES).await.unwrap().documents.len(),
            1,
            "nothing is left behind"
        );
    }

    #[test]
    fn ids_are_plain_names() {
        let long = "a".repeat(36);
        for good in ["greetings", "a.b-c_d1", &long, "8101cd94-d3e9-459a-848d-f6a7bb59a949"] {
            assert!(is_dataset_id(good), "{good}");
        }
        let long = "a".repeat(37);
        for bad in ["", "short", "../../x", "a/bcde", "1abcdef", "abcdef-", "abcdé-f", &long] {
            assert!(!is_dataset_id(bad), "{bad}");
        }
        assert!(is_dataset_id(&random_id()));
    }
}
