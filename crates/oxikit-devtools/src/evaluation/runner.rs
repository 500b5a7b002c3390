//! Makes an evaluation: runs an action on all cases, asks the evaluators, sums up.

use std::time::Duration;

use futures_util::{StreamExt, stream};
use oxikit_core::{Status, StatusCode, redact, timestamp};
use oxikit_sql::{ProjectStore, TraceStore};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::sync::mpsc;

use super::case::Case;
use super::datasets::Datasets;
use super::eval_runs::{EvalRun, EvalRunKey, EvalRuns, Metric};
use super::inference::{Caller, Inference};
use super::judging::{EVALUATORS, Evaluator, Judging, choose};
use super::request::{RunOptions, RunRequest};
use super::summary::summarise;
use super::target::Target;
use crate::manager::Runtimes;
use crate::server::reply::status_of;

/// Cases that are run at once, if nothing else is said.
const AT_ONCE: usize = 4;
const MAX_AT_ONCE: usize = 64;
/// Bytes of all outputs of an evaluation. What comes then is an error of its case.
const MAX_OUTPUT: usize = 64 << 20;

/// What happens in an evaluation.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "type")]
pub(crate) enum Progress {
    /// It begins.
    Started { eval_run_id: String, cases: usize, evaluators: Vec<String> },
    /// The action has run on a case.
    Case {
        done: usize,
        test_case_id: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// An evaluator has said what it thinks.
    Evaluator {
        done: usize,
        evaluator: String,
        /// Cases it could not judge.
        errors: usize,
    },
}

/// Makes evaluations.
#[derive(Debug, Clone)]
pub(crate) struct Evaluations {
    traces: TraceStore,
    project: ProjectStore,
    runtimes: Runtimes,
}

/// An evaluation that is being made. Dropping it cancels all its runs.
struct Work<'a> {
    evaluations: &'a Evaluations,
    runtime: String,
    eval_run_id: String,
    at_once: usize,
    /// Who wants to know. A reader who is slow slows the evaluation.
    progress: Option<mpsc::Sender<Progress>>,
}

impl Evaluations {
    pub(crate) fn new(traces: &TraceStore, project: &ProjectStore, runtimes: &Runtimes) -> Self {
        let (traces, project) = (traces.clone(), project.clone());
        Self { traces, project, runtimes: runtimes.clone() }
    }

    /// Makes an evaluation and keeps it. A case or an evaluator that fails is told in
    /// its place; the others go on.
    pub(crate) async fn run(
        &self,
        request: RunRequest,
        progress: Option<mpsc::Sender<Progress>>,
    ) -> Result<EvalRunKey, Status> {
        let RunRequest { data_source, action_ref, evaluators, mut options, runtime_id } = request;
        if action_ref.is_none() && !data_source.is_inline() {
            let message = "name the action to run on the data set: `actionRef`";
            return Err(Status::invalid_argument(message));
        }
        let (dataset, cases) = data_source.read(&Datasets::new(&self.project)).await?;
        if cases.is_empty() {
            return Err(Status::failed_precondition("there are no cases to evaluate"));
        }
        EvalRuns::new(&self.project).check_room().await?;
        let runtime = self.runtime(runtime_id)?;
        let list = self.runtimes.list_actions(Some(&runtime)).await.map_err(status_of)?;
        let is_missing = |action: &&String| !list.actions.contains_key(*action);
        if let Some(action) = action_ref.as_ref().filter(is_missing) {
            return Err(Status::not_found(format!("the runtime has no action `{action}`")));
        }
        let metric_refs = dataset.as_ref().map(|dataset| dataset.metric_refs.clone());
        let named = evaluators.or(metric_refs.filter(|refs| !refs.is_empty()));
        let actions = list.read_all(EVALUATORS).map_err(status_of)?;
        let evaluators = choose(&actions, named.as_deref())?;
        let work = Work {
            evaluations: self,
            runtime,
            eval_run_id: uuid::Uuid::new_v4().to_string(),
            at_once: options.batch_size.unwrap_or(AT_ONCE).clamp(1, MAX_AT_ONCE),
            progress,
        };
        let mut key = EvalRunKey {
            dataset_version: dataset.as_ref().map(|dataset| dataset.version),
            dataset_id: dataset.map(|dataset| dataset.dataset_id),
            eval_run_id: work.eval_run_id.clone(),
            created_at: timestamp::now(),
            action_config: None,
            metric_summaries: Vec::new(),
            metrics_metadata: evaluators.iter().map(|one| (one.name.clone(), one.info())).collect(),
            action_ref,
        };
        work.tell(Progress::Started {
            eval_run_id: key.eval_run_id.clone(),
            cases: cases.len(),
            evaluators: evaluators.iter().map(|one| one.key.clone()).collect(),
        })
        .await;
        let mut results = match &key.action_ref {
            Some(action_ref) => work.infer(action_ref, cases, &mut options).await?,
            None => cases,
        };
        let cases = results.iter().filter(|case| case.error.is_none()).count();
        for judged in work.judge(&evaluators, &results, options.batch_size).await {
            let metrics: Vec<&Metric> = judged.iter().map(|(_, metric)| metric).collect();
            key.metric_summaries.extend(summarise(cases, &metrics));
            for (place, metric) in judged {
                results[place].metrics.get_or_insert_default().push(metric);
            }
        }
        results.iter_mut().for_each(|case| _ = case.metrics.get_or_insert_default());
        key.action_config = options.action_config.as_deref().map(covered).transpose()?;
        let run = EvalRun { key, results };
        EvalRuns::new(&self.project).save(&run).await?;
        Ok(run.key)
    }

    /// All runs go to one runtime, also if another becomes the default meanwhile.
    fn runtime(&self, named: Option<String>) -> Result<String, Status> {
        named
            .or_else(|| self.runtimes.current().map(|runtime| runtime.id))
            .ok_or_else(|| Status::public(StatusCode::Unavailable, self.runtimes.absence()))
    }
}

impl Work<'_> {
    /// Runs the action on all cases, a few at once; they stay in their order.
    async fn infer(
        &self,
        action_ref: &str,
        cases: Vec<Case>,
        options: &mut RunOptions,
    ) -> Result<Vec<Case>, Status> {
        let context = options.read_context()?;
        let inference = Inference {
            store: &self.evaluations.traces,
            caller: self.caller(limit(options.timeout)?),
            action_ref,
            target: Target::of(action_ref)?,
            context: context.as_deref(),
            config: options.action_config.as_deref(),
        };
        let fresh = cases.into_iter().map(|case| Case {
            test_case_id: case.test_case_id,
            input: case.input,
            reference: case.reference,
            ..Case::default()
        });
        let mut runs = stream::iter(fresh).map(|case| inference.run(case)).buffered(self.at_once);
        let (mut ran, mut bytes) = (Vec::new(), 0);
        while let Some(case) = runs.next().await {
            let mut case = case?;
            bytes += case.output.as_ref().map_or(0, |output| output.get().len());
            if bytes > MAX_OUTPUT && case.output.take().is_some() {
                let message = "the outputs of this evaluation are too large: evaluate fewer cases";
                case.error = Some(message.to_owned());
            }
            self.tell(Progress::Case {
                done: ran.len() + 1,
                test_case_id: case.test_case_id.clone(),
                error: case.error.clone(),
            })
            .await;
            ran.push(case);
        }
        Ok(ran)
    }

    /// What each evaluator says of the cases that can be judged, by their places.
    async fn judge(
        &self,
        evaluators: &[Evaluator],
        results: &[Case],
        batch_size: Option<usize>,
    ) -> Vec<Vec<(usize, Metric)>> {
        let good = results.iter().enumerate().filter(|(_, case)| case.error.is_none());
        let (places, cases): (Vec<usize>, Vec<&Case>) = good.unzip();
        let judging = Judging {
            caller: self.caller(None),
            eval_run_id: &self.eval_run_id,
            batch_size: batch_size.filter(|_| self.is_javascript()),
        };
        let asked = stream::iter(0..evaluators.len());
        let asked = asked.map(|place| judging.ask(&evaluators[place].key, &cases));
        let mut asked = std::pin::pin!(asked.buffered(self.at_once));
        let mut all = Vec::with_capacity(evaluators.len());
        while let Some(mut said) = asked.next().await {
            said.iter_mut().for_each(|(place, _)| *place = places[*place]);
            self.tell(Progress::Evaluator {
                done: all.len() + 1,
                evaluator: evaluators[all.len()].key.clone(),
                errors: said.iter().filter(|(_, metric)| metric.error.is_some()).count(),
            })
            .await;
            all.push(said);
        }
        all
    }

    fn caller(&self, timeout: Option<Duration>) -> Caller<'_> {
        Caller { runtimes: &self.evaluations.runtimes, runtime: &self.runtime, timeout }
    }

    fn is_javascript(&self) -> bool {
        let list = self.evaluations.runtimes.list();
        let runtime = list.iter().find(|runtime| runtime.id == self.runtime);
        let version = runtime.and_then(|runtime| runtime.genkit_version.as_deref());
        version.is_some_and(|version| version.starts_with("nodejs"))
    }

    async fn tell(&self, progress: Progress) {
        if let Some(reader) = &self.progress {
            // Who does not listen any more drops the evaluation, too.
            _ = reader.send(progress).await;
        }
    }
}

/// Without its secrets, as everything that is kept.
fn covered(config: &RawValue) -> Result<Box<RawValue>, Status> {
    RawValue::from_string(redact::json_text(config.get()).into_owned()).map_err(Status::from)
}

fn limit(seconds: Option<f64>) -> Result<Option<Duration>, Status> {
    let refuse = |_| Status::invalid_argument("`options.timeout` is a number of seconds above 0");
    let limit = seconds.map(Duration::try_from_secs_f64).transpose().map_err(refuse)?;
    Ok(limit.filter(|limit| !limit.is_zero()))
}
