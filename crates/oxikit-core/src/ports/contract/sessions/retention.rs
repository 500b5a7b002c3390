//! Pruning removes what exceeds the limits, and nothing that is in use.

use std::time::Duration;

use oxikit_wire::SnapshotStatus;

use super::{LONG, Place, Store, kept, place, snapshot, turn, user_message};
use crate::ports::{Pruned, Retention, SnapshotWrite};

/// `max_age` counts from the last write of a session.
pub(super) async fn old_sessions_go(store: Store) {
    let age = Duration::from_millis(400);
    let (old, again, new) = (place("contract-old"), place("contract-again"), place("contract-new"));
    old.save(&store, &snapshot("old-1", None, 1)).await;
    old.save(&store, &snapshot("old-2", Some("old-1"), 2)).await;
    again.save(&store, &snapshot("again-1", None, 1)).await;
    let everything = kept("prune", store.prune(&Retention::default()).await);
    assert_eq!(everything, Pruned::default(), "all is kept without limits");
    tokio::time::sleep(age).await;
    again.save(&store, &snapshot("again-2", Some("again-1"), 2)).await;
    new.save(&store, &snapshot("new-1", None, 1)).await;
    let retention = Retention { max_age: Some(age), ..Retention::default() };
    let pruned = kept("prune", store.prune(&retention).await);
    assert!(pruned.sessions >= 1, "the counts are reported: {pruned:?}");
    assert_eq!(pruned.snapshots, 0, "snapshots of what is kept are kept");
    assert_eq!(old.latest(&store).await, None, "what was not written for so long is gone");
    assert_eq!(old.get(&store, "old-1").await, None, "all of it");
    again.check(&store, &snapshot("again-1", None, 1), "the last write of a session counts").await;
    new.check(&store, &snapshot("new-1", None, 1), "what is new stays").await;
    let fresh = snapshot("old-1", None, 3);
    old.save(&store, &fresh).await;
    old.check(&store, &fresh, "its ids may be used again").await;
}

/// `max_snapshots` removes the oldest snapshots, but never the last one of a branch or a pending
/// one. The remaining snapshots stay complete.
pub(super) async fn old_snapshots_go_and_every_branch_stays_whole(store: Store) {
    let (here, other) = (place("contract-keep"), place("contract-keep-2"));
    let messages: Vec<_> = (0..12).map(|n| user_message(format!("message {n}"))).collect();
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
    assert!(pruned.snapshots >= 6, "the counts are reported: {pruned:?}");
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

/// `max_bytes` removes the sessions that were written longest ago.
pub(super) async fn the_oldest_sessions_make_room(store: Store) {
    const BYTES: usize = 200 * 1024;
    let places = ["contract-room-1", "contract-room-2", "contract-room-3"].map(place);
    let row = |n: usize| turn(&format!("room-{n}"), None, 1, &[user_message("x".repeat(BYTES))]);
    for (n, here) in places.iter().enumerate() {
        here.save(&store, &row(n)).await;
    }
    // The first one is written again, so that the second is the oldest.
    places[0].save(&store, &row(0)).await;
    let room = BYTES as u64 * 5 / 2;
    let retention = Retention { max_bytes: Some(room), ..Retention::default() };
    let pruned = kept("prune", store.prune(&retention).await);
    assert!(pruned.sessions >= 1, "the counts are reported: {pruned:?}");
    assert_eq!(pruned.snapshots, 0, "snapshots of what is kept are kept");
    assert_eq!(places[1].latest(&store).await, None, "the oldest is gone");
    for n in [0, 2] {
        places[n].check(&store, &row(n), "what fits stays").await;
    }
    let again = kept("prune", store.prune(&retention).await);
    assert_eq!(again, Pruned::default(), "no more goes than must");
}

/// `max_sessions` keeps the sessions that were written last.
pub(super) async fn the_sessions_written_last_stay(store: Store) {
    let places = ["contract-few-1", "contract-few-2", "contract-few-3"].map(place);
    for (n, here) in places.iter().enumerate() {
        here.save(&store, &snapshot(&format!("few-{n}"), None, 1)).await;
    }
    // The first one is written again, so that the second is the oldest.
    places[0].save(&store, &snapshot("few-3", Some("few-0"), 2)).await;
    let retention = Retention { max_sessions: Some(2), ..Retention::default() };
    let pruned = kept("prune", store.prune(&retention).await);
    assert!(pruned.sessions >= 1, "the counts are reported: {pruned:?}");
    assert_eq!(places[1].latest(&store).await, None, "the oldest is gone");
    assert_eq!(places[0].latest(&store).await.as_deref(), Some("few-3"), "the last write counts");
    assert_eq!(places[2].latest(&store).await.as_deref(), Some("few-2"));
    let again = kept("prune", store.prune(&retention).await);
    assert_eq!(again, Pruned::default(), "no more goes than must");
}

/// Sessions with a lease or with unfinished work are not removed by any limit.
pub(super) async fn what_is_worked_on_stays(store: Store) {
    let [leased, unfinished] = in_use(&store, "use").await;
    let idle = place("contract-use-idle");
    let zero = Retention::default();
    for retention in [
        Retention { max_age: Some(Duration::ZERO), ..zero },
        Retention { max_sessions: Some(0), ..zero },
        Retention { max_bytes: Some(0), ..zero },
    ] {
        idle.save(&store, &snapshot("idle", None, 1)).await;
        // An age of nothing is over after a moment.
        tokio::time::sleep(Duration::from_millis(5)).await;
        kept("prune", store.prune(&retention).await);
        assert_eq!(idle.latest(&store).await, None, "{retention:?}");
        for here in [&leased, &unfinished] {
            let row = snapshot(&format!("{}-row", here.session), None, 1);
            here.check(&store, &row, &format!("what is in use stays: {retention:?}")).await;
        }
    }
    finish(&store, &leased, &unfinished).await;
    tokio::time::sleep(Duration::from_millis(5)).await;
    kept("prune", store.prune(&Retention { max_age: Some(Duration::ZERO), ..zero }).await);
    assert_eq!(leased.latest(&store).await, None, "once it is given back, it may go");
    assert_eq!(unfinished.latest(&store).await, None, "once it is finished, it may go");
}

/// A session with the same messages as another one stays complete when the other is removed.
pub(super) async fn a_fork_outlives_the_session_it_came_from(store: Store) {
    let (origin, fork) = (place("contract-origin"), place("contract-fork"));
    let messages: Vec<_> = (0..6).map(|n| user_message(format!("message {n}"))).collect();
    for n in 1..=3_u32 {
        let parent = (n > 1).then(|| format!("origin-{}", n - 1));
        let row = turn(&format!("origin-{n}"), parent.as_deref(), n, &messages[..2 * n as usize]);
        origin.save(&store, &row).await;
    }
    let forked = turn("fork-1", None, 4, &messages[..4]);
    fork.save(&store, &forked).await;
    let more = turn("fork-2", Some("fork-1"), 5, &messages);
    fork.save(&store, &more).await;
    let retention = Retention { max_sessions: Some(1), ..Retention::default() };
    kept("prune", store.prune(&retention).await);
    assert_eq!(origin.latest(&store).await, None, "the older one is gone");
    fork.check(&store, &forked, "the fork is whole").await;
    fork.check(&store, &more, "the fork is whole").await;
}

/// A session with a lease, and one with work that is not finished.
async fn in_use(store: &Store, name: &str) -> [Place; 2] {
    let leased = place(&format!("contract-{name}-leased"));
    let unfinished = place(&format!("contract-{name}-unfinished"));
    let lease = kept("lease", leased.take(store, LONG).await);
    let leased = leased.holding(lease);
    leased.save(store, &snapshot(&format!("{}-row", leased.session), None, 1)).await;
    let row = snapshot(&format!("{}-row", unfinished.session), None, 1);
    let write = SnapshotWrite { work: Some("{}"), ..unfinished.write(&row.snapshot_id) };
    kept("save", store.save(write, &|_| Ok(Some(row.clone()))).await);
    [leased, unfinished]
}

/// Ends what [`in_use`] began.
async fn finish(store: &Store, leased: &Place, unfinished: &Place) {
    let lease = leased.lease.clone().expect("it is leased");
    kept("release", store.release(&leased.owner, lease).await);
    unfinished.save(store, &snapshot(&format!("{}-row", unfinished.session), None, 1)).await;
}

/// See [`retention_in_background`](super::super::retention_in_background).
pub(in super::super) async fn in_background(open: impl AsyncFn(Retention) -> Store) {
    let retention = Retention {
        max_age: Some(Duration::from_millis(300)),
        interval: Some(Duration::from_millis(20)),
        ..Retention::default()
    };
    let store = open(retention).await;
    // Older than the idle one, so that they would have gone before it.
    let [leased, unfinished] = in_use(&store, "background").await;
    let idle = place("contract-background-idle");
    idle.save(&store, &snapshot("background-idle", None, 1)).await;
    gone(&store, &idle).await;
    for here in [&leased, &unfinished] {
        assert!(here.latest(&store).await.is_some(), "{} is in use and stays", here.session);
    }
    finish(&store, &leased, &unfinished).await;
    gone(&store, &leased).await;
    gone(&store, &unfinished).await;
}

/// See [`retention_after_restart`](super::super::retention_after_restart).
pub(in super::super) async fn after_restart(open: impl AsyncFn(Retention) -> Store) {
    let rows = ["restart-1", "restart-2"].map(|id| snapshot(id, None, 1));
    let places = ["contract-restart-1", "contract-restart-2"].map(place);
    let store = open(Retention::default()).await;
    for (here, row) in places.iter().zip(&rows) {
        here.save(&store, row).await;
    }
    drop(store);
    let interval = Some(Duration::from_millis(20));
    let retention = Retention { max_sessions: Some(1), interval, ..Retention::default() };
    let store = open(retention).await;
    gone(&store, &places[0]).await;
    places[1].check(&store, &rows[1], "the newest one stays").await;
    // Another process that shares the store and is closed changes nothing.
    let other = open(retention).await;
    drop(store);
    places[0].save(&other, &rows[0]).await;
    gone(&other, &places[1]).await;
    places[0].check(&other, &rows[0], "the newest one stays").await;
}

/// Waits until the session is removed in the background.
async fn gone(store: &Store, here: &Place) {
    let wait = async {
        while here.latest(store).await.is_some() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(60), wait).await;
    assert!(waited.is_ok(), "session {} is not removed in the background", here.session);
}
