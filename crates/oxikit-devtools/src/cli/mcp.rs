//! `oxikit mcp`: the tools for coding agents, over the Model Context Protocol.
//!
//! It calls the tools that run for the project as every other command does. Those that
//! it starts itself, and the application with them, end with the conversation. Only
//! the protocol is on the standard output.

mod agents;
mod chat;
mod conversations;
mod desk;
mod length;
mod logs;
mod own_tools;
mod runs;
mod runtimes;
mod seat;
mod toolbox;
mod traces;

use std::io::{self, IsTerminal};
use std::sync::Arc;

use super::Place;
use super::failure::Failure;
use super::start::{LAST_LINES_TIME, Signals, show_own_log};
use crate::console::Console;
use crate::terminal::{self, Text};
use desk::Desk;
use toolbox::Toolbox;

/// What a model is told before it begins.
const INSTRUCTIONS: &str = "\
Develop and debug a Genkit application of any language (flows, agents, tools, prompts, models). \
Begin with list_runtimes. If nothing runs, start_runtime starts the application of the project. \
list_flows and list_actions show what can be run, with input schemas; run_flow, run_action and \
chat run it and name the trace. A tool of an agent may ask before it acts: chat then answers with \
`interrupts`; ask the user, and call chat again with `approve` or `answers`. After a failure or a surprise look at get_trace and list_logs: \
they show each model call and tool call with its input, output and error. After a change of the \
code call restart_runtime before you run anything again. If a runtime is not visible, ask doctor.";

/// Serves until the standard input ends, or a signal comes.
pub(super) async fn run(place: &Place) -> Result<(), Failure> {
    let mut signals = Signals::new()?;
    let console = Console::start_beside("oxikit");
    show_own_log(&console);
    if io::stdin().is_terminal() {
        let text = "this is for coding agents: see `oxikit mcp --help`; Ctrl-D ends";
        terminal::write_err(&Text::from(text).end());
    }
    let desk = Arc::new(Desk::new(place.clone()));
    let toolbox = Toolbox::new(desk.clone(), INSTRUCTIONS);
    let toolbox = runtimes::add(traces::add(chat::add(agents::add(runs::add(toolbox)))));
    let served = tokio::select! {
        served = toolbox.into_server().serve_stdio() => served,
        () = signals.next() => Ok(()),
    };
    desk.close().await;
    console.flush(LAST_LINES_TIME).await;
    served.map_err(|error| Failure::failed("FAILED_PRECONDITION", format!("no MCP: {error}")))
}
