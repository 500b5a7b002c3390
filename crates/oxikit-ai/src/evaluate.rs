//! Evaluators: actions that judge the cases of a data set, one by one.
//!
//! A case has an input, an output and perhaps a reference; the evaluator gives it a score. A
//! case that cannot be judged does not fail the others. Running the flow that makes the outputs
//! is the work of the caller.

use std::collections::HashSet;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use futures_util::{StreamExt, stream};
use oxikit_core::{Action, ActionKind, Context, Handler, Registry, Result, Status, Step, StepKind};
use oxikit_wire::{
    EvalDataPoint, EvalFnResponse, EvalRequest, EvalStatus, JsonObject, Score, Scores, attribute,
};
use serde_json::Value;

use crate::Oxikit;
use crate::answer::answering;
use crate::handle::{self, action_handle};

/// Maximum number of cases that are evaluated concurrently, whatever the caller asks for.
const MAX_BATCH: u64 = 64;

/// Judges the cases of a data set. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Evaluator(Action);

impl Evaluator {
    /// Begins the definition of an evaluator, such as `acme/politeness`.
    pub fn builder(name: impl Into<String>) -> EvaluatorBuilder {
        let name = name.into();
        EvaluatorBuilder {
            display_name: name.clone(),
            name,
            definition: String::new(),
            is_billed: false,
        }
    }
}

action_handle!(Evaluator);

/// The definition of an [`Evaluator`].
#[derive(Debug, Clone)]
#[must_use = "an evaluator is made by `handler`"]
pub struct EvaluatorBuilder {
    name: String,
    display_name: String,
    definition: String,
    is_billed: bool,
}

impl EvaluatorBuilder {
    /// Sets the name that the developer tools show; the evaluator's name unless set.
    pub fn display_name(mut self, display_name: impl Into<String>) -> Self {
        self.display_name = display_name.into();
        self
    }

    /// Sets the definition of the metric: one sentence, shown by the developer tools, that says
    /// what a good score means.
    pub fn definition(mut self, definition: impl Into<String>) -> Self {
        self.definition = definition.into();
        self
    }

    /// Says that judging costs money: the developer tools ask before they run such an
    /// evaluator.
    pub fn billed(mut self) -> Self {
        self.is_billed = true;
        self
    }

    /// Makes the evaluator. The function takes one [`EvalDataPoint`], and if it
    /// wants it, the [`Context`]; it answers a [`Score`], or a `Vec<Score>` of
    /// several that differ by their `id`.
    ///
    /// It may count on `test_case_id`. When it fails, that case has no score,
    /// and the others go on.
    pub fn handler<H, Args>(self, function: H) -> Evaluator
    where
        H: Handler<Args, In = EvalDataPoint>,
        H::Out: Into<Scores>,
    {
        let function = answering(function);
        self.build(Arc::new(move |point, _, ctx| function(point, ctx)))
    }

    /// Makes an evaluator that also takes the options of the run: they are
    /// `None` when the caller gave none.
    ///
    /// ```
    /// use oxikit::prelude::*;
    /// use oxikit::{EvalDataPoint, Evaluator, Score};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<()> {
    /// let ai = Oxikit::builder().build()?;
    /// ai.define_evaluator(Evaluator::builder("brief").handler_with_options(
    ///     |point: EvalDataPoint, options: Option<Value>, _| async move {
    ///         let most = options.and_then(|it| it["maxCharacters"].as_u64()).unwrap_or(100);
    ///         let output = point.output.unwrap_or_default().to_string();
    ///         Ok(Score::passed_if(output.len() as u64 <= most))
    ///     },
    /// ));
    /// let cases = [EvalDataPoint::new("Why?").with_output("Because it is so.")];
    /// let scores = ai.evaluate("brief", cases).options(json!({ "maxCharacters": 5 })).await?;
    /// assert_eq!(scores[0].evaluation, Score::passed_if(false).into());
    /// # Ok(()) }
    /// ```
    pub fn handler_with_options<F, Fut, Out>(self, function: F) -> Evaluator
    where
        F: Fn(EvalDataPoint, Option<Value>, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Out>> + Send + 'static,
        Out: Into<Scores>,
    {
        self.build(Arc::new(move |point, options, ctx| {
            let answer = function(point, options, ctx);
            Box::pin(async move { Ok(answer.await?.into()) })
        }))
    }

    fn build(self, judge: Judge) -> Evaluator {
        // The names of these members are part of the protocol.
        let about: JsonObject = [
            ("evaluatorIsBilled", Value::from(self.is_billed)),
            ("evaluatorDisplayName", self.display_name.into()),
            ("evaluatorDefinition", self.definition.into()),
        ]
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value))
        .collect();
        let action = Action::builder(ActionKind::Evaluator, self.name)
            .metadata("type", "evaluator")
            .metadata("evaluator", about)
            .handler(move |request: EvalRequest, ctx: Context| {
                let judge = judge.clone();
                async move { Ok(judge_all(&judge, request, &ctx).await) }
            });
        Evaluator(action)
    }
}

/// The user's function without its types: case, options of the run, context.
type Judge = Arc<
    dyn Fn(EvalDataPoint, Option<Value>, Context) -> BoxFuture<'static, Result<Scores>>
        + Send
        + Sync,
>;

/// Judges all cases, `batch_size` of them at once; the answers are in order.
async fn judge_all(judge: &Judge, request: EvalRequest, ctx: &Context) -> Vec<EvalFnResponse> {
    let EvalRequest { mut dataset, eval_run_id, options, batch_size } = request;
    name_cases(&mut dataset);
    let at_once = batch_size.unwrap_or(1).clamp(1, MAX_BATCH) as usize;
    let run = (judge, &*eval_run_id, options.as_ref(), ctx);
    stream::iter(dataset.into_iter().zip(0..))
        .map(|(point, index)| judge_case(run, point, index))
        .buffered(at_once)
        .collect()
        .await
}

/// Judges one case in a span of its own. A failure is the case's own.
async fn judge_case(
    (judge, eval_run_id, options, ctx): (&Judge, &str, Option<&Value>, &Context),
    point: EvalDataPoint,
    index: u64,
) -> EvalFnResponse {
    let test_case_id = point.test_case_id.clone().unwrap_or_default();
    let mut span = None;
    let judged = Step::new(StepKind::Util, &format!("Test Case {test_case_id}"))
        .below(ctx)
        .input(&point)
        .run(|case| {
            case.set_attribute(attribute::EVAL_RUN_ID, eval_run_id);
            // Noted before the case is judged, so that a failed case refers to its trace, too.
            span = Some((case.trace_id().to_string(), case.span_id().to_string()));
            let answer = judge(point, options.cloned(), case);
            let test_case_id = test_case_id.clone();
            async move {
                Ok(EvalFnResponse {
                    sample_index: None,
                    test_case_id,
                    trace_id: None,
                    span_id: None,
                    evaluation: answer.await?,
                })
            }
        })
        .await;
    let mut response = judged.unwrap_or_else(|status| {
        tracing::warn!(test_case_id, %status, "a test case could not be judged");
        EvalFnResponse {
            sample_index: None,
            test_case_id: test_case_id.clone(),
            trace_id: None,
            span_id: None,
            evaluation: Scores::One(unjudged(&test_case_id, &status)),
        }
    });
    response.sample_index = Some(index);
    (response.trace_id, response.span_id) = span.unzip();
    response
}

/// The score of a case that could not be judged. It is part of an answer, so
/// it says of the failure only what a stranger may read; the trace says more.
fn unjudged(test_case_id: &str, status: &Status) -> Score {
    let outgoing = status.outgoing();
    Score {
        status: Some(EvalStatus::Unknown),
        error: Some(format!(
            "test case `{test_case_id}` could not be judged: {}: {}",
            outgoing.status, outgoing.message
        )),
        ..Score::default()
    }
}

/// Gives every case without a name one that no other case of the set has: its
/// position, so that the next run of the same set gives it the same.
fn name_cases(dataset: &mut [EvalDataPoint]) {
    let taken: HashSet<String> =
        dataset.iter().filter_map(|point| point.test_case_id.clone()).collect();
    for (index, point) in dataset.iter_mut().enumerate() {
        point.test_case_id.get_or_insert_with(|| {
            let mut name = format!("case-{}", index + 1);
            while taken.contains(&name) {
                name.push('x');
            }
            name
        });
    }
}

impl Oxikit {
    /// Defines an evaluator of the application's own.
    ///
    /// ```
    /// use oxikit::{EvalDataPoint, Evaluator, Oxikit, Score};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> oxikit::Result<()> {
    /// let ai = Oxikit::builder().build()?;
    /// ai.define_evaluator(
    ///     Evaluator::builder("exact")
    ///         .display_name("Exact match")
    ///         .definition("The output is the reference, letter by letter")
    ///         .handler(|point: EvalDataPoint| async move {
    ///             Ok(Score::passed_if(point.output == point.reference))
    ///         }),
    /// );
    /// let results = ai
    ///     .evaluate("exact", [EvalDataPoint::new("2+2").with_output("4").with_reference("4")])
    ///     .await?;
    /// assert_eq!(results[0].evaluation, Score::passed_if(true).into());
    /// # Ok(()) }
    /// ```
    pub fn define_evaluator(&self, evaluator: Evaluator) -> Evaluator {
        self.registry().register(evaluator.0.clone());
        evaluator
    }

    /// Judges a data set. Await it; options may be set before.
    ///
    /// A case that cannot be judged has an `error` in place of its score; only
    /// an evaluator that is not there, or whose input does not fit, fails.
    pub fn evaluate(
        &self,
        evaluator: impl AsRef<str>,
        dataset: impl IntoIterator<Item = EvalDataPoint>,
    ) -> EvaluateCall {
        EvaluateCall {
            registry: self.registry().clone(),
            evaluator: evaluator.as_ref().to_owned(),
            request: EvalRequest {
                dataset: dataset.into_iter().collect(),
                ..EvalRequest::default()
            },
        }
    }
}

/// A call made by [`Oxikit::evaluate`].
#[derive(Debug, Clone)]
#[must_use = "nothing is judged before it is awaited"]
pub struct EvaluateCall {
    registry: Registry,
    evaluator: String,
    request: EvalRequest,
}

impl EvaluateCall {
    /// Names the run in traces; a random name if this is not called.
    pub fn run_id(mut self, run_id: impl Into<String>) -> Self {
        self.request.eval_run_id = run_id.into();
        self
    }

    /// Sets the number of cases that are judged concurrently: 1 if this is not called, 64 at
    /// most. Larger numbers are reduced to 64.
    pub fn batch_size(mut self, batch_size: u32) -> Self {
        self.request.batch_size = Some(batch_size.into());
        self
    }

    /// Sets the evaluator's own options, which
    /// [`handler_with_options`](EvaluatorBuilder::handler_with_options) receives.
    pub fn options(mut self, options: impl Into<Value>) -> Self {
        self.request.options = Some(options.into());
        self
    }

    async fn run(mut self) -> Result<Vec<EvalFnResponse>> {
        if self.request.eval_run_id.is_empty() {
            self.request.eval_run_id = format!("{:032x}", fastrand::u128(..));
        }
        let answer =
            handle::run(&self.registry, ActionKind::Evaluator, &self.evaluator, self.request);
        answer.await?.parse()
    }
}

impl IntoFuture for EvaluateCall {
    type Output = Result<Vec<EvalFnResponse>>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}
