//! `oxikit mcp`: lets a coding agent use the developer tools over the Model Context Protocol.
//!
//! It calls the developer tools of the project over HTTP, as every other command does. If
//! none run, `start_runtime` starts them inside this process; they end, with the application,
//! when the MCP connection ends. The standard output carries only the protocol, so logs and
//! lines of the application go to the standard error.

mod agents;
mod app_slot;
mod chat;
mod conversations;
mod length;
mod logs;
mod own_tools;
mod redaction;
mod runs;
mod runtimes;
mod state;
mod tool_registry;
mod traces;

use std::io::{self, IsTerminal};
use std::sync::Arc;

use super::ProjectDir;
use super::failure::Failure;
use super::start::{FLUSH_TIMEOUT, Signals, show_own_log};
use crate::console::Console;
use crate::terminal::{self, Text};
use state::McpState;
use tool_registry::ToolRegistry;

/// The `instructions` of the MCP server, which clients put into the prompt of the model.
const INSTRUCTIONS: &str = "\
Develop and debug a Genkit application of any language (flows, agents, tools, prompts, models). \
Begin with list_runtimes. If no application runs, start_runtime starts the one of the project. \
list_flows and list_actions show what can be run, with input schemas; run_flow, run_action and \
chat run it and return the id of the trace. A tool of an agent may ask before it acts: chat then answers with \
`interrupts`; ask the user, and call chat again with `approve` or `answers`. After a failure or a surprise look at get_trace and list_logs: \
they show each model call and tool call with its input, output and error. After a change of the \
code call restart_runtime before you run anything again. If a runtime is not visible, ask doctor.";

/// Serves until the standard input ends or a signal arrives.
pub(super) async fn run(project_dir: &ProjectDir) -> Result<(), Failure> {
    let mut signals = Signals::new()?;
    let console = Console::start_on_stderr("oxikit");
    show_own_log(&console);
    if io::stdin().is_terminal() {
        let text = "this command is for coding agents, see `oxikit mcp --help`; Ctrl-D ends it";
        terminal::write_err(&Text::from(text).end());
    }
    let state = Arc::new(McpState::new(project_dir.clone()));
    let registry = ToolRegistry::new(state.clone(), INSTRUCTIONS);
    let registry = runtimes::add(traces::add(chat::add(agents::add(runs::add(registry)))));
    let served = tokio::select! {
        served = registry.into_server().serve_stdio() => served,
        () = signals.next() => Ok(()),
    };
    state.close().await;
    console.flush(FLUSH_TIMEOUT).await;
    served.map_err(|error| {
        Failure::failed("FAILED_PRECONDITION", format!("the MCP connection failed: {error}"))
    })
}
