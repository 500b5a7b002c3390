//! The checker: what clients saw against what the store holds.

mod chain;
mod findings;

use std::collections::BTreeMap;
use std::process::ExitCode;

use anyhow::Result;
use futures_util::{StreamExt, stream};
use oxikit_core::ports::{Owner, SessionStore, StoreError};

use crate::seen::Seen;
use crate::{Args, seen, store};
use chain::{Chain, Content};
use findings::Findings;

/// So many sessions are read at the same time.
const AT_ONCE: usize = 16;
/// So many snapshots of a session without branches are read in full.
const READ_OF_A_LINE: usize = 200;
/// So many findings are told.
const TOLD: usize = 10;

/// Tells what was found, as a line of JSON, and fails if anything is wrong.
pub(crate) async fn run(args: &Args) -> Result<ExitCode> {
    let store = store::open(args).await?;
    let mut sessions: BTreeMap<String, Vec<Seen>> = BTreeMap::new();
    for seen in seen::read(&args.list("--log")?)? {
        sessions.entry(seen.session.clone()).or_default().push(seen);
    }
    let checks = sessions.iter().map(|(session, seen)| check(&*store, session, seen));
    let found = stream::iter(checks).buffer_unordered(AT_ONCE);
    let findings = found.fold(Findings::default(), |all, one| async { all.and(one) }).await;
    for fault in findings.faults.iter().take(TOLD) {
        eprintln!("{fault}");
    }
    println!("{}", serde_json::to_string(&findings)?);
    Ok(if findings.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// One session.
async fn check(store: &dyn SessionStore, session: &str, seen: &[Seen]) -> Findings {
    let mut findings = Findings::of(seen.len());
    // Whoever names a snapshot to go on from may make a branch.
    let is_line = seen.iter().all(|seen| seen.from.is_none());
    let chain = match read(store, session, is_line, &mut findings).await {
        Ok(chain) => chain,
        Err(error) => {
            findings.unreadable(format!("session {session}: {error}"));
            return findings;
        }
    };
    for seen in seen {
        chain.hold_against(seen, &mut findings);
    }
    if is_line {
        chain.be_one_line(&mut findings);
    }
    findings
}

/// Reads the snapshots of a session, parents first. In a long line not each is read by
/// itself: those between begin like the next one that is.
async fn read(
    store: &dyn SessionStore,
    session: &str,
    is_line: bool,
    findings: &mut Findings,
) -> Result<Chain, StoreError> {
    let owner = Owner::nobody();
    let mut chain = Chain::new(session);
    let nodes = store.tree(&owner, session).await?;
    let step = if is_line { nodes.len().div_ceil(READ_OF_A_LINE).max(1) } else { 1 };
    for group in nodes.chunks(step) {
        let Some(last) = group.last() else { continue };
        match store.get(&owner, &last.snapshot).await {
            Ok(Some(stored)) => match Content::of(stored.snapshot, last) {
                Ok(content) => {
                    group.iter().for_each(|node| chain.add(node, &content, findings));
                }
                Err(why) => findings.mixed(format!("{chain}, snapshot {}: {why}", last.snapshot)),
            },
            Ok(None) => findings.unreadable(format!("snapshot {} is not there", last.snapshot)),
            Err(error) => findings.unreadable(format!("snapshot {}: {error}", last.snapshot)),
        }
    }
    // What the next turn would go on from.
    match store.latest(&owner, session).await? {
        Some(latest) => chain.end_with(&latest.snapshot.snapshot_id, findings),
        None => findings.unreadable(format!("{chain} is not there")),
    }
    Ok(chain)
}

#[cfg(test)]
mod tests;
