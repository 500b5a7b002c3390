//! What may go, and what must not.

use std::time::Duration;

use oxikit_wire::SnapshotStatus;

use super::{Store, kept, place, said, snapshot, turn};
use crate::ports::{Pruned, Retention};

pub(super) async fn old_sessions_go(store: Store) {
    let age = Duration::from_millis(400);
    let (old, again, new) = (place("contract-old"), place("contract-again"), place("contract-new"));
    old.save(&store, &snapshot("old-1", None, 1)).await;
    old.save(&store, &snapshot("old-2", Some("old-1"), 2)).await;
    again.save(&store, &snapshot("again-1", None, 1)).await;
    let everything = kept("prune", store.prune(&Retention::default()).await);
    assert_eq!(everything, Pruned::default(), "all is kept unless something is said");
    tokio::time::sleep(age).await;
    again.save(&store, &snapshot("again-2", Some("again-1"), 2)).await;
    new.save(&store, &snapshot("new-1", None, 1)).await;
    let retention = Retention { max_age: Some(age), ..Retention::default() };
    let pruned = kept("prune", store.prune(&retention).await);
    assert!(pruned.sessions >= 1, "it is told: {pruned:?}");
    assert_eq!(pruned.snapshots, 0, "snapshots of what is kept are kept");
    assert_eq!(old.latest(&store).await, None, "what was not written for so long is gone");
    assert_eq!(old.get(&store, "old-1").await, None, "all of it");
    again.check(&store, &snapshot("again-1", None, 1), "the last write of a session counts").await;
    new.check(&store, &snapshot("new-1", None, 1), "what is new stays").await;
    let fresh = snapshot("old-1", None, 3);
    old.save(&store, &fresh).await;
    old.check(&store, &fresh, "its ids may be used again").await;
}

pub(super) async fn old_snapshots_go_and_every_branch_stays_whole(store: Store) {
    let (here, other) = (place("contract-keep"), place("contract-keep-2"));
    let messages: Vec<_> = (0..12).map(|n| said(format!("message {n}"))).collect();
    // keep-0 … keep-5 is a chain, keep-6 a branch from keep-1, keep-7 … keep-9 go on.
    let mut rows = Vec::new();
    for n in 0..10_u32 {
        let parent = match n {
            0 => None,
            6 => Some("keep-1".to_owned()),
            7 => Some("keep-5".to_owned()),
            _ => Some(format!("keep-{}", n - 1)),
        };
        let history = &messages[..if n == 6 { 3 } else { n as usize + 2 }];
        rows.push(turn(&format!("keep-{n}"), parent.as_deref(), n, history));
    }
    rows[3].status = Some(SnapshotStatus::Pending);
    for row in &rows {
        here.save(&store, row).await;
    }
    let few = [snapshot("keep-2-1", None, 1), snapshot("keep-2-2", Some("keep-2-1"), 2)];
    for row in &few {
        other.save(&store, row).await;
    }
    let retention = Retention { max_snapshots: Some(2), ..Retention::default() };
    let pruned = kept("prune", store.prune(&retention).await);
    assert!(pruned.snapshots >= 6, "it is told: {pruned:?}");
    assert_eq!(pruned.sessions, 0, "every session stays");
    // Pending, the end of a branch, and the newest two.
    let stay = ["keep-3", "keep-6", "keep-8", "keep-9"];
    assert_eq!(here.tree(&store).await, stay);
    for row in &rows {
        if stay.contains(&row.snapshot_id.as_str()) {
            here.check(&store, row, "what stays is whole").await;
        } else {
            assert_eq!(here.get(&store, &row.snapshot_id).await, None, "the others are gone");
        }
    }
    assert_eq!(here.latest(&store).await.as_deref(), Some("keep-9"));
    for row in &few {
        other.check(&store, row, "a session that has no more is untouched").await;
    }
    let again = kept("prune", store.prune(&retention).await);
    assert_eq!(again, Pruned::default(), "nothing is left to go");
    // Work goes on from both ends, and a row that is gone may come again.
    for (id, parent) in [("keep-10", "keep-9"), ("keep-11", "keep-6"), ("keep-1", "keep-0")] {
        let row = turn(id, Some(parent), 20, &messages[1..]);
        here.save(&store, &row).await;
        here.check(&store, &row, "turns go on").await;
    }
    for id in [6, 8, 9] {
        here.check(&store, &rows[id], "and leave the others as they are").await;
    }
}

pub(super) async fn the_oldest_sessions_make_room(store: Store) {
    const BYTES: usize = 200 * 1024;
    let places = ["contract-room-1", "contract-room-2", "contract-room-3"].map(place);
    let row = |n: usize| turn(&format!("room-{n}"), None, 1, &[said("x".repeat(BYTES))]);
    for (n, here) in places.iter().enumerate() {
        here.save(&store, &row(n)).await;
    }
    // The first one is written again, so that the second is the oldest.
    places[0].save(&store, &row(0)).await;
    let room = BYTES as u64 * 5 / 2;
    let retention = Retention { max_bytes: Some(room), ..Retention::default() };
    let pruned = kept("prune", store.prune(&retention).await);
    assert!(pruned.sessions >= 1, "it is told: {pruned:?}");
    assert_eq!(pruned.snapshots, 0, "snapshots of what is kept are kept");
    assert_eq!(places[1].latest(&store).await, None, "the oldest is gone");
    for n in [0, 2] {
        places[n].check(&store, &row(n), "what fits stays").await;
    }
    let again = kept("prune", store.prune(&retention).await);
    assert_eq!(again, Pruned::default(), "no more goes than must");
}
