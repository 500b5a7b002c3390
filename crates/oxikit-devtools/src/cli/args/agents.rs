//! Agents and their sessions.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

use super::{Target, seconds};

#[derive(Debug, Args)]
pub(in crate::cli) struct AgentArgs {
    #[command(subcommand)]
    pub(in crate::cli) command: AgentCommand,
}

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum AgentCommand {
    /// List the agents of a runtime.
    List {
        #[command(flatten)]
        target: Target,
    },
    /// Talk to an agent: one message, or line by line.
    #[command(after_help = "\
Examples:
  oxikit agent chat teashop 'Please order \"green tea\".'
  oxikit agent chat teashop --session table-7
  oxikit agent chat teashop --snapshot 5d9d…     go on from an earlier turn: a branch
  oxikit agent chat teashop --session table-7 --approve
  oxikit agent chat teashop --session table-7 --answer 'no too expensive'

A tool may ask before it acts. Its question is shown, and the next line answers it: `yes`
runs the tool, `yes {…}` also passes it this JSON, `no` or `no <reason>` declines, and any
other JSON is taken as its output. Until then no message is sent.")]
    Chat(ChatArgs),
}

/// A conversation.
#[derive(Debug, Args)]
pub(in crate::cli) struct ChatArgs {
    /// Its name.
    pub(in crate::cli) name: String,
    /// What to say; without it each line of the standard input is a message.
    pub(in crate::cli) message: Option<String>,
    /// The session to go on with, or to begin; else a new one. Only for agents that
    /// keep their sessions.
    #[arg(long, value_name = "ID")]
    pub(in crate::cli) session: Option<String>,
    /// The snapshot to go on from; if it is not the latest, its session branches.
    #[arg(long, value_name = "ID", conflicts_with = "session")]
    pub(in crate::cli) snapshot: Option<String>,
    /// Run the tools that wait for an answer in this session or snapshot.
    #[arg(long, conflicts_with_all = ["message", "answer"])]
    pub(in crate::cli) approve: bool,
    /// Answer a tool that waits, as if this was typed; once for each tool, in their order.
    #[arg(long, value_name = "ANSWER", conflicts_with = "message")]
    pub(in crate::cli) answer: Vec<String>,
    #[command(flatten)]
    pub(in crate::cli) caller: Caller,
    /// Give up a turn after so many seconds.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(in crate::cli) timeout: Option<Duration>,
    #[command(flatten)]
    pub(in crate::cli) target: Target,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct SessionArgs {
    #[command(subcommand)]
    pub(in crate::cli) command: SessionCommand,
}

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum SessionCommand {
    /// List the sessions of an agent, those written last first.
    #[command(after_help = "\
Examples:
  oxikit session list teashop
  oxikit session list teashop --status active     those that wait for something

Applications of oxikit list what they keep. Of others those sessions are shown that the
traces tell of.")]
    List(SessionListArgs),
    /// Show the conversation of a session, and its state.
    #[command(after_help = "Example:\n  oxikit session show teashop table-7 --tree")]
    Show {
        #[command(flatten)]
        session: SessionName,
        /// Also show its snapshots; without it they are shown if there are branches.
        #[arg(long)]
        tree: bool,
    },
    /// Make a new session that begins where this one is, or was.
    #[command(after_help = "\
Examples:
  oxikit session fork teashop table-7
  oxikit session fork teashop table-7 --at 5d9d…  `session show --tree` has the ids

Prints the id of the new session. The other one stays as it is.")]
    Fork {
        #[command(flatten)]
        session: SessionName,
        /// The snapshot to begin at; else where the next turn would go on.
        #[arg(long, value_name = "SNAPSHOT")]
        at: Option<String>,
    },
    /// Remove a session for good; its work is stopped first.
    Delete {
        #[command(flatten)]
        session: SessionName,
        /// Do not ask.
        #[arg(long, short)]
        yes: bool,
    },
    /// Write a session and its traces as one JSON file, without what looks like a secret.
    #[command(after_help = "Example:\n  oxikit session export teashop table-7 --output t7.json")]
    Export {
        #[command(flatten)]
        session: SessionName,
        /// Write to this file; else to the standard output.
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
}

/// Which session.
#[derive(Debug, Clone, Args)]
pub(in crate::cli) struct SessionName {
    /// The name of the agent.
    pub(in crate::cli) agent: String,
    /// The id of the session.
    pub(in crate::cli) session: String,
    #[command(flatten)]
    pub(in crate::cli) caller: Caller,
    #[command(flatten)]
    pub(in crate::cli) target: Target,
}

/// Whose sessions.
#[derive(Debug, Clone, Args)]
pub(in crate::cli) struct Caller {
    /// The context of the caller whose sessions they are, JSON, such as
    /// `{"auth":{"uid":"7"}}`; else those of callers without a login.
    #[arg(long, short, value_name = "JSON")]
    pub(in crate::cli) context: Option<String>,
}

/// Which sessions.
#[derive(Debug, Args)]
pub(in crate::cli) struct SessionListArgs {
    /// The name of the agent.
    pub(in crate::cli) agent: String,
    /// At most so many, 200 at most.
    #[arg(long, default_value_t = 20, value_name = "NUMBER")]
    pub(in crate::cli) limit: u32,
    /// Only those that wait for something, or only the others.
    #[arg(long, value_parser = ["active", "completed"])]
    pub(in crate::cli) status: Option<String>,
    /// Go on behind the page that said this (`continuationToken` of --json).
    #[arg(long, value_name = "TOKEN")]
    pub(in crate::cli) after: Option<String>,
    #[command(flatten)]
    pub(in crate::cli) caller: Caller,
    #[command(flatten)]
    pub(in crate::cli) target: Target,
}
