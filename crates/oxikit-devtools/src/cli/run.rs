//! Runs of actions, through the tools.

use std::collections::BTreeMap;
use std::time::Duration;

use reqwest::Response;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use super::args::Target;
use super::client::{Client, read};
use super::events::Events;
use super::failure::{Exit, Failure};

/// Where the tools name the trace of a run, before it has ended.
const TRACE_ID: &str = "x-genkit-trace-id";

/// What is to be run. Inputs and results stay the text they came as.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Call {
    /// The action, `/flow/hello`.
    pub(super) key: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) input: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) init: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) context: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) telemetry_labels: Option<BTreeMap<String, String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) runtime_id: Option<String>,
}

/// How a run ended. Its JSON form is documented.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Outcome {
    pub(super) ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) result: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<RunError>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) trace_id: Option<String>,
}

/// Why a run failed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct RunError {
    #[serde(default)]
    pub(super) status: String,
    #[serde(default)]
    pub(super) message: String,
    /// What else the runtime said, such as where in the code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    details: Option<Box<RawValue>>,
    /// What would have fitted.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub(super) hint: Option<String>,
}

impl RunError {
    pub(super) fn new(status: &str, message: String, details: Option<Box<RawValue>>) -> Self {
        Self { status: status.to_owned(), message, details, hint: None }
    }

    /// Everything once: some runtimes begin their messages with the status, repeat the
    /// message as a stack that has no frames, and name the trace again.
    fn tidy(&mut self, trace_id: Option<&str>) {
        let prefix = format!("{}: ", self.status);
        if let Some(rest) = self.message.strip_prefix(&prefix) {
            self.message = rest.to_owned();
        }
        let Some(details) = self.details.as_deref().map(RawValue::get) else { return };
        // The members stay the text they came as.
        let members = serde_json::from_str::<BTreeMap<String, Box<RawValue>>>(details);
        let Ok(mut members) = members else { return };
        let is_said = |stack: &str| {
            stack.strip_prefix(&prefix).unwrap_or(stack).trim() == self.message.trim()
        };
        members.retain(|name, value| {
            let text = serde_json::from_str::<String>(value.get());
            match (name.as_str(), text) {
                ("stack", Ok(stack)) => !is_said(&stack),
                ("traceId", Ok(id)) => Some(&*id) != trace_id,
                _ => true,
            }
        });
        let is_empty = members.is_empty();
        self.details = to_raw_value(&members).ok().filter(|_| !is_empty);
    }

    /// For people.
    pub(super) fn text(&self) -> String {
        format!("{}: {}", self.status, self.message)
    }
}

/// The end of a run, as the tools tell it.
#[derive(Debug, Deserialize)]
struct End {
    #[serde(default)]
    result: Option<Box<RawValue>>,
    #[serde(default)]
    error: Option<RunError>,
}

/// The output of a run, if it has one, or why it failed.
type Ended = Result<Option<Box<RawValue>>, RunError>;

impl Outcome {
    fn new(ended: Result<Ended, Failure>, trace_id: Option<String>) -> Result<Self, Failure> {
        let ended = match ended {
            Ok(ended) => ended,
            // It was refused before it began, such as for its input.
            Err(Failure::Told { exit: Exit::Failed, status, message, details }) => {
                let details = details.and_then(|details| to_raw_value(&details).ok());
                Err(RunError::new(&status, message, details))
            }
            Err(failure) => return Err(failure),
        };
        Ok(match ended {
            // An action without output has the result `null`.
            Ok(result) => Self {
                ok: true,
                result: result.or_else(|| Some(RawValue::NULL.to_owned())),
                error: None,
                trace_id,
            },
            Err(mut error) => {
                error.tidy(trace_id.as_deref());
                Self { ok: false, result: None, error: Some(error), trace_id }
            }
        })
    }
}

impl Client {
    /// Runs an action to its end, or until the time is over: then it is cancelled.
    pub(super) async fn run(
        &self,
        call: &Call,
        within: Option<Duration>,
    ) -> Result<Outcome, Failure> {
        let mut trace_id = None;
        let end = limited(within, async {
            let response = self.begin("/api/v1/run", call).await?;
            trace_id = trace_of(&response);
            Ok(match read::<End>(response).await? {
                End { error: Some(error), .. } => Err(error),
                End { result, .. } => Ok(result),
            })
        });
        self.ended(call, Outcome::new(end.await, trace_id)).await
    }

    /// The same, with its chunks as they come.
    pub(super) async fn stream(
        &self,
        call: &Call,
        within: Option<Duration>,
        mut on_chunk: impl FnMut(&RawValue) -> Result<(), Failure>,
    ) -> Result<Outcome, Failure> {
        let mut trace_id = None;
        let end = limited(within, async {
            let response = self.begin("/api/v1/stream", call).await?;
            trace_id = trace_of(&response);
            let mut parts = RunParts::new(response);
            loop {
                match parts.next().await? {
                    RunPart::Chunk(chunk) => on_chunk(&chunk)?,
                    RunPart::Done(result) => return Ok(Ok(result)),
                    RunPart::Failed(error) => return Ok(Err(error)),
                }
            }
        });
        self.ended(call, Outcome::new(end.await, trace_id)).await
    }

    /// How a run ended, with advice if it did not begin.
    async fn ended(
        &self,
        call: &Call,
        outcome: Result<Outcome, Failure>,
    ) -> Result<Outcome, Failure> {
        let mut outcome = outcome?;
        self.advise(call, &mut outcome).await;
        Ok(outcome)
    }

    /// Starts a run whose chunks are wanted.
    pub(super) async fn start_stream(&self, call: &Call) -> Result<RunParts, Failure> {
        Ok(RunParts::new(self.begin("/api/v1/stream", call).await?))
    }

    async fn begin(&self, path: &str, call: &Call) -> Result<Response, Failure> {
        match self.start(path, call).await {
            Ok(response) => Ok(response),
            Err(failure) => Err(self.explain(failure, call.runtime_id.as_deref()).await),
        }
    }

    /// A runtime that is not there is another failure than an action that is not.
    pub(super) async fn explain(&self, failure: Failure, runtime: Option<&str>) -> Failure {
        match failure {
            Failure::Told { status, message, .. }
                if status == "NOT_FOUND" && !self.knows(runtime).await =>
            {
                Failure::nobody_there(format!("{message}; `oxikit runtimes` lists them"))
            }
            failure => failure,
        }
    }

    /// Whether this runtime is there, if one is named.
    async fn knows(&self, runtime: Option<&str>) -> bool {
        let Some(runtime) = runtime else { return true };
        let Ok(answer) = self.get("/api/v1/runtimes").await else { return true };
        let list = answer["runtimes"].as_array().map(Vec::as_slice).unwrap_or_default();
        list.iter().any(|known| known["id"] == runtime)
    }
}

/// What a run yields, in its order.
#[derive(Debug)]
pub(super) enum RunPart {
    Chunk(Box<RawValue>),
    Done(Option<Box<RawValue>>),
    Failed(RunError),
}

/// A run as it goes on. Dropping it cancels the run.
pub(super) struct RunParts(Events);

impl RunParts {
    fn new(response: Response) -> Self {
        Self(Events::new(response))
    }

    /// The next part; the last is the end.
    pub(super) async fn next(&mut self) -> Result<RunPart, Failure> {
        let broken = |error: serde_json::Error| {
            Failure::internal(format!("the tools did not answer JSON: {error}"))
        };
        loop {
            let Some(event) = self.0.next().await? else {
                return Err(Failure::nobody_there("the tools ended in the middle of the run"));
            };
            return Ok(match event.name.as_str() {
                "chunk" => RunPart::Chunk(serde_json::from_str(&event.data).map_err(broken)?),
                "done" => {
                    RunPart::Done(serde_json::from_str::<End>(&event.data).map_err(broken)?.result)
                }
                "error" => RunPart::Failed(serde_json::from_str(&event.data).map_err(broken)?),
                _ => continue,
            });
        }
    }
}

/// The kind and the rest of the key of an action.
pub(super) fn key_of(kind: &str, name: &str) -> String {
    let prefix = format!("/{kind}/");
    if name.starts_with(&prefix) { name.to_owned() } else { format!("{prefix}{name}") }
}

/// Text of the command line that has to be JSON.
pub(super) fn json_argument(what: &str, text: &str) -> Result<Box<RawValue>, Failure> {
    serde_json::from_str(text).map_err(|error| not_json(what, text, &error))
}

/// Why a text is not valid JSON, and what was probably meant.
pub(super) fn not_json(what: &str, text: &str, error: &serde_json::Error) -> Failure {
    let advice = match text.trim_start().chars().next() {
        None => "it is empty",
        Some('{' | '[' | '"') => "put it into single quotes, so that the shell leaves it as it is",
        Some(_) => "a text needs its own quotes: '\"text\"'",
    };
    Failure::usage(format!("the {what} is not valid JSON ({error}); {advice}"))
}

/// The context of a run, which has to be an object.
pub(super) fn context_argument(text: Option<&str>) -> Result<Option<Box<RawValue>>, Failure> {
    let context = text.map(|text| json_argument("context", text)).transpose()?;
    match &context {
        Some(context) if !context.get().starts_with('{') => {
            Err(Failure::usage("the context has to be a JSON object"))
        }
        _ => Ok(context),
    }
}

impl Target {
    /// A call of this action there.
    pub(super) fn call(&self, key: String) -> Call {
        Call { key, runtime_id: self.runtime.clone(), ..Call::default() }
    }
}

/// A run that takes too long has failed; what is dropped with it cancels it.
async fn limited(
    within: Option<Duration>,
    run: impl Future<Output = Result<Ended, Failure>>,
) -> Result<Ended, Failure> {
    let Some(within) = within else { return run.await };
    tokio::time::timeout(within, run).await.unwrap_or_else(|_| {
        let message = "the run took longer than its timeout allows; it was cancelled";
        Ok(Err(RunError::new("DEADLINE_EXCEEDED", message.to_owned(), None)))
    })
}

fn trace_of(response: &Response) -> Option<String> {
    Some(response.headers().get(TRACE_ID)?.to_str().ok()?.to_owned())
}
