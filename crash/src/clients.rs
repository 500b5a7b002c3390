//! The clients: each says one thing after another, and does not give up.

mod board;
mod talk;

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use oxikit_client::{Client, RemoteAction};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::task::JoinSet;

use crate::seen::Log;
use crate::{Args, counter};
use board::Board;
use talk::Talk;

/// Longer than a server is frozen.
const LONGEST_TURN: Duration = Duration::from_secs(120);

/// Runs them until all have had their turns, or `stop` is read, or the end of input.
/// It is told `killed` and `back` of the server, and tells when all have gone on; asked
/// to `count`, it tells how many turns are under way.
pub(crate) async fn run(args: &Args) -> Result<()> {
    let clients = args.number("--clients")?.context("--clients is missing")?;
    let board = Arc::new(Board::new(clients));
    let log = Arc::new(Log::create(args.get("--log")?)?);
    let actions = actions(&args.list("--urls")?)?;
    let (name, sessions) = (args.get("--name")?, args.get("--sessions")?);
    let by_session = args.has("--by-session") || args.has("--one-session");
    let mut talks = JoinSet::new();
    for client in 0..clients {
        let session = match args.has("--one-session") {
            true => sessions.to_owned(),
            false => format!("{sessions}-{client}"),
        };
        let talk = Talk {
            name: name.to_owned(),
            client,
            session,
            // Half of them go on from the snapshot that they have seen last.
            follows_snapshots: !by_session && client % 2 == 1,
            turns: args.number("--turns")?.unwrap_or(usize::MAX),
            attempts: args.number("--attempts")?.unwrap_or(usize::MAX),
            actions: actions.clone(),
            log: log.clone(),
            board: board.clone(),
        };
        talks.spawn(talk.run());
    }
    tokio::select! {
        ended = all(&mut talks) => ended?,
        obeyed = obey(&board) => obeyed?,
    }
    println!("{}", board.summary());
    Ok(())
}

/// The agent at each of the servers.
fn actions(urls: &[String]) -> Result<Arc<[RemoteAction]>> {
    // Trying again is the business of the test.
    let client = Client::builder().retries(0).timeout(LONGEST_TURN).build()?;
    let action = |url| client.action(&format!("{url}/{}", counter::NAME));
    Ok(urls.iter().map(action).collect::<Result<Vec<_>, _>>()?.into())
}

async fn all(talks: &mut JoinSet<Result<()>>) -> Result<()> {
    while let Some(ended) = talks.join_next().await {
        ended??;
    }
    Ok(())
}

/// Ends with the order to stop.
async fn obey(board: &Board) -> Result<()> {
    let mut orders = BufReader::new(tokio::io::stdin()).lines();
    while let Some(order) = orders.next_line().await? {
        match order.as_str() {
            "count" => board.count(),
            "killed" => board.killed(),
            "back" => board.back(),
            "stop" => break,
            _ => anyhow::bail!("there are the orders count, killed, back and stop"),
        }
    }
    Ok(())
}
