//! Data sets.

use std::sync::Arc;

use axum::extract::{Path, State};
use serde_json::json;

use crate::evaluation::{DatasetChange, Datasets, Listed, NewDataset};
use crate::server::reply::{Answer, json as answer};
use crate::server::request::{JsonText, object};
use crate::server::shared::Shared;

/// `GET /api/v1/datasets`.
pub(crate) async fn list(State(shared): State<Arc<Shared>>) -> Answer {
    let Listed { items, warning } = Datasets::new(&shared.project).list().await?;
    let mut list = json!({"datasets": items});
    if let Some(warning) = warning {
        list["warning"] = warning.into();
    }
    answer(&list)
}

/// `POST /api/v1/datasets`.
pub(crate) async fn create(State(shared): State<Arc<Shared>>, JsonText(body): JsonText) -> Answer {
    let new: NewDataset = object(&body)?;
    answer(&Datasets::new(&shared.project).create(new).await?)
}

/// `GET /api/v1/datasets/{dataset}`.
pub(crate) async fn get(State(shared): State<Arc<Shared>>, Path(id): Path<String>) -> Answer {
    /// The samples are the text they are stored as.
    #[derive(serde::Serialize)]
    struct Whole<Info, Samples> {
        dataset: Info,
        samples: Samples,
    }
    let (dataset, samples) = Datasets::new(&shared.project).get(&id).await?;
    answer(&Whole { dataset, samples })
}

/// `PATCH /api/v1/datasets/{dataset}`.
pub(crate) async fn update(
    State(shared): State<Arc<Shared>>,
    Path(id): Path<String>,
    JsonText(body): JsonText,
) -> Answer {
    let change: DatasetChange = object(&body)?;
    answer(&Datasets::new(&shared.project).update(&id, change).await?)
}

/// `DELETE /api/v1/datasets/{dataset}`.
pub(crate) async fn delete(State(shared): State<Arc<Shared>>, Path(id): Path<String>) -> Answer {
    Datasets::new(&shared.project).delete(&id).await?;
    answer(&json!({}))
}
