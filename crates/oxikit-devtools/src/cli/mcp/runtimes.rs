//! Runtimes: seen, started, ended, and looked for.

mod application;
mod arrival;

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use oxikit_core::Status;
use oxikit_mcp::Effect;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::time::{Instant, timeout};

use super::desk::Desk;
use super::own_tools::OwnTools;
use super::runs::seconds;
use super::toolbox::{Answer, NoArguments, Toolbox};
use crate::app::{App, AppCommand, Guard};
use crate::cli::args::StartArgs;
use crate::cli::client::Client;
use crate::cli::failure::Failure;
use crate::cli::settings::{SettingArgs, Settings};
use crate::cli::{doctor, environment, start};
use crate::console::Console;
use crate::project;
use crate::server::AppControl;
use application::Application;
use arrival::Arrival;

/// Tools that live answer within this time.
const ANSWER_TIME: Duration = Duration::from_secs(3);
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(50);

pub(super) fn add(toolbox: Toolbox) -> Toolbox {
    toolbox
        .tool(
            Effect::Reads,
            "list_runtimes",
            "Lists the running applications that are connected, the current one (which is asked when none is named), and the process that was started, with its last lines if it has ended.",
            list_runtimes,
        )
        .tool(
            Effect::Acts,
            "start_runtime",
            "Starts the application and waits until it is connected. Without a command the files of the project say what to start. It ends when you leave. Examples: {} or {\"command\":\"npm\",\"args\":[\"run\",\"dev\"]} or {\"command\":\"cargo\",\"args\":[\"run\"]}.",
            start_runtime,
        )
        .tool(
            Effect::Destroys,
            "kill_runtime",
            "Ends the application that start_runtime or `oxikit start` has started. restart_runtime starts it again.",
            kill_runtime,
        )
        .tool(
            Effect::Destroys,
            "restart_runtime",
            "Starts that application again, such as after a change of its code, and waits until it is connected.",
            restart_runtime,
        )
        .tool(
            Effect::Reads,
            "doctor",
            "Says why a runtime is not visible: goes through the usual causes, and what to do about each.",
            examine,
        )
}

async fn list_runtimes(desk: Arc<Desk>, _: NoArguments) -> Answer {
    let client = desk.client()?;
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
    // Tools without an application have none to tell of.
    if let Ok(status) = Application::find(&desk, client).status().await {
        answer["app"] = application::shown(status);
    }
    Ok(answer)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct StartRuntime {
    /// The program to run; else what was started last, or what the files of the project
    /// say.
    command: Option<String>,
    /// Its arguments.
    #[serde(default)]
    args: Vec<String>,
    /// Wait so many seconds until it is connected; 30 if nothing is said. Then it goes
    /// on, and list_runtimes tells of it.
    timeout_seconds: Option<f64>,
}

async fn start_runtime(desk: Arc<Desk>, args: StartRuntime) -> Answer {
    let within = args.timeout_seconds.map(seconds).transpose()?;
    let mut own_tools = desk.own_tools.lock().await;
    let client = tools(&desk, &mut own_tools).await?;
    if args.command.is_none()
        && desk.seat.app().is_none()
        && let Some(answer) = start_theirs(&desk, &client, within).await?
    {
        return Ok(answer);
    }
    let mut command = command(&desk, args)?;
    let manager = client.manager();
    let variables = environment::variables(manager).into_iter();
    command.env = variables.map(|(name, value)| (name, Some(value.to_owned()))).collect();
    desk.seat.end().await;
    let arrival = Arrival::expect(&client, within).await?;
    let console = Console::start_beside(&command.name);
    let guard = Guard::start().map_err(Failure::from)?;
    // The task ends with the application.
    let (app, _) = App::start(command, console, guard, None);
    if let Some(tools) = &mut *own_tools {
        tools.prefer(&app);
    }
    desk.seat.set(app);
    // Others may look and end it meanwhile.
    drop(own_tools);
    arrival.wait(&client, &Application::find(&desk, client.clone())).await
}

/// The tools of the project; if there are none, our own. Others may be about to start.
async fn tools(desk: &Desk, own_tools: &mut Option<OwnTools>) -> Result<Client, Failure> {
    let deadline = Instant::now() + ANSWER_TIME;
    loop {
        if let Ok(client) = desk.client()
            && let Ok(Ok(_)) = timeout(ANSWER_TIME, client.get("/api/v1/info")).await
        {
            return Ok(client);
        }
        match project::claim(&desk.place.root()) {
            Ok(claim) => {
                let tools = OwnTools::start(&desk.place, desk.seat.clone(), claim).await?;
                *own_tools = Some(tools);
                return desk.client();
            }
            Err(message) if Instant::now() > deadline => {
                return Err(Failure::nobody_there(message));
            }
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

/// Starts the application of `oxikit start` again, if it does not run; nothing if those
/// tools have none.
async fn start_theirs(
    desk: &Desk,
    client: &Client,
    within: Option<Duration>,
) -> Result<Option<Value>, Status> {
    let theirs = Application::Theirs(client.clone());
    let Ok(status) = theirs.status().await else { return Ok(None) };
    if status["command"].as_array().is_none_or(Vec::is_empty) {
        return Ok(None);
    }
    if status["state"] == "running" {
        let message = "it runs already: use it, or call restart_runtime";
        return Ok(Some(json!({"message": message, "app": application::shown(status)})));
    }
    let arrival = Arrival::expect(client, within).await?;
    theirs.restart().await?;
    arrival.wait(client, &Application::find(desk, client.clone())).await.map(Some)
}

/// What was named, else what was started last, else what the project says.
fn command(desk: &Desk, args: StartRuntime) -> Result<AppCommand, Failure> {
    let root = desk.place.root();
    let variable = |name: &str| std::env::var(name).ok();
    let settings = Settings::resolve(&SettingArgs::default(), variable, &root)?;
    let words = match args.command {
        Some(command) => std::iter::once(command).chain(args.args).collect(),
        None => desk.seat.status().command,
    };
    let is_named = !words.is_empty();
    let start = StartArgs {
        demo: false,
        reflection_v1: false,
        experimental_reflection_v2: false,
        settings: SettingArgs::default(),
        command: words.into_iter().map(OsString::from).collect(),
    };
    let mut command = start::command(&start, &settings, &root)?;
    if is_named {
        command.dir.clone_from(&desk.place.0);
    }
    Ok(command)
}

async fn kill_runtime(desk: Arc<Desk>, _: NoArguments) -> Answer {
    let _one_at_a_time = desk.own_tools.lock().await;
    let application = Application::find(&desk, desk.client()?);
    application.stop().await?;
    Ok(json!({"app": application::shown(application.status().await?)}))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RestartRuntime {
    /// Wait so many seconds until it is connected; 30 if nothing is said.
    timeout_seconds: Option<f64>,
}

async fn restart_runtime(desk: Arc<Desk>, args: RestartRuntime) -> Answer {
    let within = args.timeout_seconds.map(seconds).transpose()?;
    let one_at_a_time = desk.own_tools.lock().await;
    let client = desk.client()?;
    let application = Application::find(&desk, client.clone());
    let arrival = Arrival::expect(&client, within).await?;
    application.restart().await?;
    drop(one_at_a_time);
    arrival.wait(&client, &application).await
}

async fn examine(desk: Arc<Desk>, _: NoArguments) -> Answer {
    let (findings, runtimes) = doctor::examine(&desk.place).await;
    Ok(json!({"runtimes": runtimes, "findings": findings}))
}
