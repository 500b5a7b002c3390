//! Runs an action on one case.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use oxikit_core::Status;
use oxikit_sql::TraceStore;
use oxikit_wire::rpc::ErrorData;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::case::{Case, Custom};
use super::root_trace;
use super::target::{Target, generate_input, model_input};
use crate::manager::{RunSpec, Runtimes};

/// What runs a rendered prompt.
const GENERATE: &str = "/util/generate";

/// The parameters of a run.
#[derive(Serialize)]
struct Params<'a> {
    key: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    context: Option<&'a RawValue>,
}

/// An action to be run on cases.
#[derive(Debug)]
pub(super) struct Inference<'a> {
    pub(super) store: &'a TraceStore,
    pub(super) caller: Caller<'a>,
    pub(super) action_ref: &'a str,
    pub(super) target: Target,
    pub(super) context: Option<&'a RawValue>,
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

/// How a run ended: its output, or why it failed.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) trace_id: Option<Arc<str>>,
    pub(super) result: Result<Option<Bytes>, String>,
}

impl Caller<'_> {
    /// Runs an action to its end. Who stops waiting cancels it.
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
                let told = error.details.as_ref().and_then(|details| details.trace_id.as_deref());
                let trace_id = trace_id.or_else(|| told.map(Arc::from));
                Ended { trace_id, result: Err(message(error)) }
            }
        }
    }
}

impl Inference<'_> {
    /// Runs the action on a case; what goes wrong is an error of the case.
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
            // The trace of the same output may be cut, or have its secrets covered.
            Ok(output) => {
                case.output = output.and_then(text).or(facts.output);
                // A trace that was not told of an error has none.
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

    /// The run whose output counts.
    async fn start(&self, case: &mut Case) -> Result<Ended, String> {
        let told = |status: Status| status.message().to_owned();
        let input = case.input.as_deref();
        match self.target {
            Target::Flow => Ok(self.caller.call(self.action_ref, input, self.context).await),
            Target::Model => {
                let input = model_input(input, self.config).map_err(told)?;
                Ok(self.caller.call(self.action_ref, Some(&input), None).await)
            }
            Target::Prompt => {
                let rendered = self.caller.call(self.action_ref, input, self.context).await;
                case.trace_ids.extend(rendered.trace_id.map(|id| id.as_ref().to_owned()));
                let prompt =
                    rendered.result?.and_then(text).ok_or("the prompt was not rendered")?;
                let input = generate_input(&prompt, self.config).map_err(told)?;
                case.custom = Some(Custom { rendered_prompt: Some(prompt) });
                Ok(self.caller.call(GENERATE, Some(&input), None).await)
            }
        }
    }

    /// Why the answer of a model is none.
    fn fault_of(&self, output: Option<&RawValue>) -> Option<String> {
        match self.target {
            Target::Model => model_fault(output),
            Target::Flow | Target::Prompt => None,
        }
    }
}

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
        None => Some("there is no message in what the model answered".to_owned()),
        Some(response) if response.finish_reason.as_deref() == Some("blocked") => {
            Some(response.finish_message.unwrap_or_else(|| "the model has blocked it".to_owned()))
        }
        Some(_) => None,
    }
}

fn message(error: ErrorData) -> String {
    error.message.unwrap_or_else(|| "the run failed and does not say why".to_owned())
}

/// What came over the wire, as a value.
pub(super) fn text(output: Bytes) -> Option<Box<RawValue>> {
    RawValue::from_string(String::from_utf8(output.into()).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_has_to_answer_a_message() {
        let fault = |json: &str| model_fault(Some(&RawValue::from_string(json.into()).unwrap()));
        assert_eq!(fault(r#"{"message":{"role":"model"},"finishReason":"stop"}"#), None);
        assert_eq!(fault(r#"{"candidates":[{"finishReason":"stop"}]}"#), None);
        assert!(fault(r#"{"text":"hi"}"#).is_some());
        assert!(fault("7").is_some() && model_fault(None).is_some());
        let blocked = r#"{"message":{},"finishReason":"blocked","finishMessage":"not nice"}"#;
        assert_eq!(fault(blocked).unwrap(), "not nice");
        let old = r#"{"candidates":[{"finishReason":"blocked"}]}"#;
        assert_eq!(fault(old).unwrap(), "the model has blocked it");
    }
}
