//! Limits of snapshots, artifacts and sessions.

use std::sync::Arc;

use oxikit_wire::{Artifact, SessionSnapshot};

use super::{Store, check_full, place, snapshot, turn, user_message};
use crate::ports::{MAX_ARTIFACT_BYTES, MAX_SESSION_BYTES, MAX_SNAPSHOT_BYTES};

const MIB: usize = 1024 * 1024;

fn artifact(name: &str, bytes: usize) -> Arc<Artifact> {
    let parts = vec!["x".repeat(bytes).into()];
    Arc::new(Artifact { name: Some(name.to_owned()), parts, metadata: None })
}

fn with_artifacts(mut row: SessionSnapshot, artifacts: &[Arc<Artifact>]) -> SessionSnapshot {
    row.state.get_or_insert_default().artifacts = Some(artifacts.to_vec());
    row
}

/// Snapshots and artifacts beyond the limits of the port are refused, and nothing of them is
/// written. Content that is shared with the parent counts as well.
pub(super) async fn what_is_too_large_is_refused(store: Store) {
    let here = place("contract-large");
    let mut large = snapshot("large-1", None, 1);
    large.updated_at = Some("x".repeat(MAX_SNAPSHOT_BYTES));
    check_full("a snapshot has a size", here.put(&store, &large).await);
    let half = user_message("x".repeat(MAX_SNAPSHOT_BYTES / 2));
    let large = turn("large-1", None, 1, &[half.clone(), half.clone()]);
    check_full("all its messages count", here.put(&store, &large).await);
    let large = [artifact("a", MAX_ARTIFACT_BYTES)];
    let large = with_artifacts(snapshot("large-1", None, 1), &large);
    check_full("an artifact has a size", here.put(&store, &large).await);
    assert_eq!(here.get(&store, "large-1").await, None, "nothing of it is written");
    assert_eq!(here.latest(&store).await, None);

    let parent = turn("large-1", None, 1, std::slice::from_ref(&half));
    here.save(&store, &parent).await;
    let large = turn("large-2", Some("large-1"), 2, &[half.clone(), half]);
    check_full("what it has of its parent counts too", here.put(&store, &large).await);
    let mut large = parent.clone();
    large.updated_at = Some("x".repeat(MAX_SNAPSHOT_BYTES / 2));
    check_full("also when it is written again", here.put(&store, &large).await);
    here.check(&store, &parent, "the row is as it was").await;
    let row = with_artifacts(snapshot("large-3", None, 3), &[artifact("a", 10 * MIB)]);
    here.save(&store, &row).await;
    here.check(&store, &row, "artifacts do not count as part of the snapshot").await;
}

/// Shared content counts once against the limit of a session; a write beyond the limit is refused,
/// and smaller ones are still accepted.
pub(super) async fn what_is_shared_counts_once_and_a_session_has_an_end(store: Store) {
    const EACH: usize = 15 * MIB;
    let here = place("contract-full");
    let mut artifacts = vec![artifact("a0", EACH)];
    let mut parent = None;
    let mut row = |artifacts: &[Arc<Artifact>], second: usize| {
        let id = format!("full-{second}");
        let second = u32::try_from(second).expect("few rows");
        let row = with_artifacts(snapshot(&id, parent.as_deref(), second), artifacts);
        parent = Some(id);
        row
    };
    let times = MAX_SESSION_BYTES / EACH + 1;
    for second in 0..times {
        here.save(&store, &row(&artifacts, second)).await;
    }
    for second in 1..times - 1 {
        artifacts.push(artifact(&format!("a{second}"), EACH));
        here.save(&store, &row(&artifacts, times + second)).await;
    }
    let last = here.latest(&store).await;
    artifacts.push(artifact("last", EACH));
    let large = row(&artifacts, 3 * times);
    check_full("a session has a size", here.put(&store, &large).await);
    assert_eq!(here.get(&store, &large.snapshot_id).await, None, "nothing of it is written");
    assert_eq!(here.latest(&store).await, last);
    let small = snapshot("full-small", last.as_deref(), 59);
    here.save(&store, &small).await;
    here.check(&store, &small, "what fits is still written").await;
}
