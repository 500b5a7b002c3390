//! Handlers of data sets. Rules about ids, versions and samples are in `oxikit-evaluation`.

use std::sync::Arc;

use axum::extract::State;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::shared::Shared;
use oxikit_evaluation::{DatasetChange, DatasetInfo, Datasets, Listed, NewDataset, Sample};
use oxikit_http::HttpResult;
use oxikit_http::api::{Done, json as answer};
use oxikit_http::api::{JsonText, Path, exact_object};

/// The data sets of the project.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DatasetList {
    /// Oldest first.
    datasets: Vec<DatasetInfo>,
    /// Names the entries that cannot be read because the file is damaged.
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
}

/// A data set with its samples.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Dataset {
    dataset: DatasetInfo,
    /// The samples as stored JSON.
    #[schemars(with = "Vec<Sample>")]
    samples: Box<RawValue>,
}

/// `GET /api/v1/datasets`: the data sets without their samples.
pub(crate) async fn list(State(shared): State<Arc<Shared>>) -> HttpResult {
    let Listed { items, warning } = Datasets::new(&shared.project).list().await?;
    answer(&DatasetList { datasets: items, warning })
}

/// `POST /api/v1/datasets`: creates a data set. An id in use is an error.
pub(crate) async fn create(
    State(shared): State<Arc<Shared>>,
    JsonText(body): JsonText,
) -> HttpResult {
    let new: NewDataset = exact_object(&body)?;
    answer(&Datasets::new(&shared.project).create(new).await?)
}

/// `GET /api/v1/datasets/{dataset}`: one data set with all samples.
pub(crate) async fn get(State(shared): State<Arc<Shared>>, Path(id): Path<String>) -> HttpResult {
    let (dataset, samples) = Datasets::new(&shared.project).get(&id).await?;
    answer(&Dataset { dataset, samples })
}

/// `PATCH /api/v1/datasets/{dataset}`: changes the members that the body has. A change of samples makes
/// a new version.
pub(crate) async fn update(
    State(shared): State<Arc<Shared>>,
    Path(id): Path<String>,
    JsonText(body): JsonText,
) -> HttpResult {
    let change: DatasetChange = exact_object(&body)?;
    answer(&Datasets::new(&shared.project).update(&id, change).await?)
}

/// `DELETE /api/v1/datasets/{dataset}`: deletes a data set with its samples.
pub(crate) async fn delete(
    State(shared): State<Arc<Shared>>,
    Path(id): Path<String>,
) -> HttpResult {
    Datasets::new(&shared.project).delete(&id).await?;
    answer(&Done {})
}
