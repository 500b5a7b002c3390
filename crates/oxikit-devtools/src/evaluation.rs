//! Data sets and evaluations: what an action answers to many inputs, and what
//! evaluators say about it.
//!
//! [`Datasets`] keeps the inputs, [`Evaluations`] runs an action on them, asks the
//! evaluators of a runtime, and keeps what they said in [`EvalRuns`]. All of it is in
//! the file of the traces. Inputs and outputs stay the text they came as.

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

use oxikit_core::Status;
use oxikit_sql::TraceError;

pub(crate) use case::Sample;
pub(crate) use datasets::{DatasetChange, DatasetInfo, Datasets, NewDataset, is_dataset_id};
pub(crate) use eval_runs::{EvalRun, EvalRunKey, EvalRuns, RunFilter};
pub(crate) use extract::{Extract, Extracted, extract};
pub(crate) use import::{Imported, import};
pub(crate) use request::{RunRequest, ValidateRequest};
pub(crate) use runner::{Evaluations, Progress};
pub(crate) use validation::{Validity, validate};

/// What of an error of the store may be told.
fn stored<T>(outcome: Result<T, TraceError>) -> Result<T, Status> {
    outcome.map_err(|error| match error {
        TraceError::Store(error) => error.into(),
        error => Status::internal("the data of the tools cannot be read").caused_by(error),
    })
}

/// What we have written ourselves is read again.
fn reread<'a, T: serde::Deserialize<'a>>(id: &str, json: &'a str) -> Result<T, Status> {
    serde_json::from_str(json).map_err(|error| {
        Status::internal(format!("`{id}` cannot be read; delete it")).caused_by(error)
    })
}
