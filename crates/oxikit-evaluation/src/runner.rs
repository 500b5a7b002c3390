//! Makes an evaluation: runs an action on all cases, calls the evaluators, and summarises.
//!
//! Cases and evaluators are independent of each other, so a few of them run at the same time, and
//! a failed one does not end the others. Nothing is stored before the end: an evaluation that is
//! cancelled or fails leaves only its traces.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use oxikit_core::ports::ProjectStore;
use oxikit_core::{Status, StatusCode, redact, timestamp};
use oxikit_traces::TraceStore;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::sync::mpsc;

use super::case::Case;
use super::datasets::{DatasetInfo, Datasets};
use super::eval_runs::{EvalRun, EvalRunKey, EvalRuns};
use super::inference::{Caller, Inference};
use super::judging::{EVALUATORS, Evaluator, Judging, choose};
use super::metric::Metric;
use super::request::{DataSource, RunOptions, RunRequest};
use super::summary::{MetricSummary, summarise};
use super::target::Target;
use oxikit_manager::{ActionList, Runtimes};

/// Default number of cases that are run at the same time.
const AT_ONCE: usize = 4;
/// Maximum number of cases that are run at the same time. More are reduced to it.
const MAX_AT_ONCE: usize = 64;
/// Maximum number of bytes of all outputs of an evaluation. Further outputs are dropped, and
/// their cases have an error.
const MAX_OUTPUT: usize = 64 << 20;

/// One step of a running evaluation.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "type")]
pub enum Progress {
    /// The evaluation has begun.
    Started {
        /// The id of the evaluation.
        eval_run_id: String,
        /// Number of cases.
        cases: usize,
        /// The keys of the evaluators.
        evaluators: Vec<String>,
    },
    /// The action has run on a case.
    Case {
        /// Number of cases that were run so far.
        done: usize,
        /// The id of the case.
        test_case_id: String,
        /// Why the run has failed.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// An evaluator has judged all cases.
    Evaluator {
        /// Number of evaluators that have finished so far.
        done: usize,
        /// The key of the evaluator.
        evaluator: String,
        /// Number of cases that it could not judge.
        errors: usize,
    },
}

/// Makes evaluations of the actions of a manager's runtimes, and stores them.
///
/// ```
/// use oxikit_evaluation::{Evaluations, RunRequest};
///
/// # async fn example(evaluations: Evaluations) -> Result<(), Box<dyn std::error::Error>> {
/// let request: RunRequest = serde_json::from_str(
///     r#"{"dataSource": {"data": [{"input": "Ada"}]}, "actionRef": "/flow/greet"}"#,
/// )?;
/// let key = evaluations.run(request, None).await?;
/// println!("evaluation {} is stored", key.eval_run_id);
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct Evaluations {
    traces: TraceStore,
    project: Arc<dyn ProjectStore>,
    runtimes: Runtimes,
}

/// A checked request: everything that its runs need is there.
struct Prepared {
    /// The data set that the cases are of; `None` if they were in the request.
    dataset: Option<DatasetInfo>,
    cases: Vec<Case>,
    /// The id of the runtime.
    runtime: String,
    /// The actions of the runtime.
    list: Arc<ActionList>,
}

/// A running evaluation. Dropping it cancels all its runs.
struct Work<'a> {
    evaluations: &'a Evaluations,
    /// The id of the runtime. All runs use the same one.
    runtime: String,
    /// The id of the evaluation.
    eval_run_id: String,
    /// Number of cases, and of evaluators, that run at the same time.
    at_once: usize,
    /// Receives the progress. A slow reader slows the evaluation.
    progress: Option<mpsc::Sender<Progress>>,
}

impl Evaluations {
    /// Evaluations of the actions of these runtimes. The traces of the runs are read from
    /// `traces`, and the results are stored in `project`.
    pub fn new(traces: &TraceStore, project: &Arc<dyn ProjectStore>, runtimes: &Runtimes) -> Self {
        let (traces, project) = (traces.clone(), project.clone());
        Self { traces, project, runtimes: runtimes.clone() }
    }

    /// Makes an evaluation and stores it. Steps are sent to `progress`. A case or an evaluator
    /// that fails has its error in the results; the others go on. Dropping the future cancels
    /// the runs, and nothing is stored.
    ///
    /// # Errors
    ///
    /// If the request is not valid, the data set, the action, the runtime or an evaluator does
    /// not exist, or the store cannot be used.
    ///
    /// ```
    /// use oxikit_evaluation::{Evaluations, Progress, RunRequest};
    ///
    /// # async fn example(evaluations: Evaluations, request: RunRequest) -> Result<(), Box<dyn std::error::Error>> {
    /// let (progress, mut steps) = tokio::sync::mpsc::channel(16);
    /// let run = evaluations.run(request, Some(progress));
    /// let show = async {
    ///     while let Some(step) = steps.recv().await {
    ///         if let Progress::Case { done, test_case_id, .. } = step {
    ///             println!("{done}: {test_case_id}");
    ///         }
    ///     }
    /// };
    /// let (key, ()) = tokio::join!(run, show);
    /// println!("{} metrics", key?.metric_summaries.len());
    /// # Ok(()) }
    /// ```
    pub async fn run(
        &self,
        request: RunRequest,
        progress: Option<mpsc::Sender<Progress>>,
    ) -> Result<EvalRunKey, Status> {
        let prepared =
            self.prepare(request.action_ref.as_ref(), request.data_source, request.runtime_id);
        let Prepared { dataset, cases, runtime, list } = prepared.await?;
        // The request decides, then the data set; without names all evaluators of the runtime are
        // called.
        let metric_refs = dataset.as_ref().map(|dataset| dataset.metric_refs.clone());
        let named = request.evaluators.or(metric_refs.filter(|refs| !refs.is_empty()));
        let actions = list.read_all(EVALUATORS).map_err(Status::from)?;
        let evaluators = choose(&actions, named.as_deref())?;
        let mut options = request.options;
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
            action_ref: request.action_ref,
        };
        work.report(Progress::Started {
            eval_run_id: key.eval_run_id.clone(),
            cases: cases.len(),
            evaluators: evaluators.iter().map(|one| one.key.clone()).collect(),
        })
        .await;
        let mut results = match &key.action_ref {
            Some(action_ref) => work.infer(action_ref, cases, &mut options).await?,
            None => cases,
        };
        let judged = work.judge(&evaluators, &results, options.batch_size).await;
        key.metric_summaries = add_metrics(&mut results, judged);
        key.action_config = options.action_config.as_deref().map(redacted).transpose()?;
        let run = EvalRun { key, results };
        EvalRuns::new(&self.project).save(&run).await?;
        Ok(run.key)
    }

    /// Reads the cases and chooses the runtime. Everything that can be wrong with the request is
    /// checked here, before the first run: runs may cost money.
    async fn prepare(
        &self,
        action_ref: Option<&String>,
        data_source: DataSource,
        runtime_id: Option<String>,
    ) -> Result<Prepared, Status> {
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
        let list = self.runtimes.list_actions(Some(&runtime)).await.map_err(Status::from)?;
        let is_missing = |action: &&String| !list.actions.contains_key(*action);
        if let Some(action) = action_ref.filter(is_missing) {
            return Err(Status::not_found(format!("the runtime has no action `{action}`")));
        }
        Ok(Prepared { dataset, cases, runtime, list })
    }

    /// The runtime of all runs: it stays the same if another becomes the default meanwhile.
    fn runtime(&self, named: Option<String>) -> Result<String, Status> {
        named.or_else(|| self.runtimes.current().map(|runtime| runtime.id)).ok_or_else(|| {
            Status::public(StatusCode::Unavailable, self.runtimes.no_runtime_message())
        })
    }
}

impl Work<'_> {
    /// Runs the action on all cases, a few at the same time. The order of the cases is kept.
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
        // Outputs and metrics that came with the cases are dropped: this evaluation makes its own.
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
            self.report(Progress::Case {
                done: ran.len() + 1,
                test_case_id: case.test_case_id.clone(),
                error: case.error.clone(),
            })
            .await;
            ran.push(case);
        }
        Ok(ran)
    }

    /// Calls each evaluator with the cases that have an output. Metrics come with the index of
    /// their case in `results`.
    async fn judge(
        &self,
        evaluators: &[Evaluator],
        results: &[Case],
        batch_size: Option<usize>,
    ) -> Vec<Vec<(usize, Metric)>> {
        let good = results.iter().enumerate().filter(|(_, case)| case.error.is_none());
        let (indices, cases): (Vec<usize>, Vec<&Case>) = good.unzip();
        let judging = Judging {
            caller: self.caller(None),
            eval_run_id: &self.eval_run_id,
            batch_size: batch_size.filter(|_| self.is_javascript()),
        };
        // `buffered` keeps the order of the evaluators, so `all.len()` is the index of the next.
        let calls = stream::iter(0..evaluators.len());
        let calls = calls.map(|index| judging.call(&evaluators[index].key, &cases));
        let mut calls = std::pin::pin!(calls.buffered(self.at_once));
        let mut all = Vec::with_capacity(evaluators.len());
        while let Some(mut metrics) = calls.next().await {
            metrics.iter_mut().for_each(|(index, _)| *index = indices[*index]);
            self.report(Progress::Evaluator {
                done: all.len() + 1,
                evaluator: evaluators[all.len()].key.clone(),
                errors: metrics.iter().filter(|(_, metric)| metric.error.is_some()).count(),
            })
            .await;
            all.push(metrics);
        }
        all
    }

    /// Calls the runtime of this evaluation.
    fn caller(&self, timeout: Option<Duration>) -> Caller<'_> {
        Caller { runtimes: &self.evaluations.runtimes, runtime: &self.runtime, timeout }
    }

    /// Whether the runtime is Genkit for JavaScript, whose evaluators accept a batch size. Others
    /// refuse unknown members of their input.
    fn is_javascript(&self) -> bool {
        let list = self.evaluations.runtimes.list();
        let runtime = list.iter().find(|runtime| runtime.id == self.runtime);
        let version = runtime.and_then(|runtime| runtime.genkit_version.as_deref());
        version.is_some_and(|version| version.starts_with("nodejs"))
    }

    /// Sends a step to the reader of the progress, and waits while the reader is slow.
    async fn report(&self, progress: Progress) {
        if let Some(reader) = &self.progress {
            // A closed channel is not an error: the reader drops the evaluation, too.
            _ = reader.send(progress).await;
        }
    }
}

/// Adds the metrics to the cases that they judge, and summarises those of each evaluator.
///
/// Failed cases are stored, but neither judged nor counted in the summaries.
fn add_metrics(results: &mut [Case], judged: Vec<Vec<(usize, Metric)>>) -> Vec<MetricSummary> {
    let cases = results.iter().filter(|case| case.error.is_none()).count();
    let mut summaries = Vec::new();
    for judged in judged {
        let metrics: Vec<&Metric> = judged.iter().map(|(_, metric)| metric).collect();
        summaries.extend(summarise(cases, &metrics));
        for (index, metric) in judged {
            results[index].metrics.get_or_insert_default().push(metric);
        }
    }
    results.iter_mut().for_each(|case| _ = case.metrics.get_or_insert_default());
    summaries
}

/// The configuration without its secrets.
fn redacted(config: &RawValue) -> Result<Box<RawValue>, Status> {
    RawValue::from_string(redact::json_text(config.get()).into_owned()).map_err(Status::from)
}

/// The timeout of a run; 0 means none.
fn limit(seconds: Option<f64>) -> Result<Option<Duration>, Status> {
    let refuse = |_| Status::invalid_argument("`options.timeout` is a number of seconds above 0");
    let limit = seconds.map(Duration::try_from_secs_f64).transpose().map_err(refuse)?;
    Ok(limit.filter(|limit| !limit.is_zero()))
}
