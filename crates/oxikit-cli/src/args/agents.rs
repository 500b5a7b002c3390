//! Arguments of `oxikit agent` and `oxikit session`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

use super::{Target, seconds};

#[derive(Debug, Args)]
pub(crate) struct AgentArgs {
    #[command(subcommand)]
    pub(crate) command: AgentCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AgentCommand {
    /// List the agents of a runtime.
    List {
        #[command(flatten)]
        target: Target,
    },
    /// Chat with an agent: send one message, or one per line of input.
    #[command(after_help = "\
Examples:
  oxikit agent chat teashop 'Please order \"green tea\".'
  oxikit agent chat teashop --session table-7
  oxikit agent chat teashop --snapshot 5d9d…     continue from an earlier turn, as a branch
  oxikit agent chat teashop --session table-7 --approve
  oxikit agent chat teashop --session table-7 --answer 'no too expensive'

A tool of the agent may ask for approval before it acts. The question is shown, and the next
line answers it: `yes` runs the tool, `yes {…}` also passes this JSON to it, `no` or
`no <reason>` declines, and any other JSON is used as the output of the tool. Until all tools
have an answer, no message can be sent.")]
    Chat(ChatArgs),
}

/// Options of a conversation.
#[derive(Debug, Args)]
pub(crate) struct ChatArgs {
    /// The name of the agent.
    pub(crate) name: String,
    /// The message to send. Without it, each line of the standard input is sent as a message.
    pub(crate) message: Option<String>,
    /// The session to continue, or to create if it does not exist. Default: a new session.
    /// Only for agents that store their sessions.
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// The snapshot to continue from. If it is not the latest one, the session branches.
    #[arg(long, value_name = "ID", conflicts_with = "session")]
    pub(crate) snapshot: Option<String>,
    /// Approve and run all tools that wait for an answer in the session or snapshot.
    #[arg(long, conflicts_with_all = ["message", "answer"])]
    pub(crate) approve: bool,
    /// Answer a tool that waits, with the text that would be typed. Repeat it for each tool, in
    /// the order in which they are shown.
    #[arg(long, value_name = "ANSWER", conflicts_with = "message")]
    pub(crate) answer: Vec<String>,
    #[command(flatten)]
    pub(crate) caller: Caller,
    /// Cancel a turn after this number of seconds.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,
    #[command(flatten)]
    pub(crate) target: Target,
}

#[derive(Debug, Args)]
pub(crate) struct SessionArgs {
    #[command(subcommand)]
    pub(crate) command: SessionCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SessionCommand {
    /// List the stored sessions of an agent, the most recently changed first.
    #[command(after_help = "\
Examples:
  oxikit session list teashop
  oxikit session list teashop --status active     a turn runs or a tool waits

Applications written with oxikit list their stored sessions. For other applications the
list is made from the traces.")]
    List(SessionListArgs),
    /// Show the messages and the state of a session.
    #[command(after_help = "Example:\n  oxikit session show teashop table-7 --tree")]
    Show {
        #[command(flatten)]
        session: SessionName,
        /// Also show the tree of snapshots. It is always shown if the session has branches.
        #[arg(long)]
        tree: bool,
    },
    /// Copy a session, as it is now or as it was at a snapshot, to a new session.
    #[command(after_help = "\
Examples:
  oxikit session fork teashop table-7
  oxikit session fork teashop table-7 --at 5d9d…  `session show --tree` shows the ids

Prints the id of the new session. The original session is not changed.")]
    Fork {
        #[command(flatten)]
        session: SessionName,
        /// The snapshot to copy. Default: the one that the next turn would continue from.
        #[arg(long, value_name = "SNAPSHOT")]
        at: Option<String>,
    },
    /// Delete a session permanently. A running turn is stopped first.
    Delete {
        #[command(flatten)]
        session: SessionName,
        /// Do not ask for confirmation.
        #[arg(long, short)]
        yes: bool,
    },
    /// Export a session and its traces as one JSON file. Values that look like secrets are
    /// redacted.
    #[command(after_help = "Example:\n  oxikit session export teashop table-7 --output t7.json")]
    Export {
        #[command(flatten)]
        session: SessionName,
        /// The file to write. Default: the standard output.
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
}

/// Selects a session.
#[derive(Debug, Clone, Args)]
pub(crate) struct SessionName {
    /// The name of the agent.
    pub(crate) agent: String,
    /// The id of the session.
    pub(crate) session: String,
    #[command(flatten)]
    pub(crate) caller: Caller,
    #[command(flatten)]
    pub(crate) target: Target,
}

/// Selects the owner of sessions.
#[derive(Debug, Clone, Args)]
pub(crate) struct Caller {
    /// The context of the user who owns the sessions, as a JSON object such as
    /// `{"auth":{"uid":"7"}}`. Default: no user.
    #[arg(long, short, value_name = "JSON")]
    pub(crate) context: Option<String>,
}

/// Selects the sessions of a list.
#[derive(Debug, Args)]
pub(crate) struct SessionListArgs {
    /// The name of the agent.
    pub(crate) agent: String,
    /// Maximum number of sessions, up to 200.
    #[arg(long, default_value_t = 20, value_name = "NUMBER")]
    pub(crate) limit: u32,
    /// `active`: only sessions where a turn runs or a tool waits for an answer; `completed`:
    /// only the others.
    #[arg(long, value_parser = ["active", "completed"])]
    pub(crate) status: Option<String>,
    /// Show the next page: the `continuationToken` that the previous page printed with --json.
    #[arg(long, value_name = "TOKEN")]
    pub(crate) after: Option<String>,
    #[command(flatten)]
    pub(crate) caller: Caller,
    #[command(flatten)]
    pub(crate) target: Target,
}
