//! Makes cases from stored traces of a flow: its earlier inputs and outputs. They can be
//! evaluated without a further run, or become a data set.

use oxikit_core::Status;
use oxikit_traces::{TraceQuery, TraceStatus, TraceStore};
use schemars::JsonSchema;
use serde::Serialize;

use super::case::{Case, MAX_CASES};
use super::root_trace;
use oxikit_traces::trace_status;

/// Number of traces that are read from the store at a time.
const PAGE: usize = 100;

/// A selection of traces that are turned into cases.
#[derive(Debug)]
pub struct Extract {
    /// Traces of this flow.
    pub flow: String,
    /// Only traces of a batch run with this label, which is their attribute `batchRun`.
    pub label: Option<String>,
    /// Maximum number of cases; at most 10,000.
    pub limit: usize,
}

/// The cases that were found, newest first.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Extracted {
    cases: Vec<Case>,
    /// Number of traces that were skipped because their input is missing or was cut.
    skipped: usize,
}

/// Makes cases from the traces of a flow. The id of a case is that of its trace, so that
/// extracting again gives the same ids.
///
/// # Errors
///
/// If the traces cannot be read.
///
/// Traces that still run are left out. Traces whose input is missing or was cut are counted as
/// skipped.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
/// # let folder = std::env::temp_dir().join(format!("oxikit-extract-{}", std::process::id()));
/// # let traces = oxikit_traces::TraceStore::open(folder.join("traces.db"))?;
/// use oxikit_evaluation::{Extract, extract};
///
/// let wanted = Extract { flow: "greet".to_owned(), label: None, limit: 100 };
/// let extracted = extract(&traces, &wanted).await?;
/// println!("{}", serde_json::to_string(&extracted)?);
/// # drop(traces);
/// # std::fs::remove_dir_all(folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub async fn extract(store: &TraceStore, wanted: &Extract) -> Result<Extracted, Status> {
    let limit = wanted.limit.min(MAX_CASES);
    let mut found = Extracted { cases: Vec::new(), skipped: 0 };
    let mut query = TraceQuery::default();
    query.kind = Some("flow".to_owned());
    query.name = Some(wanted.flow.clone());
    query.labels.extend(wanted.label.iter().map(|label| ("batchRun".to_owned(), label.clone())));
    query.limit = limit.clamp(1, PAGE);
    while found.cases.len() < limit {
        let page = store.list(&query).await.map_err(trace_status)?;
        for trace in page.traces {
            if trace.status == TraceStatus::Running || found.cases.len() == limit {
                continue;
            }
            let facts = root_trace::read(store, &trace.trace_id).await?;
            if facts.input.is_none() {
                found.skipped += 1;
                continue;
            }
            found.cases.push(Case {
                test_case_id: trace.trace_id.clone(),
                input: facts.input,
                output: facts.output,
                error: facts.error,
                context: Some(facts.context),
                trace_ids: vec![trace.trace_id],
                ..Case::default()
            });
        }
        match page.next {
            Some(next) => query.after = Some(next),
            None => break,
        }
    }
    Ok(found)
}
