//! Runs an action on one case: calls the runtime, waits for the trace of the run, and puts the
//! output, the error and the retrieved texts into the case.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use oxikit_core::Status;
use oxikit_traces::TraceStore;
use oxikit_wire::rpc::ErrorData;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::case::{Case, Custom};
use super::root_trace;
use super::target::{Target, generate_input, model_input};
use oxikit_manager::{RunSpec, Runtimes};

/// The action that runs a rendered prompt.
const GENERATE: &str = "/util/generate";

/// The parameters of a call.
#[derive(Serialize)]
struct Params<'a> {
    key: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    context: Option<&'a RawValue>,
}

/// The action that is run on the cases, with its options.
#[derive(Debug)]
pub(super) struct Inference<'a> {
    /// The store that receives the traces of the runtime.
    pub(super) store: &'a TraceStore,
    pub(super) caller: Caller<'a>,
    /// The key of the action.
    pub(super) action_ref: &'a str,
    pub(super) target: Target,
    /// The context of the runs, for flows and prompts.
    pub(super) context: Option<&'a RawValue>,
    /// The configuration of the model, for models and prompts.
    pub(super) config: Option<&'a RawValue>,
}

/// Runs actions of one runtime.
#[derive(Debug, Clone, Copy)]
pub(super) struct Caller<'a> {
    pub(super) runtimes: &'a Runtimes,
    pub(super) runtime: &'a str,
    /// A run that takes longer is cancelled.
    pub(super) timeout: Option<Duration>,
}

/// The end of a run: its output, or the reason of its failure.
#[derive(Debug)]
pub(super) struct Ended {
    /// The trace of the run; `None` if the runtime did not report one.
    pub(super) trace_id: Option<Arc<str>>,
    /// The output as JSON, or the message of the failure.
    pub(super) result: Result<Option<Bytes>, String>,
}

impl Caller<'_> {
    /// Runs an action to its end. Dropping the future cancels the run.
    pub(super) async fn call(
        &self,
        key: &str,
        input: Option<&RawValue>,
        context: Option<&RawValue>,
    ) -> Ended {
        let params = match serde_json::to_vec(&Params { key, input, context }) {
            Ok(params) => params,
            Err(error) => return Ended { trace_id: None, result: Err(error.to_string()) },
        };
        let spec = RunSpec::new(params).on(self.runtime);
        let run = self.run(spec);
        match self.timeout {
            None => run.await,
            Some(limit) => tokio::time::timeout(limit, run).await.unwrap_or_else(|_| {
                let message = format!("the run took longer than {} s", limit.as_secs_f64());
                Ended { trace_id: None, result: Err(message) }
            }),
        }
    }

    /// Runs an action without a timeout. The id of the trace is also read from the error of a
    /// failed run.
    async fn run(&self, spec: RunSpec) -> Ended {
        let mut run = match self.runtimes.run(spec).await {
            Ok(run) => run,
            Err(error) => return Ended { trace_id: None, result: Err(message(error)) },
        };
        let trace_id = run.trace_id().await;
        match run.finish().await {
            Ok(outcome) => {
                Ended { trace_id: outcome.trace_id.or(trace_id), result: Ok(outcome.result) }
            }
            Err(error) => {
                let details = error.details.as_ref();
                let reported = details.and_then(|details| details.trace_id.as_deref());
                let trace_id = trace_id.or_else(|| reported.map(Arc::from));
                Ended { trace_id, result: Err(message(error)) }
            }
        }
    }
}

impl Inference<'_> {
    /// Runs the action on a case. A failure of the run is stored as the error of the case; only
    /// a failure of the trace store is returned.
    pub(super) async fn run(&self, mut case: Case) -> Result<Case, Status> {
        let ended = match self.start(&mut case).await {
            Ok(ended) => ended,
            Err(error) => {
                case.error = Some(error);
                return Ok(case);
            }
        };
        let facts = match &ended.trace_id {
            Some(trace_id) => {
                case.trace_ids.push(trace_id.as_ref().to_owned());
                root_trace::ended(self.store, trace_id).await?
            }
            None => None,
        };
        let facts = facts.unwrap_or_default();
        match ended.result {
            // The output of the response is preferred: that of the trace may be cut or redacted.
            Ok(output) => {
                case.output = output.and_then(text).or(facts.output);
                // A run can succeed while its trace has an error, which then counts.
                case.error = facts.error.or_else(|| self.fault_of(case.output.as_deref()));
                case.context = Some(match self.target {
                    Target::Model => Vec::new(),
                    Target::Flow | Target::Prompt => facts.context,
                });
            }
            Err(error) => case.error = Some(facts.error.unwrap_or(error)),
        }
        if case.error.is_some() {
            (case.output, case.context) = (None, None);
        }
        Ok(case)
    }

    /// Makes the run whose output is judged. A prompt is rendered before, in a run of its own.
    async fn start(&self, case: &mut Case) -> Result<Ended, String> {
        let message_of = |status: Status| status.message().to_owned();
        let input = case.input.as_deref();
        match self.target {
            Target::Flow => Ok(self.caller.call(self.action_ref, input, self.context).await),
            Target::Model => {
                let input = model_input(input, self.config).map_err(message_of)?;
                Ok(self.caller.call(self.action_ref, Some(&input), None).await)
            }
            Target::Prompt => {
                let rendered = self.caller.call(self.action_ref, input, self.context).await;
                case.trace_ids.extend(rendered.trace_id.map(|id| id.as_ref().to_owned()));
                let prompt =
                    rendered.result?.and_then(text).ok_or("the prompt was not rendered")?;
                let input = generate_input(&prompt, self.config).map_err(message_of)?;
                case.custom = Some(Custom { rendered_prompt: Some(prompt) });
                Ok(self.caller.call(GENERATE, Some(&input), None).await)
            }
        }
    }

    /// Why the output of a model cannot be judged.
    fn fault_of(&self, output: Option<&RawValue>) -> Option<String> {
        match self.target {
            Target::Model => model_fault(output),
            Target::Flow | Target::Prompt => None,
        }
    }
}

/// Why the response of a model cannot be judged: it has no message, or was blocked. Older models
/// have `candidates`, of which the first counts.
fn model_fault(output: Option<&RawValue>) -> Option<String> {
    #[derive(Default, Deserialize)]
    #[serde(rename_all = "camelCase", default)]
    struct Response<'a> {
        #[serde(borrow)]
        message: Option<&'a RawValue>,
        #[serde(borrow)]
        candidates: Vec<Response<'a>>,
        finish_reason: Option<String>,
        finish_message: Option<String>,
    }
    let response: Option<Response<'_>> =
        output.and_then(|output| serde_json::from_str(output.get()).ok());
    let answered = response.and_then(|mut response| match response.message {
        Some(_) => Some(response),
        None if response.candidates.is_empty() => None,
        None => Some(response.candidates.swap_remove(0)),
    });
    match answered {
        None => Some("the response of the model has no message".to_owned()),
        Some(response) if response.finish_reason.as_deref() == Some("blocked") => {
            Some(response.finish_message.unwrap_or_else(|| "the response was blocked".to_owned()))
        }
        Some(_) => None,
    }
}

/// The message of a failed run.
fn message(error: ErrorData) -> String {
    error.message.unwrap_or_else(|| "the run failed and does not say why".to_owned())
}

/// The output as JSON text; `None` if it is not valid JSON.
pub(super) fn text(output: Bytes) -> Option<Box<RawValue>> {
    RawValue::from_string(String::from_utf8(output.into()).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_of_a_model_must_have_a_message() {
        let fault = |json: &str| model_fault(Some(&RawValue::from_string(json.into()).unwrap()));
        assert_eq!(fault(r#"{"message":{"role":"model"},"finishReason":"stop"}"#), None);
        assert_eq!(fault(r#"{"candidates":[{"finishReason":"stop"}]}"#), None);
        assert!(fault(r#"{"text":"hi"}"#).is_some());
        assert!(fault("7").is_some() && model_fault(None).is_some());
        let blocked = r#"{"message":{},"finishReason":"blocked","finishMessage":"not nice"}"#;
        assert_eq!(fault(blocked).unwrap(), "not nice");
        let old = r#"{"candidates":[{"finishReason":"blocked"}]}"#;
        assert_eq!(fault(old).unwrap(), "the response was blocked");
    }
}
