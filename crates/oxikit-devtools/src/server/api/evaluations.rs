//! Evaluations: made, shown and removed.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode as HttpStatus;
use futures_util::{Stream, stream};
use oxikit_core::Status;
use oxikit_serve::inside::{json_response, stream_response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::sync::mpsc;

use crate::evaluation::{
    self, EvalRunKey, EvalRuns, Evaluations, Extract, Progress, RunFilter, RunRequest,
};
use crate::server::query::Query;
use crate::server::reply::{Answer, Done, json as answer};
use crate::server::request::{JsonText, Nothing, Path, exact_object};
use crate::server::shapes::Failed;
use crate::server::shared::Shared;

/// Evaluations of a list, if nothing else is said.
const PAGE: usize = 100;
/// Events that wait for a reader; then the evaluation waits, too.
const WAITING: usize = 64;

/// Which evaluations.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ListQuery {
    /// Of this action, such as `/flow/greet`.
    action: Option<String>,
    /// Of this data set.
    dataset: Option<String>,
    /// At most so many; 100 if nothing is said.
    limit: Option<u32>,
}

/// Evaluations.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct EvaluationList {
    /// Newest first, as the text that is stored.
    #[schemars(with = "Vec<EvalRunKey>")]
    evaluations: Vec<Box<RawValue>>,
    /// What could not be read, if anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
}

/// `GET /api/v1/evaluations[?action=][&dataset=][&limit=]`: newest first.
pub(crate) async fn list(
    State(shared): State<Arc<Shared>>,
    Query(asked): Query<ListQuery>,
) -> Answer {
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

/// `POST /api/v1/evaluations`: its key, when it is made.
pub(crate) async fn run(State(shared): State<Arc<Shared>>, JsonText(body): JsonText) -> Answer {
    let request: RunRequest = exact_object(&body)?;
    answer(
        &Evaluations::new(&shared.traces, &shared.project, &shared.runtimes)
            .run(request, None)
            .await?,
    )
}

/// `POST /api/v1/evaluations/stream`: what happens, as events, then `done` with the key
/// or `error`. Who leaves cancels it.
pub(crate) async fn stream(State(shared): State<Arc<Shared>>, JsonText(body): JsonText) -> Answer {
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

/// What an evaluation tells, and then its end.
fn events(
    progress: mpsc::Receiver<Progress>,
    work: Pin<Box<dyn Future<Output = String> + Send>>,
) -> impl Stream<Item = Result<String, Infallible>> + Send {
    stream::unfold(Some((progress, work)), |reader| async move {
        let (mut progress, mut work) = reader?;
        tokio::select! {
            biased;
            Some(told) = progress.recv() => {
                Some((Ok(event("progress", &told)), Some((progress, work))))
            }
            end = &mut work => {
                // It may have told something just before.
                let mut last = String::new();
                while let Ok(told) = progress.try_recv() {
                    last.push_str(&event("progress", &told));
                }
                Some((Ok(last + &end), None))
            }
        }
    })
}

/// JSON as serde writes it has no line feeds.
fn event(name: &str, data: &impl Serialize) -> String {
    let data = serde_json::to_string(data).unwrap_or_default();
    format!("event: {name}\ndata: {data}\n\n")
}

/// `GET /api/v1/evaluations/{evaluation}`.
pub(crate) async fn get(State(shared): State<Arc<Shared>>, Path(id): Path<String>) -> Answer {
    let run = EvalRuns::new(&shared.project).get(&id).await?.ok_or_else(|| unknown(&id))?;
    Ok(json_response(HttpStatus::OK, run))
}

/// `DELETE /api/v1/evaluations/{evaluation}`.
pub(crate) async fn delete(State(shared): State<Arc<Shared>>, Path(id): Path<String>) -> Answer {
    match EvalRuns::new(&shared.project).delete(&id).await? {
        true => answer(&Done {}),
        false => Err(unknown(&id).into()),
    }
}

/// `POST /api/v1/evaluations/validate`.
pub(crate) async fn validate(
    State(shared): State<Arc<Shared>>,
    JsonText(body): JsonText,
) -> Answer {
    answer(&evaluation::validate(&shared.project, &shared.runtimes, exact_object(&body)?).await?)
}

/// Which traces become cases.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ExtractQuery {
    /// Those of this flow.
    flow: String,
    /// Those of a batch that was run with this label.
    label: Option<String>,
    /// At most so many; 100 if nothing is said.
    limit: Option<u32>,
}

/// `GET /api/v1/evaluations/extract?flow=[&label=][&limit=]`.
pub(crate) async fn extract(
    State(shared): State<Arc<Shared>>,
    Query(asked): Query<ExtractQuery>,
) -> Answer {
    let ExtractQuery { flow, label, limit } = asked;
    let wanted = Extract { flow, label, limit: entries(limit) };
    answer(&evaluation::extract(&shared.traces, &wanted).await?)
}

/// `POST /api/v1/evaluations/import`.
pub(crate) async fn import(State(shared): State<Arc<Shared>>, _: Nothing) -> Answer {
    answer(&evaluation::import(&shared.project, &shared.options.root).await?)
}

fn unknown(id: &str) -> Status {
    Status::not_found(format!("there is no evaluation `{id}`; `oxikit eval list` says which"))
}

#[cfg(test)]
mod tests {
    use futures_util::TryStreamExt;

    use super::*;

    #[tokio::test]
    async fn what_is_told_just_before_the_end_comes_before_it() {
        let (tx, progress) = mpsc::channel(WAITING);
        let work = async move {
            for done in 1..=2 {
                let told = Progress::Case { done, test_case_id: "a".to_owned(), error: None };
                tx.send(told).await.unwrap();
            }
            "end".to_owned()
        };
        let Ok(text) = events(progress, Box::pin(work)).try_collect::<String>().await;
        let case = |done| {
            format!(
                "event: progress\ndata: {{\"type\":\"case\",\"done\":{done},\"testCaseId\":\"a\"}}\n\n"
            )
        };
        assert_eq!(text, case(1) + &case(2) + "end");
    }
}
