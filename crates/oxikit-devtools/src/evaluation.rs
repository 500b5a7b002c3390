//! Data sets and evaluations: what an action answers to many inputs, and what
//! evaluators say about it.
//!
//! [`Datasets`] keeps the inputs, [`Evaluations`] runs an action on them, asks the
//! evaluators of a runtime, and keeps what they said in [`EvalRuns`]. All of it is in
//! the file of people's work, [`ProjectStore`](oxikit_sql::ProjectStore). Inputs and outputs stay the text they came as.

mod case;
mod datasets;
mod eval_runs;
mod extract;
mod import;
mod inference;
mod judging;
mod request;
mod root_trace;
mod runner;
mod summary;
mod target;
mod validation;

use oxikit_core::{Status, StatusCode};
use oxikit_sql::{Damage, DocumentList, ProjectError, StoredDocument};

pub(crate) use case::Sample;
pub(crate) use datasets::{DatasetChange, DatasetInfo, Datasets, NewDataset, is_dataset_id};
pub(crate) use eval_runs::{EvalRun, EvalRunKey, EvalRuns, RunFilter};
pub(crate) use extract::{Extract, Extracted, extract};
pub(crate) use import::{Imported, import};
pub(crate) use request::{RunRequest, ValidateRequest};
pub(crate) use runner::{Evaluations, Progress};
pub(crate) use validation::{Validity, validate};

/// What of an error of the store may be told.
fn stored<T>(outcome: Result<T, ProjectError>) -> Result<T, Status> {
    outcome.map_err(|error| match error {
        ProjectError::Store(error) => error.into(),
        ProjectError::Gone => Status::public(StatusCode::Unavailable, error.to_string()),
        error => Status::public(StatusCode::DataLoss, error.to_string()),
    })
}

/// A list, and a warning that names what of it cannot be read.
#[derive(Debug)]
pub(crate) struct Listed<T> {
    pub(crate) items: Vec<T>,
    pub(crate) warning: Option<String>,
}

impl<T> Listed<T> {
    /// Reads each document. One that is torn is named as those are that are on damaged pages.
    fn of(list: DocumentList, read: impl Fn(StoredDocument) -> Result<T, Status>) -> Self {
        let mut damage = list.damage.unwrap_or_default();
        let mut items = Vec::new();
        for document in list.documents {
            let id = document.id.clone();
            match read(document) {
                Ok(item) => items.push(item),
                Err(status) => {
                    tracing::error!(id, %status, "a stored document cannot be read");
                    damage.add(id);
                }
            }
        }
        let warning = (damage != Damage::default()).then(|| damage.warning());
        Self { items, warning }
    }
}

/// What we have written ourselves is read again.
fn reread<'a, T: serde::Deserialize<'a>>(id: &str, json: &'a str) -> Result<T, Status> {
    serde_json::from_str(json).map_err(|error| {
        Status::internal(format!("`{id}` cannot be read; delete it")).caused_by(error)
    })
}
