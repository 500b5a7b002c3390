//! Handlers of evaluations. An evaluation runs as long as its request: a client that disconnects
//! cancels it, and nothing is stored.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode as HttpStatus;
use futures_util::{Stream, stream};
use oxikit_core::Status;
use oxikit_http::reply::{json_response, stream_response};
use oxikit_http::sse::write_event;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::sync::mpsc;

use crate::shapes::Failed;
use crate::shared::Shared;
use oxikit_evaluation::{
    self, EvalRunKey, EvalRuns, Evaluations, Extract, Progress, RunFilter, RunRequest,
};
use oxikit_http::HttpResult;
use oxikit_http::api::Query;
use oxikit_http::api::{Done, json as answer};
use oxikit_http::api::{JsonText, Nothing, Path, exact_object};

/// Default number of evaluations of a list.
const PAGE: usize = 100;
/// Maximum number of events that wait for a slow reader. Beyond it the evaluation waits, too.
const WAITING: usize = 64;

/// A filter of evaluations.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ListQuery {
    /// Evaluations of this action, such as `/flow/greet`.
    action: Option<String>,
    /// Evaluations of this data set.
    dataset: Option<String>,
    /// Maximum number of entries. The default is 100.
    limit: Option<u32>,
}

/// A list of evaluations.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct EvaluationList {
    /// The evaluations as stored JSON, newest first.
    #[schemars(with = "Vec<EvalRunKey>")]
    evaluations: Vec<Box<RawValue>>,
    /// Names the entries that cannot be read because the file is damaged.
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
}

/// `GET /api/v1/evaluations[?action=][&dataset=][&limit=]`: newest first.
pub(crate) async fn list(
    State(shared): State<Arc<Shared>>,
    Query(asked): Query<ListQuery>,
) -> HttpResult {
    let filter = RunFilter { action: asked.action, dataset: asked.dataset };
    let keys = EvalRuns::new(&shared.project).keys(&filter).await?;
    let newest = keys.items.into_iter().rev().take(entries(asked.limit));
    answer(&EvaluationList { evaluations: newest.collect(), warning: keys.warning })
}

fn entries(limit: Option<u32>) -> usize {
    limit.map_or(PAGE, |limit| limit as usize)
}

/// An event of an evaluation: `progress`, then `done` with its key or `error`.
#[derive(Debug, JsonSchema)]
#[schemars(tag = "event", content = "data", rename_all = "camelCase")]
#[allow(dead_code, reason = "only described")]
pub(crate) enum EvaluationEvent {
    Progress(Progress),
    Done(EvalRunKey),
    Error(Failed),
}

/// `POST /api/v1/evaluations`: makes an evaluation and returns its key.
pub(crate) async fn run(State(shared): State<Arc<Shared>>, JsonText(body): JsonText) -> HttpResult {
    let request: RunRequest = exact_object(&body)?;
    answer(
        &Evaluations::new(&shared.traces, &shared.project, &shared.runtimes)
            .run(request, None)
            .await?,
    )
}

/// `POST /api/v1/evaluations/stream`: makes an evaluation and streams its progress, then `done`
/// with the key, or `error`. A client that disconnects cancels the evaluation.
pub(crate) async fn stream(
    State(shared): State<Arc<Shared>>,
    JsonText(body): JsonText,
) -> HttpResult {
    let request: RunRequest = exact_object(&body)?;
    let evaluations = Evaluations::new(&shared.traces, &shared.project, &shared.runtimes);
    let (tx, progress) = mpsc::channel(WAITING);
    let work = async move {
        match evaluations.run(request, Some(tx)).await {
            Ok(key) => event("done", &key),
            Err(status) => event("error", &status.outgoing()),
        }
    };
    Ok(stream_response(Body::from_stream(events(progress, Box::pin(work)))))
}

/// The progress of an evaluation, and then its end.
fn events(
    progress: mpsc::Receiver<Progress>,
    work: Pin<Box<dyn Future<Output = Vec<u8>> + Send>>,
) -> impl Stream<Item = Result<Vec<u8>, Infallible>> + Send {
    stream::unfold(Some((progress, work)), |reader| async move {
        let (mut progress, mut work) = reader?;
        // The evaluation makes progress only while this stream is polled, so a client that
        // disconnects drops it and cancels its runs. `biased` sends progress before the end.
        tokio::select! {
            biased;
            Some(step) = progress.recv() => {
                Some((Ok(event("progress", &step)), Some((progress, work))))
            }
            end = &mut work => {
                // Progress that was sent just before the end comes first.
                let mut last = Vec::new();
                while let Ok(step) = progress.try_recv() {
                    last.extend(event("progress", &step));
                }
                last.extend(end);
                Some((Ok(last), None))
            }
        }
    })
}

/// A server-sent event.
fn event(name: &str, data: &impl Serialize) -> Vec<u8> {
    let mut event = Vec::new();
    write_event(&mut event, name, &serde_json::to_vec(data).unwrap_or_default());
    event
}

/// `GET /api/v1/evaluations/{evaluation}`: one evaluation with its results.
pub(crate) async fn get(State(shared): State<Arc<Shared>>, Path(id): Path<String>) -> HttpResult {
    let run = EvalRuns::new(&shared.project).get(&id).await?.ok_or_else(|| unknown(&id))?;
    Ok(json_response(HttpStatus::OK, run))
}

/// `DELETE /api/v1/evaluations/{evaluation}`: 404 if there is no such evaluation.
pub(crate) async fn delete(
    State(shared): State<Arc<Shared>>,
    Path(id): Path<String>,
) -> HttpResult {
    match EvalRuns::new(&shared.project).delete(&id).await? {
        true => answer(&Done {}),
        false => Err(unknown(&id).into()),
    }
}

/// `POST /api/v1/evaluations/validate`: compares data with the schema of an action without running it.
pub(crate) async fn validate(
    State(shared): State<Arc<Shared>>,
    JsonText(body): JsonText,
) -> HttpResult {
    answer(
        &oxikit_evaluation::validate(&shared.project, &shared.runtimes, exact_object(&body)?)
            .await?,
    )
}

/// The traces that become cases.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ExtractQuery {
    /// Traces of this flow.
    flow: String,
    /// Only traces of a batch run with this label.
    label: Option<String>,
    /// Maximum number of entries. The default is 100.
    limit: Option<u32>,
}

/// `GET /api/v1/evaluations/extract?flow=[&label=][&limit=]`: makes cases from stored traces, with the
/// input and output of each run. Nothing is run.
pub(crate) async fn extract(
    State(shared): State<Arc<Shared>>,
    Query(asked): Query<ExtractQuery>,
) -> HttpResult {
    let ExtractQuery { flow, label, limit } = asked;
    let wanted = Extract { flow, label, limit: entries(limit) };
    answer(&oxikit_evaluation::extract(&shared.traces, &wanted).await?)
}

/// `POST /api/v1/evaluations/import`: imports the files of the official tools below `.genkit`.
pub(crate) async fn import(State(shared): State<Arc<Shared>>, _: Nothing) -> HttpResult {
    answer(&oxikit_evaluation::import(&shared.project, &shared.options.root).await?)
}

fn unknown(id: &str) -> Status {
    Status::not_found(format!("there is no evaluation `{id}`; `oxikit eval list` says which"))
}

#[cfg(test)]
mod tests {
    use futures_util::TryStreamExt;

    use super::*;

    #[tokio::test]
    async fn progress_that_is_sent_just_before_the_end_comes_before_it() {
        let (tx, progress) = mpsc::channel(WAITING);
        let work = async move {
            for done in 1..=2 {
                let step = Progress::Case { done, test_case_id: "a".to_owned(), error: None };
                tx.send(step).await.unwrap();
            }
            b"end".to_vec()
        };
        let Ok(pieces) = events(progress, Box::pin(work)).try_concat().await;
        let text = String::from_utf8(pieces).unwrap();
        let case = |done| {
            format!(
                "event: progress\ndata: {{\"type\":\"case\",\"done\":{done},\"testCaseId\":\"a\"}}\n\n"
            )
        };
        assert_eq!(text, case(1) + &case(2) + "end");
    }
}
