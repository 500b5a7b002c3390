//! The table of procedures, and those that are not about data sets and evaluations.

use std::sync::Arc;

use oxikit_core::redact::{self, REDACTED};
use oxikit_traces::TraceError;
use serde_json::{Value, json};

use super::failure::{Failure, Kind};
use super::input::Members;
use super::{Outcome, Verb, data, evaluations};
use crate::api::info::variable_names;
use crate::shared::Shared;
use crate::{AppControl, AppState};
use oxikit_manager::RuntimeInfo;
use oxikit_traces::tools;

/// The names of the procedures, and how they are called. In the official server the procedures
/// that restart and kill the application are queries; here nothing has an effect by `GET`.
const PROCEDURES: &[(&str, Verb)] = &[
    ("listActions", Verb::Query),
    ("listValues", Verb::Query),
    ("listTraces", Verb::Query),
    ("getTrace", Verb::Query),
    ("listLogs", Verb::Query),
    ("getCurrentRuntime", Verb::Query),
    ("getActiveRuntimes", Verb::Query),
    ("getAppProcessStatus", Verb::Query),
    ("getGenkitEnvironment", Verb::Query),
    ("sendPageView", Verb::Query),
    ("sendSelectContent", Verb::Query),
    ("restartAppProcess", Verb::Mutation),
    ("killAppProcess", Verb::Mutation),
    ("cancelAction", Verb::Mutation),
    ("addTrace", Verb::Mutation),
];

/// All procedures, also those of [`evaluations`].
pub(crate) fn procedures() -> impl Iterator<Item = (&'static str, Verb)> {
    PROCEDURES.iter().copied().chain(evaluations::PROCEDURES)
}

/// Calls a procedure, if the method matches.
pub(super) async fn call(shared: &Shared, verb: Verb, name: &str, input: Option<&str>) -> Outcome {
    let is_evaluation = || evaluations::PROCEDURES.iter().any(|(known, _)| *known == name);
    match procedures().find(|(known, _)| *known == name) {
        Some((_, needed)) if needed == verb && is_evaluation() => {
            evaluations::answer(shared, name, input).await
        }
        Some((_, needed)) if needed == verb => answer(shared, name, input).await,
        Some((_, Verb::Mutation)) if is_official_query(name) => {
            let message = format!("`{name}` has an effect: send it with POST");
            Err(Failure::new(Kind::Method, message))
        }
        _ => {
            let message = format!("No \"{}\"-procedure on path \"{name}\"", verb.name());
            Err(Failure::new(Kind::NotFound, message))
        }
    }
}

/// Whether the official server has this mutation as a query, so that old clients send `GET`.
fn is_official_query(name: &str) -> bool {
    matches!(name, "restartAppProcess" | "killAppProcess")
}

/// Executes a procedure of [`PROCEDURES`].
async fn answer(shared: &Shared, name: &str, input: Option<&str>) -> Outcome {
    let runtimes = &shared.runtimes;
    match name {
        "listActions" => {
            let runtime = Members::optional(input)?.optional_text("runtimeId")?;
            data(&runtimes.list_actions(runtime.as_deref()).await?.actions)
        }
        "listValues" => {
            let members = Members::required(input)?;
            let (kind, runtime) = (members.text("type")?, members.optional_text("runtimeId")?);
            data(&runtimes.list_values(runtime.as_deref(), &kind).await?)
        }
        "listTraces" => Ok(Some(tools::list_traces(&shared.traces, text(input)).await?)),
        "getTrace" => {
            Members::required(input)?.text("traceId")?;
            Ok(Some(tools::get_trace(&shared.traces, text(input)).await?))
        }
        "listLogs" => Ok(Some(tools::list_logs(&shared.traces, text(input)).await?)),
        "getCurrentRuntime" => match runtimes.current() {
            Some(runtime) => data(&official(runtime)),
            None => data(&json!({})),
        },
        "getActiveRuntimes" => {
            data(&runtimes.list().iter().cloned().map(official).collect::<Vec<_>>())
        }
        "getAppProcessStatus" => data(&json!({"status": app_state(shared)})),
        "getGenkitEnvironment" => data(&environment()),
        "restartAppProcess" => {
            app(shared)?.restart().await?;
            data(&true)
        }
        "killAppProcess" => {
            app(shared)?.stop().await?;
            data(&true)
        }
        "cancelAction" => {
            let members = Members::required(input)?;
            let (trace_id, runtime) =
                (members.text("traceId")?, members.optional_text("runtimeId")?);
            let message = runtimes.cancel(&trace_id, runtime.as_deref()).await?;
            data(&json!({"message": message}))
        }
        "addTrace" => {
            let trace = redact::text(text(input));
            shared.traces.ingest(trace.as_bytes()).await?;
            Ok(None)
        }
        // `sendPageView` and `sendSelectContent` are usage statistics, which are not collected.
        _ => Ok(None),
    }
}

/// A runtime in the official form: without its environments.
fn official(mut runtime: RuntimeInfo) -> RuntimeInfo {
    runtime.envs = None;
    runtime
}

fn text(input: Option<&str>) -> &str {
    input.unwrap_or_default()
}

/// The state of the application in the words of the official server.
fn app_state(shared: &Shared) -> &'static str {
    match shared.app().map(|app| app.status().state) {
        Some(AppState::Running) => "running",
        Some(AppState::Stopped) => "stopped",
        None => "unconfigured",
    }
}

/// The application, or the error if the tools have not started one.
fn app(shared: &Shared) -> Result<Arc<dyn AppControl>, Failure> {
    let missing = || Failure::new(Kind::Internal, "no application was started by these tools");
    shared.app().ok_or_else(missing)
}

/// The names of the environment variables, with redacted values.
fn environment() -> Value {
    let variable = |name: String| json!({"name": name, "value": REDACTED});
    json!({
        "cliPackageVersion": env!("CARGO_PKG_VERSION"),
        "environmentVars": variable_names().into_iter().map(variable).collect::<Vec<_>>(),
    })
}

impl From<TraceError> for Failure {
    fn from(error: TraceError) -> Self {
        let kind = match error {
            TraceError::Query(_) | TraceError::Post(_) => Kind::BadRequest,
            _ => Kind::Internal,
        };
        Self::new(kind, error.to_string())
    }
}
