//! The procedures.

use std::sync::Arc;

use oxikit_core::redact::{self, REDACTED};
use oxikit_sql::TraceError;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::failure::{Failure, Kind};
use super::{Outcome, Verb, evaluations};
use crate::manager::RuntimeInfo;
use crate::server::api::info::variable_names;
use crate::server::shared::Shared;
use crate::server::{AppControl, AppState};
use crate::telemetry::tools;

/// Name and way to call of every procedure. Officially the application is restarted
/// and killed by queries; nothing here has an effect by `GET`.
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

/// Calls one, if it is called as it has to be.
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

fn is_official_query(name: &str) -> bool {
    matches!(name, "restartAppProcess" | "killAppProcess")
}

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
        // Nobody is told what a user looks at.
        _ => Ok(None),
    }
}

/// A runtime as the official tools show it: without its environments.
fn official(runtime: RuntimeInfo) -> RuntimeInfo {
    RuntimeInfo { envs: None, ..runtime }
}

pub(super) fn data(value: &impl Serialize) -> Outcome {
    let text = serde_json::to_string(value);
    text.map(Some).map_err(|error| Failure::new(Kind::Internal, error.to_string()))
}

fn text(input: Option<&str>) -> &str {
    input.unwrap_or_default()
}

fn app_state(shared: &Shared) -> &'static str {
    match shared.app().map(|app| app.status().state) {
        Some(AppState::Running) => "running",
        Some(AppState::Stopped) => "stopped",
        None => "unconfigured",
    }
}

fn app(shared: &Shared) -> Result<Arc<dyn AppControl>, Failure> {
    let missing = || Failure::new(Kind::Internal, "no application was started by these tools");
    shared.app().ok_or_else(missing)
}

/// The names of variables; never their values.
fn environment() -> Value {
    let variable = |name: String| json!({"name": name, "value": REDACTED});
    json!({
        "cliPackageVersion": env!("CARGO_PKG_VERSION"),
        "environmentVars": variable_names().into_iter().map(variable).collect::<Vec<_>>(),
    })
}

/// The input of a procedure that takes an object.
pub(super) struct Members(Map<String, Value>);

impl Members {
    fn optional(input: Option<&str>) -> Result<Self, Failure> {
        match input {
            Some(_) => Self::required(input),
            None => Ok(Self(Map::new())),
        }
    }

    pub(super) fn required(input: Option<&str>) -> Result<Self, Failure> {
        let Some(input) = input else {
            return Err(Failure::issue("object", "undefined", &[]));
        };
        match serde_json::from_str(input).map_err(|error| Failure::unreadable(&error))? {
            Value::Object(members) => {
                Failure::check_exact(input)?;
                Ok(Self(members))
            }
            other => Err(Failure::issue("object", type_name(Some(&other)), &[])),
        }
    }

    pub(super) fn text(&self, name: &str) -> Result<String, Failure> {
        match self.0.get(name) {
            Some(Value::String(text)) => Ok(text.clone()),
            other => Err(Failure::issue("string", type_name(other), &[name])),
        }
    }

    fn optional_text(&self, name: &str) -> Result<Option<String>, Failure> {
        match self.0.get(name) {
            None => Ok(None),
            Some(_) => self.text(name).map(Some),
        }
    }
}

fn type_name(value: Option<&Value>) -> &'static str {
    match value {
        None => "undefined",
        Some(Value::Null) => "null",
        Some(Value::Bool(_)) => "boolean",
        Some(Value::Number(_)) => "number",
        Some(Value::String(_)) => "string",
        Some(Value::Array(_)) => "array",
        Some(Value::Object(_)) => "object",
    }
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
