//! Data sets, and where they are kept.

use std::collections::HashMap;

use oxikit_core::ports::StoreError;
use oxikit_core::{Status, StatusCode, timestamp};
use oxikit_sql::{ProjectError, ProjectStore, StoredDocument};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::case::{Sample, name_all};
use super::{Listed, reread, stored};
use crate::server::objects::{objects, some_objects};

/// The kinds of documents: what lists show, and the samples.
const INFO: &str = "dataset";
const SAMPLES: &str = "dataset.samples";
/// Data sets of a project.
const MAX_DATASETS: usize = 1000;
/// Bytes of the samples of one.
const MAX_BYTES: usize = 32 << 20;
/// So often a change is tried again after somebody else's.
const MAX_TRIES: usize = 8;

/// A data set as lists show it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DatasetInfo {
    pub(crate) dataset_id: String,
    /// Samples.
    #[serde(deserialize_with = "oxikit_wire::number::integer")]
    pub(crate) size: usize,
    /// JSON Schemas of inputs and references.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) schema: Option<Box<RawValue>>,
    #[serde(default)]
    pub(crate) dataset_type: DatasetType,
    /// What it was made for, such as `/flow/greet`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) target_action: Option<String>,
    /// The evaluators that are asked if nobody says which.
    #[serde(default)]
    pub(crate) metric_refs: Vec<String>,
    /// 1, and one more whenever samples change.
    #[serde(deserialize_with = "oxikit_wire::number::integer")]
    pub(crate) version: u32,
    pub(crate) create_time: String,
    pub(crate) update_time: String,
}

/// What kind of action a data set is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(crate) enum DatasetType {
    #[default]
    Unknown,
    Flow,
    Model,
    ExecutablePrompt,
}

/// A data set to be made.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NewDataset {
    #[serde(deserialize_with = "objects")]
    pub(crate) data: Vec<Sample>,
    /// Made up if it is not said.
    #[serde(default)]
    pub(crate) dataset_id: Option<String>,
    #[serde(default)]
    pub(crate) dataset_type: DatasetType,
    #[serde(default)]
    pub(crate) schema: Option<Box<RawValue>>,
    #[serde(default)]
    pub(crate) metric_refs: Vec<String>,
    #[serde(default)]
    pub(crate) target_action: Option<String>,
}

/// A change of a data set. What is not said stays.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct DatasetChange {
    /// Samples to add. One with a known id takes the place of the old one, or removes
    /// it if it has neither input nor reference.
    #[serde(deserialize_with = "some_objects")]
    pub(crate) data: Option<Vec<Sample>>,
    pub(crate) schema: Option<Box<RawValue>>,
    pub(crate) metric_refs: Option<Vec<String>>,
    pub(crate) target_action: Option<String>,
}

/// What is stored. A change writes its samples under a new name and then points to
/// them, so that both are old or both are new.
#[derive(Debug, Serialize, Deserialize)]
struct Row {
    info: DatasetInfo,
    samples: String,
}

/// The data sets of a project.
#[derive(Debug, Clone)]
pub(crate) struct Datasets(ProjectStore);

impl Datasets {
    pub(crate) fn new(store: &ProjectStore) -> Self {
        Self(store.clone())
    }

    /// All of them, oldest first.
    pub(crate) async fn list(&self) -> Result<Listed<DatasetInfo>, Status> {
        let list = stored(self.0.documents(INFO).await)?;
        let row = |document: StoredDocument| reread::<Row>(&document.id, &document.json);
        Ok(Listed::of(list, |document| row(document).map(|row| row.info)))
    }

    /// One, with its samples as the JSON they are stored as.
    pub(crate) async fn get(&self, id: &str) -> Result<(DatasetInfo, Box<RawValue>), Status> {
        let (row, _, samples) = self.read(id).await?;
        let samples = RawValue::from_string(samples.json).map_err(Status::from)?;
        Ok((row.info, samples))
    }

    /// One, with its samples.
    pub(crate) async fn samples(&self, id: &str) -> Result<(DatasetInfo, Vec<Sample>), Status> {
        let (row, _, samples) = self.read(id).await?;
        Ok((row.info, reread(id, &samples.json)?))
    }

    /// Makes one.
    pub(crate) async fn create(&self, new: NewDataset) -> Result<DatasetInfo, Status> {
        let NewDataset { mut data, dataset_id, dataset_type, schema, metric_refs, target_action } =
            new;
        let dataset_id = dataset_id.unwrap_or_else(made_up_id);
        check_id(&dataset_id)?;
        name_all(&mut data)?;
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

    /// Puts in one that is described already, unless there is one with its id.
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
        if stored(self.0.document(INFO, &info.dataset_id).await)?.is_some() {
            return Err(taken());
        }
        let row = Row { samples: self.write_samples(samples).await?, info: info.clone() };
        if self.write_row(&row, 0).await? { Ok(info) } else { Err(taken()) }
    }

    /// Changes one; what other writers do at the same time is kept.
    pub(crate) async fn update(
        &self,
        id: &str,
        change: DatasetChange,
    ) -> Result<DatasetInfo, Status> {
        let DatasetChange { mut data, schema, metric_refs, target_action } = change;
        name_all(data.as_deref_mut().unwrap_or_default())?;
        for _ in 0..MAX_TRIES {
            let (mut row, version, samples) = self.read(id).await?;
            let old = row.samples.clone();
            if let Some(data) = &data {
                let mut samples = merge(reread(id, &samples.json)?, data);
                // With what was there it may be too many.
                name_all(&mut samples)?;
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
                if old != row.samples {
                    stored(self.0.delete_document(SAMPLES, &old).await)?;
                }
                return Ok(row.info);
            }
        }
        let message = format!("the data set `{id}` is changed by others all the time; try again");
        Err(Status::public(StatusCode::Aborted, message))
    }

    /// Removes one.
    pub(crate) async fn delete(&self, id: &str) -> Result<(), Status> {
        let (row, ..) = self.read(id).await?;
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
            // Samples that are gone were replaced after the row was read.
            if let Some(samples) = stored(self.0.document(SAMPLES, &row.samples).await)? {
                return Ok((row, document.version, samples));
            }
        }
        Err(Status::internal(format!("the samples of `{id}` are lost; delete it")))
    }

    /// Writes samples and answers the name they are found by.
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

    /// Writes a row over this version; otherwise its samples go again.
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

/// Adds samples to those that are there.
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

fn made_up_id() -> String {
    let random = uuid::Uuid::new_v4().simple().to_string();
    format!("data-{}", &random[..12])
}

fn check_id(id: &str) -> Result<(), Status> {
    if is_dataset_id(id) {
        return Ok(());
    }
    Err(Status::invalid_argument(
        "the id of a data set has 6 to 36 letters, digits, `-`, `_` and `.`; it begins with a \
         letter and ends with a letter or a digit",
    ))
}

/// Whether it can be the id of a data set. Those that the official tools make up may
/// begin with a digit.
pub(crate) fn is_dataset_id(id: &str) -> bool {
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
        let store = ProjectStore::open(dir.path().join("tools.db")).unwrap();
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
        assert!(is_dataset_id(&made_up_id()));
    }
}
