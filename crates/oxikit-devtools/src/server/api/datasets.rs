//! Data sets.

use std::sync::Arc;

use axum::extract::State;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::evaluation::{DatasetChange, DatasetInfo, Datasets, Listed, NewDataset, Sample};
use crate::server::reply::{Answer, Done, json as answer};
use crate::server::request::{JsonText, Path, exact_object};
use crate::server::shared::Shared;

/// The data sets of the project.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DatasetList {
    /// Oldest first.
    datasets: Vec<DatasetInfo>,
    /// What could not be read, if anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
}

/// A data set with its samples.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Dataset {
    dataset: DatasetInfo,
    /// As the text that is stored.
    #[schemars(with = "Vec<Sample>")]
    samples: Box<RawValue>,
}

/// `GET /api/v1/datasets`.
pub(crate) async fn list(State(shared): State<Arc<Shared>>) -> Answer {
    let Listed { items, warning } = Datasets::new(&shared.project).list().await?;
    answer(&DatasetList { datasets: items, warning })
}

/// `POST /api/v1/datasets`.
pub(crate) async fn create(State(shared): State<Arc<Shared>>, JsonText(body): JsonText) -> Answer {
    let new: NewDataset = exact_object(&body)?;
    answer(&Datasets::new(&shared.project).create(new).await?)
}

/// `GET /api/v1/datasets/{dataset}`.
pub(crate) async fn get(State(shared): State<Arc<Shared>>, Path(id): Path<String>) -> Answer {
    let (dataset, samples) = Datasets::new(&shared.project).get(&id).await?;
    answer(&Dataset { dataset, samples })
}

/// `PATCH /api/v1/datasets/{dataset}`.
pub(crate) async fn update(
    State(shared): State<Arc<Shared>>,
    Path(id): Path<String>,
    JsonText(body): JsonText,
) -> Answer {
    let change: DatasetChange = exact_object(&body)?;
    answer(&Datasets::new(&shared.project).update(&id, change).await?)
}

/// `DELETE /api/v1/datasets/{dataset}`.
pub(crate) async fn delete(State(shared): State<Arc<Shared>>, Path(id): Path<String>) -> Answer {
    Datasets::new(&shared.project).delete(&id).await?;
    answer(&Done {})
}
