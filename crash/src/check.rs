//! The checker of sessions: compares the turns that clients saw acknowledged with the snapshots
//! in the store. It runs after the servers have ended, and only reads.

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

/// Number of sessions that are read at the same time.
const AT_ONCE: usize = 16;
/// Maximum number of snapshots of a session without branches that are read in full. In longer
/// sessions some snapshots are only compared with the next one that is read.
const MAX_FULL_READS: usize = 200;
/// Maximum number of reported findings. Further ones are only counted.
const MAX_REPORTED: usize = 10;

/// Prints the findings as one line of JSON. Fails if anything is wrong.
pub(crate) async fn run(args: &Args) -> Result<ExitCode> {
    let store = store::open(args).await?;
    let mut sessions: BTreeMap<String, Vec<Seen>> = BTreeMap::new();
    for seen in seen::read(&args.list("--log")?)? {
        sessions.entry(seen.session.clone()).or_default().push(seen);
    }
    let checks = sessions.iter().map(|(session, seen)| check(&*store, session, seen));
    let found = stream::iter(checks).buffer_unordered(AT_ONCE);
    let findings = found.fold(Findings::default(), |all, one| async { all.and(one) }).await;
    for fault in findings.faults.iter().take(MAX_REPORTED) {
        eprintln!("{fault}");
    }
    println!("{}", serde_json::to_string(&findings)?);
    Ok(if findings.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Checks one session.
async fn check(store: &dyn SessionStore, session: &str, seen: &[Seen]) -> Findings {
    let mut findings = Findings::of(seen.len());
    // A turn that names the snapshot to continue from can make a branch.
    let is_linear = seen.iter().all(|seen| seen.from.is_none());
    let chain = match read(store, session, is_linear, &mut findings).await {
        Ok(chain) => chain,
        Err(error) => {
            findings.unreadable(format!("session {session}: {error}"));
            return findings;
        }
    };
    for seen in seen {
        chain.compare(seen, &mut findings);
    }
    if is_linear {
        chain.check_linear(&mut findings);
    }
    findings
}

/// Reads the snapshots of a session, parents first. In a long session without branches only
/// some snapshots are read in full: the messages of those in between are a prefix of the next
/// one that is read.
async fn read(
    store: &dyn SessionStore,
    session: &str,
    is_linear: bool,
    findings: &mut Findings,
) -> Result<Chain, StoreError> {
    let owner = Owner::nobody();
    let mut chain = Chain::new(session);
    let nodes = store.tree(&owner, session).await?;
    let step = if is_linear { nodes.len().div_ceil(MAX_FULL_READS).max(1) } else { 1 };
    for group in nodes.chunks(step) {
        let Some(last) = group.last() else { continue };
        match store.get(&owner, &last.snapshot).await {
            Ok(Some(stored)) => match Content::of(stored.snapshot, last) {
                Ok(content) => {
                    group.iter().for_each(|node| chain.add(node, &content, findings));
                }
                Err(why) => findings.mixed(format!("{chain}, snapshot {}: {why}", last.snapshot)),
            },
            Ok(None) => findings.unreadable(format!("snapshot {} is missing", last.snapshot)),
            Err(error) => findings.unreadable(format!("snapshot {}: {error}", last.snapshot)),
        }
    }
    // The next turn would continue from the latest snapshot, so it must be one of the chain.
    match store.latest(&owner, session).await? {
        Some(latest) => chain.end_with(&latest.snapshot.snapshot_id, findings),
        None => findings.unreadable(format!("{chain} is missing")),
    }
    Ok(chain)
}

#[cfg(test)]
mod tests;
