//! Tools that list, start, end and diagnose runtimes.
//!
//! The application may belong to this process (`start_runtime` started it) or to an
//! `oxikit start` that runs beside it; [`Application`] hides the difference.

mod application;
mod runtime_wait;

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use oxikit_core::Status;
use oxikit_mcp::Effect;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::time::{Instant, timeout};

use super::own_tools::OwnTools;
use super::runs::seconds;
use super::state::McpState;
use super::tool_registry::{NoArguments, ToolRegistry, ToolResult};
use crate::app::{App, AppCommand, Guard};
use crate::args::StartArgs;
use crate::client::Client;
use crate::console::Console;
use crate::failure::Failure;
use crate::project;
use crate::settings::{SettingArgs, Settings};
use crate::{doctor, environment, start};
use application::Application;
use oxikit_devtools::AppControl;
use runtime_wait::RuntimeWait;

/// Maximum time to wait for developer tools: for a response of running ones, and for others
/// that are just starting or ending.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(3);
/// Time between two checks.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

pub(super) fn add(registry: ToolRegistry) -> ToolRegistry {
    registry
        .tool(
            Effect::Reads,
            "list_runtimes",
            "Lists the connected runtimes (running applications), the current one (the default of all tools), and the process that was started, with its last lines if it has ended.",
            list_runtimes,
        )
        .tool(
            Effect::Acts,
            "start_runtime",
            "Starts the application and waits until it is connected. Without a command it is detected from the files of the project. It ends with this MCP connection. Examples: {} or {\"command\":\"npm\",\"args\":[\"run\",\"dev\"]} or {\"command\":\"cargo\",\"args\":[\"run\"]}.",
            start_runtime,
        )
        .tool(
            Effect::Destroys,
            "kill_runtime",
            "Ends the application that start_runtime or `oxikit start` started. restart_runtime starts it again.",
            kill_runtime,
        )
        .tool(
            Effect::Destroys,
            "restart_runtime",
            "Restarts the application, such as after a change of its code, and waits until it is connected.",
            restart_runtime,
        )
        .tool(
            Effect::Reads,
            "doctor",
            "Finds out why a runtime is not visible: checks the usual causes and says what to do about each.",
            examine,
        )
}

async fn list_runtimes(state: Arc<McpState>, _: NoArguments) -> ToolResult {
    let client = state.client()?;
    let mut answer = client.get("/api/v1/runtimes").await?;
    for runtime in answer["runtimes"].as_array_mut().into_iter().flatten() {
        let mut shown = Map::new();
        for member in ["id", "pid", "name", "genkitVersion", "timestamp", "isSilent"] {
            if !runtime[member].is_null() {
                shown.insert(member.to_owned(), runtime[member].take());
            }
        }
        *runtime = shown.into();
    }
    // Developer tools that run without an application have no status of one.
    if let Ok(status) = Application::find(&state, client).status().await {
        answer["app"] = application::shown(status);
    }
    Ok(answer)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct StartRuntime {
    /// The program to run. Default: the command that was started last, else the one that is
    /// detected from the files of the project.
    command: Option<String>,
    /// The arguments of the program.
    #[serde(default)]
    args: Vec<String>,
    /// Maximum number of seconds to wait until it is connected. Default: 30. After that it
    /// keeps running, and list_runtimes shows it once it is connected.
    timeout_seconds: Option<f64>,
}

async fn start_runtime(state: Arc<McpState>, args: StartRuntime) -> ToolResult {
    let within = args.timeout_seconds.map(seconds).transpose()?;
    // The lock covers the start of the tools and of the process. It is released before the wait
    // for the connection, which may take as long as a build.
    let mut own_tools = state.own_tools.lock().await;
    let client = tools(&state, &mut own_tools).await?;
    if args.command.is_none()
        && state.app_slot.app().is_none()
        && let Some(answer) = start_external(&state, &client, within).await?
    {
        return Ok(answer);
    }
    let mut command = command(&state, args)?;
    let manager = client.manager();
    let variables = environment::variables(manager).into_iter();
    command.env = variables.map(|(name, value)| (name, Some(value.to_owned()))).collect();
    // The previous application ends first: if it connected only now, its runtime could be taken
    // for the new one.
    state.app_slot.end().await;
    let runtime_wait = RuntimeWait::begin(&client, within).await?;
    let console = Console::start_on_stderr(&command.name);
    let guard = Guard::start().map_err(Failure::from)?;
    // The handle of the task is not needed: the task ends with the application.
    let (app, _) = App::start(command, console, guard, None);
    if let Some(tools) = &mut *own_tools {
        tools.prefer(&app);
    }
    state.app_slot.set(app);
    // From here on kill_runtime and others may be called while this one waits.
    drop(own_tools);
    runtime_wait.wait(&client, &Application::find(&state, client.clone())).await
}

/// The developer tools of the project. If none run, this process starts its own. Other tools
/// may be about to start or end, so a lock that is taken is tried again for a while.
async fn tools(state: &McpState, own_tools: &mut Option<OwnTools>) -> Result<Client, Failure> {
    let deadline = Instant::now() + RESPONSE_TIMEOUT;
    loop {
        if let Ok(client) = state.client()
            && let Ok(Ok(_)) = timeout(RESPONSE_TIMEOUT, client.get("/api/v1/info")).await
        {
            return Ok(client);
        }
        match project::claim(&state.project_dir.root()) {
            Ok(claim) => {
                let tools =
                    OwnTools::start(&state.project_dir, state.app_slot.clone(), claim).await?;
                *own_tools = Some(tools);
                return state.client();
            }
            Err(message) if Instant::now() > deadline => {
                return Err(Failure::unavailable(message));
            }
            Err(_) => tokio::time::sleep(POLL_INTERVAL).await,
        }
    }
}

/// Restarts the application of `oxikit start` if it does not run. `None` if those developer
/// tools have no application.
async fn start_external(
    state: &McpState,
    client: &Client,
    within: Option<Duration>,
) -> Result<Option<Value>, Status> {
    let external = Application::External(client.clone());
    let Ok(status) = external.status().await else { return Ok(None) };
    if status["command"].as_array().is_none_or(Vec::is_empty) {
        return Ok(None);
    }
    if status["state"] == "running" {
        let message = "the application runs already: use it, or call restart_runtime";
        return Ok(Some(json!({"message": message, "app": application::shown(status)})));
    }
    let runtime_wait = RuntimeWait::begin(client, within).await?;
    external.restart().await?;
    runtime_wait.wait(client, &Application::find(state, client.clone())).await.map(Some)
}

/// The command of the arguments, else the one that was started last, else the one of the
/// settings or the files of the project.
fn command(state: &McpState, args: StartRuntime) -> Result<AppCommand, Failure> {
    let root = state.project_dir.root();
    let variable = |name: &str| std::env::var(name).ok();
    let settings = Settings::resolve(&SettingArgs::default(), variable, &root)?;
    let arguments = match args.command {
        Some(command) => std::iter::once(command).chain(args.args).collect(),
        None => state.app_slot.status().command,
    };
    let is_named = !arguments.is_empty();
    let start = StartArgs {
        openapi: false,
        demo: false,
        reflection_v1: false,
        experimental_reflection_v2: false,
        settings: SettingArgs::default(),
        command: arguments.into_iter().map(OsString::from).collect(),
    };
    let mut command = start::command(&start, &settings, &root)?;
    if is_named {
        command.dir.clone_from(&state.project_dir.0);
    }
    Ok(command)
}

async fn kill_runtime(state: Arc<McpState>, _: NoArguments) -> ToolResult {
    let _lock = state.own_tools.lock().await;
    let application = Application::find(&state, state.client()?);
    application.stop().await?;
    Ok(json!({"app": application::shown(application.status().await?)}))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RestartRuntime {
    /// Maximum number of seconds to wait until it is connected. Default: 30.
    timeout_seconds: Option<f64>,
}

async fn restart_runtime(state: Arc<McpState>, args: RestartRuntime) -> ToolResult {
    let within = args.timeout_seconds.map(seconds).transpose()?;
    let lock = state.own_tools.lock().await;
    let client = state.client()?;
    let application = Application::find(&state, client.clone());
    let runtime_wait = RuntimeWait::begin(&client, within).await?;
    application.restart().await?;
    drop(lock);
    runtime_wait.wait(&client, &application).await
}

async fn examine(state: Arc<McpState>, _: NoArguments) -> ToolResult {
    let (findings, runtimes) = doctor::examine(&state.project_dir).await;
    Ok(json!({"runtimes": runtimes, "findings": findings}))
}
