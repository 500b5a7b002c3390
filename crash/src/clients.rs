//! The clients of a trial of sessions. Each sends one turn after the other and repeats a turn
//! until it is acknowledged. The lines of standard input tell them what happens to the server.

mod conversation;
mod progress;

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use oxikit_client::{Client, RemoteAction};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::task::JoinSet;

use crate::seen::Log;
use crate::{Args, counter};
use conversation::Conversation;
use progress::Progress;

/// Timeout of a request. It is longer than any trial freezes a server.
const LONGEST_TURN: Duration = Duration::from_secs(120);

/// Runs the clients until all have completed their turns, or until `stop` or the end of standard
/// input is read. The lines `killed` and `back` report the state of the server; when all clients
/// have continued afterwards, their delays are printed. `count` prints the number of turns that
/// wait for a response.
pub(crate) async fn run(args: &Args) -> Result<()> {
    let clients = args.number("--clients")?.context("--clients is missing")?;
    let progress = Arc::new(Progress::new(clients));
    let log = Arc::new(Log::create(args.get("--log")?)?);
    let actions = actions(&args.list("--urls")?)?;
    let (name, sessions) = (args.get("--name")?, args.get("--sessions")?);
    let by_session = args.has("--by-session") || args.has("--one-session");
    let mut conversations = JoinSet::new();
    for client in 0..clients {
        let session = match args.has("--one-session") {
            true => sessions.to_owned(),
            false => format!("{sessions}-{client}"),
        };
        let conversation = Conversation {
            name: name.to_owned(),
            client,
            session,
            // Half of the clients continue from the snapshot that they saw last.
            follows_snapshots: !by_session && client % 2 == 1,
            turns: args.number("--turns")?.unwrap_or(usize::MAX),
            attempts: args.number("--attempts")?.unwrap_or(usize::MAX),
            actions: actions.clone(),
            log: log.clone(),
            progress: progress.clone(),
        };
        conversations.spawn(conversation.run());
    }
    tokio::select! {
        ended = all(&mut conversations) => ended?,
        ended = read_commands(&progress) => ended?,
    }
    println!("{}", progress.summary());
    Ok(())
}

/// The agent on each of the servers.
fn actions(urls: &[String]) -> Result<Arc<[RemoteAction]>> {
    // The test repeats failed turns itself, to count them.
    let client = Client::builder().retries(0).timeout(LONGEST_TURN).build()?;
    let action = |url| client.action(&format!("{url}/{}", counter::NAME));
    Ok(urls.iter().map(action).collect::<Result<Vec<_>, _>>()?.into())
}

async fn all(conversations: &mut JoinSet<Result<()>>) -> Result<()> {
    while let Some(ended) = conversations.join_next().await {
        ended??;
    }
    Ok(())
}

/// Executes the commands of standard input until `stop`.
async fn read_commands(progress: &Progress) -> Result<()> {
    let mut commands = BufReader::new(tokio::io::stdin()).lines();
    while let Some(command) = commands.next_line().await? {
        match command.as_str() {
            "count" => progress.count(),
            "killed" => progress.killed(),
            "back" => progress.back(),
            "stop" => break,
            _ => {
                anyhow::bail!("`{command}` is not one of the commands count, killed, back and stop")
            }
        }
    }
    Ok(())
}
