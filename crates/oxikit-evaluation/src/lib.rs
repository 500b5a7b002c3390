//! Data sets and evaluations: an action is run on many inputs, evaluators judge its outputs,
//! and the results are stored.
//!
//! [`Datasets`] stores the inputs. [`Evaluations`] runs an action of a runtime on them, calls
//! the evaluators of the runtime, and stores their metrics in [`EvalRuns`]. All of it is in the
//! database of a project, [`ProjectStore`](oxikit_core::ports::ProjectStore). Inputs and
//! outputs are stored as the JSON text that was received, so that numbers keep their digits.
//! The crate has no routes: the developer tools and the command line call it.
//!
//! ```
//! use std::sync::Arc;
//!
//! use oxikit_evaluation::{Datasets, NewDataset};
//! use oxikit_core::ports::ProjectStore;
//! use oxikit_core::ports::memory::MemoryProject;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let store: Arc<dyn ProjectStore> = Arc::new(MemoryProject::default());
//! let datasets = Datasets::new(&store);
//! let new: NewDataset = serde_json::from_str(
//!     r#"{"datasetId": "greetings", "data": [{"input": "Ada", "reference": "Hello, Ada!"}]}"#,
//! )?;
//! let info = datasets.create(new).await?;
//! assert_eq!((info.size, info.version), (1, 1));
//! # Ok(()) }
//! ```

mod case;
mod datasets;
mod eval_runs;
mod extract;
mod import;
mod inference;
mod judging;
mod metric;
mod request;
mod root_trace;
mod runner;
mod summary;
mod target;
mod validation;

use oxikit_core::ports::{DocumentList, ProjectError, StoredDocument};
use oxikit_core::{Status, StatusCode};
use oxikit_sql::Damage;

pub use case::Sample;
pub use datasets::{DatasetChange, DatasetInfo, Datasets, NewDataset, is_dataset_id};
pub use eval_runs::{EvalRun, EvalRunKey, EvalRuns, RunFilter};
pub use extract::{Extract, Extracted, extract};
pub use import::{Imported, import};
pub use request::{RunRequest, ValidateRequest};
pub use runner::{Evaluations, Progress};
pub use validation::{Validity, validate};

/// Converts an error of the store into a status with a public message.
fn stored<T>(outcome: Result<T, ProjectError>) -> Result<T, Status> {
    outcome.map_err(|error| match error {
        ProjectError::Store(error) => error.into(),
        ProjectError::Gone(_) => Status::public(StatusCode::Unavailable, error.to_string()),
        error => Status::public(StatusCode::DataLoss, error.to_string()),
    })
}

/// A list of stored items.
#[derive(Debug)]
pub struct Listed<T> {
    /// The items that can be read.
    pub items: Vec<T>,
    /// Names the items that cannot be read because the file is damaged; `None` if there are
    /// none.
    pub warning: Option<String>,
}

impl<T> Listed<T> {
    /// Reads each document. A document that cannot be parsed is named in the warning, like those
    /// on damaged pages.
    fn of(list: DocumentList, read: impl Fn(StoredDocument) -> Result<T, Status>) -> Self {
        let mut damage = Damage::of_documents(&list).unwrap_or_default();
        let mut items = Vec::new();
        for document in list.documents {
            let id = document.id.clone();
            match read(document) {
                Ok(item) => items.push(item),
                Err(status) => {
                    tracing::error!(id, %status, "a stored document could not be read");
                    damage.add(id);
                }
            }
        }
        let warning = (damage != Damage::default()).then(|| damage.warning());
        Self { items, warning }
    }
}

/// Parses a document that this crate has written.
fn reread<'a, T: serde::Deserialize<'a>>(id: &str, json: &'a str) -> Result<T, Status> {
    serde_json::from_str(json).map_err(|error| {
        Status::internal(format!("`{id}` cannot be read; delete it")).caused_by(error)
    })
}
