//! Arguments of `oxikit a2a`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use oxikit_client::a2a::Binding;

use super::seconds;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  oxikit a2a card https://agents.example
  oxikit a2a chat http://127.0.0.1:3400/a2a/coder
  oxikit a2a send http://127.0.0.1:3400/a2a/coder 'Sort a list' --header 'X-API-Key: k1'

These commands need no developer tools. They call the agent with the newest version of A2A
that its card lists, 1.0 or 0.3, over the first binding of that version that they speak.")]
pub(crate) struct A2aArgs {
    #[command(subcommand)]
    pub(crate) command: A2aCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum A2aCommand {
    /// Show the card of an agent, and what is wrong with it.
    #[command(after_help = "\
Examples:
  oxikit a2a card http://127.0.0.1:3400/a2a/coder
  oxikit a2a card https://agents.example --jwks https://agents.example/keys.json

If something is wrong with the card, or its signature is not valid, the exit code is 1.")]
    Card {
        #[command(flatten)]
        target: A2aTarget,
        /// Check that the card is signed with the public key in this file, in PEM form or as a
        /// JWK. May be repeated: one key is enough.
        #[arg(long, value_name = "FILE")]
        key: Vec<PathBuf>,
        /// Check that the card is signed with a key of the key set at this URL. May be repeated.
        #[arg(long, value_name = "URL")]
        jwks: Vec<String>,
        /// Show the card for authenticated callers.
        #[arg(long, conflicts_with_all = ["key", "jwks"])]
        extended: bool,
    },
    /// Send a message and wait for the answer.
    #[command(after_help = "\
Examples:
  oxikit a2a send http://127.0.0.1:3400/a2a/coder 'Sort a list'
  oxikit a2a send http://127.0.0.1:3400/a2a/coder 'In reverse' --context 5d9d…
  oxikit a2a send http://127.0.0.1:3400/a2a/coder 'Yes' --task 7c1e…     answer a question

If the task fails, or the agent rejects it, the exit code is 1.")]
    Send(A2aMessage),
    /// Send a message and show the answer while it arrives.
    #[command(after_help = "\
Example:
  oxikit a2a stream http://127.0.0.1:3400/a2a/coder 'Sort a list'

A lost connection is opened again. Interrupting the command (Ctrl-C) does not cancel the task.")]
    Stream(A2aMessage),
    /// Chat with an agent: each line of the standard input is a message.
    #[command(after_help = "Example:\n  oxikit a2a chat http://127.0.0.1:3400/a2a/coder")]
    Chat {
        #[command(flatten)]
        target: A2aTarget,
        /// The conversation to continue. Default: a new one.
        #[arg(long, value_name = "ID")]
        context: Option<String>,
    },
    /// Show a task.
    Task {
        #[command(flatten)]
        target: A2aTarget,
        /// The id of the task.
        id: String,
    },
    /// Cancel a task.
    Cancel {
        #[command(flatten)]
        target: A2aTarget,
        /// The id of the task.
        id: String,
    },
}

/// A message to an agent.
#[derive(Debug, Args)]
pub(crate) struct A2aMessage {
    #[command(flatten)]
    pub(crate) target: A2aTarget,
    /// The text of the message.
    pub(crate) message: String,
    /// The conversation to continue. Default: a new one.
    #[arg(long, value_name = "ID")]
    pub(crate) context: Option<String>,
    /// The task to continue, for example one that asked something.
    #[arg(long, value_name = "ID")]
    pub(crate) task: Option<String>,
}

/// The agent that a command calls.
#[derive(Debug, Args)]
pub(crate) struct A2aTarget {
    /// The URL of the agent or of its card.
    pub(crate) url: String,
    /// A header for every request, such as `X-API-Key: k1`. May be repeated.
    #[arg(long, value_name = "NAME: VALUE")]
    pub(crate) header: Vec<String>,
    /// Call this server too, such as `https://api.example`, if the card names it as an address of
    /// the agent, and send it the headers. By default they go only to the server of the card, and
    /// other servers are called only at public addresses.
    #[arg(long, value_name = "ORIGIN")]
    pub(crate) trust_origin: Vec<String>,
    /// Speak only this version of A2A.
    #[arg(long, value_parser = ["1.0", "0.3"])]
    pub(crate) protocol: Option<String>,
    /// Speak only this binding: `jsonrpc`, `http` or `grpc`.
    #[arg(long, value_parser = binding)]
    pub(crate) binding: Option<Binding>,
    /// Give up after this number of seconds.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,
}

/// The binding with this short name: that of cards up to the `+`, in lower case.
fn binding(text: &str) -> Result<Binding, String> {
    let short = |it: &Binding| it.name().split('+').next().unwrap_or_default().to_ascii_lowercase();
    let found = Binding::ALL.iter().copied().find(|it| short(it) == text);
    found.ok_or_else(|| {
        let names: Vec<_> = Binding::ALL.iter().map(short).collect();
        format!("use one of: {}", names.join(", "))
    })
}
