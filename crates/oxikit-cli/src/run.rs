//! Runs actions through the developer tools.
//!
//! Inputs and results keep their JSON text unchanged, so that numbers and the order of members
//! stay exact. A run is cancelled when its request is dropped: the developer tools notice the
//! closed connection and cancel the run in the runtime.

use std::collections::BTreeMap;
use std::time::Duration;

use oxikit_wire::headers;
use reqwest::Response;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use super::args::Target;
use super::client::{Client, read};
use super::events::Events;
use super::failure::{Exit, Failure};

/// The body of the request that runs an action.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Call {
    /// The key of the action, such as `/flow/hello`.
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

/// The end of a run. Its JSON form is documented.
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
    /// Further details of the runtime, such as the stack.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    details: Option<Box<RawValue>>,
    /// Advice for the user, such as what the action takes.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub(super) hint: Option<String>,
}

impl RunError {
    pub(super) fn new(status: &str, message: String, details: Option<Box<RawValue>>) -> Self {
        Self { status: status.to_owned(), message, details, hint: None }
    }

    /// Removes repetitions: some runtimes begin the message with the status, repeat the
    /// message as a stack without frames, and repeat the id of the trace.
    fn tidy(&mut self, trace_id: Option<&str>) {
        let prefix = format!("{}: ", self.status);
        if let Some(rest) = self.message.strip_prefix(&prefix) {
            self.message = rest.to_owned();
        }
        let Some(details) = self.details.as_deref().map(RawValue::get) else { return };
        // The values of the members keep their text.
        let members = serde_json::from_str::<BTreeMap<String, Box<RawValue>>>(details);
        let Ok(mut members) = members else { return };
        let is_message = |stack: &str| {
            stack.strip_prefix(&prefix).unwrap_or(stack).trim() == self.message.trim()
        };
        members.retain(|name, value| {
            let text = serde_json::from_str::<String>(value.get());
            match (name.as_str(), text) {
                ("stack", Ok(stack)) => !is_message(&stack),
                ("traceId", Ok(id)) => Some(&*id) != trace_id,
                _ => true,
            }
        });
        let is_empty = members.is_empty();
        self.details = to_raw_value(&members).ok().filter(|_| !is_empty);
    }

    /// The error as one line of text.
    pub(super) fn text(&self) -> String {
        format!("{}: {}", self.status, self.message)
    }
}

/// The body of the response at the end of a run.
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
            // The run was rejected before it began, such as for its input.
            Err(Failure::Error { exit: Exit::Failed, status, message, details }) => {
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
    /// Runs an action to its end. After the timeout the run is cancelled and counts as failed.
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

    /// The same as [`run`](Self::run), and calls `on_chunk` for each chunk as it arrives.
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

    /// Adds advice to the outcome of a run that did not begin.
    async fn ended(
        &self,
        call: &Call,
        outcome: Result<Outcome, Failure>,
    ) -> Result<Outcome, Failure> {
        // Advice needs further requests, so it is only collected for runs that were rejected.
        let mut outcome = outcome?;
        self.advise(call, &mut outcome).await;
        Ok(outcome)
    }

    /// Starts a run and returns its chunks and its end as a stream.
    pub(super) async fn start_stream(&self, call: &Call) -> Result<RunParts, Failure> {
        Ok(RunParts::new(self.begin("/api/v1/stream", call).await?))
    }

    async fn begin(&self, path: &str, call: &Call) -> Result<Response, Failure> {
        match self.start(path, call).await {
            Ok(response) => Ok(response),
            Err(failure) => Err(self.explain(failure, call.runtime_id.as_deref()).await),
        }
    }

    /// Turns `NOT_FOUND` into `UNAVAILABLE` if it is the runtime that does not exist, and not
    /// the action. The two have different exit codes.
    pub(super) async fn explain(&self, failure: Failure, runtime: Option<&str>) -> Failure {
        match failure {
            Failure::Error { status, message, .. }
                if status == "NOT_FOUND" && !self.knows(runtime).await =>
            {
                Failure::unavailable(format!(
                    "{message}; `oxikit runtimes` lists the connected ones"
                ))
            }
            failure => failure,
        }
    }

    /// Whether this runtime is connected; `true` if none is given.
    async fn knows(&self, runtime: Option<&str>) -> bool {
        let Some(runtime) = runtime else { return true };
        let Ok(answer) = self.get("/api/v1/runtimes").await else { return true };
        let list = answer["runtimes"].as_array().map(Vec::as_slice).unwrap_or_default();
        list.iter().any(|known| known["id"] == runtime)
    }
}

/// A part of the stream of a run: any number of chunks, then one end.
#[derive(Debug)]
pub(super) enum RunPart {
    Chunk(Box<RawValue>),
    Done(Option<Box<RawValue>>),
    Failed(RunError),
}

/// The stream of a run. Dropping it cancels the run.
pub(super) struct RunParts(Events);

impl RunParts {
    fn new(response: Response) -> Self {
        Self(Events::new(response))
    }

    /// The next part. After `Done` or `Failed` there are no more.
    pub(super) async fn next(&mut self) -> Result<RunPart, Failure> {
        let broken = |error: serde_json::Error| {
            Failure::internal(format!(
                "the response of the developer tools is not valid JSON: {error}"
            ))
        };
        loop {
            let Some(event) = self.0.next().await? else {
                return Err(Failure::unavailable(
                    "the developer tools ended during the run: start them with `oxikit start`",
                ));
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

/// The key of an action of this kind. A name that is already a key is returned unchanged.
pub(super) fn key_of(kind: &str, name: &str) -> String {
    let prefix = format!("/{kind}/");
    if name.starts_with(&prefix) { name.to_owned() } else { format!("{prefix}{name}") }
}

/// Parses an argument that must be JSON.
pub(super) fn json_argument(what: &str, text: &str) -> Result<Box<RawValue>, Failure> {
    serde_json::from_str(text).map_err(|error| not_json(what, text, &error))
}

/// The error for text that is not valid JSON, with advice on the usual mistakes.
pub(super) fn not_json(what: &str, text: &str, error: &serde_json::Error) -> Failure {
    let advice = match text.trim_start().chars().next() {
        None => "it is empty",
        Some('{' | '[' | '"') => "put it into single quotes, so that the shell does not change it",
        Some(_) => "text needs quotes of its own: '\"text\"'",
    };
    Failure::usage(format!("the {what} is not valid JSON ({error}); {advice}"))
}

/// Parses the context of a run, which must be an object.
pub(super) fn context_argument(text: Option<&str>) -> Result<Option<Box<RawValue>>, Failure> {
    let context = text.map(|text| json_argument("context", text)).transpose()?;
    match &context {
        Some(context) if !context.get().starts_with('{') => Err(Failure::usage(
            "the context must be a JSON object, such as {\"auth\":{\"uid\":\"7\"}}",
        )),
        _ => Ok(context),
    }
}

impl Target {
    /// A call of this action on the target runtime.
    pub(super) fn call(&self, key: String) -> Call {
        Call { key, runtime_id: self.runtime.clone(), ..Call::default() }
    }
}

/// Waits for a run, at most for the given time. On timeout the request is dropped, which cancels
/// the run.
async fn limited(
    within: Option<Duration>,
    run: impl Future<Output = Result<Ended, Failure>>,
) -> Result<Ended, Failure> {
    let Some(within) = within else { return run.await };
    tokio::time::timeout(within, run).await.unwrap_or_else(|_| {
        let message =
            "the run took longer than its timeout and was cancelled: set a higher timeout";
        Ok(Err(RunError::new("DEADLINE_EXCEEDED", message.to_owned(), None)))
    })
}

fn trace_of(response: &Response) -> Option<String> {
    Some(response.headers().get(headers::TRACE_ID)?.to_str().ok()?.to_owned())
}
