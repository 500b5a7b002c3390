//! Makes cases out of traces: what a flow was asked before, and what it answered.

use oxikit_core::Status;
use oxikit_sql::{TraceQuery, TraceStatus, TraceStore};
use schemars::JsonSchema;
use serde::Serialize;

use super::case::{Case, MAX_CASES};
use super::root_trace;
use crate::telemetry::trace_status;

/// Traces that are read at once.
const PAGE: usize = 100;

/// Which traces.
#[derive(Debug)]
pub(crate) struct Extract {
    /// Of this flow.
    pub(crate) flow: String,
    /// Of a batch that was run with this label.
    pub(crate) label: Option<String>,
    /// At most so many.
    pub(crate) limit: usize,
}

/// Cases, newest first.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Extracted {
    cases: Vec<Case>,
    /// Traces whose input is not there in whole.
    skipped: usize,
}

/// The cases that the traces of a flow tell. Each is named by its trace, so that the
/// same one is found again.
pub(crate) async fn extract(store: &TraceStore, wanted: &Extract) -> Result<Extracted, Status> {
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
