//! Work that has lost its process.

use std::time::Duration;

use oxikit_wire::{SessionSnapshot, SnapshotStatus};

use super::{Place, Store, kept, place, snapshot, soon};
use crate::ports::{Owner, SnapshotWrite, StalledWork, Term};

/// Writes a pending row with this work.
async fn put(store: &Store, here: &Place, agent: &str, id: &str, work: Option<&str>) {
    let status = Some(SnapshotStatus::Pending);
    let row = SessionSnapshot { status, state: None, ..snapshot(id, None, 1) };
    let write = SnapshotWrite { agent, work, ..here.write(id) };
    kept("save", store.save(write, &|_| Ok(Some(row.clone()))).await);
}

/// Unfinished work is reported as stalled while its session has no lease, until a write without
/// work ends it.
pub(super) async fn stalled_work_is_found_when_no_writer_has_the_lease(store: Store) {
    const AGENT: &str = "contract-stalled";
    const WORK: &str = r#"{"input":"Grüße, 'quoted' \"text\""}"#;
    let stalled = async || kept("stalled", store.stalled(AGENT, 10).await);
    let here = place("contract-work");
    let short = Term::of(Duration::from_millis(20));
    let holder = here.clone().holding(kept("lease", here.take(&store, short).await));
    put(&store, &holder, AGENT, "work-1", Some(WORK)).await;
    let expected = [StalledWork {
        owner: here.owner.clone(),
        session: here.session.clone(),
        snapshot: "work-1".to_owned(),
        work: WORK.to_owned(),
    }];
    // The holder is lost; that is seen after a while.
    while stalled().await.is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(stalled().await, expected, "what it takes to start again comes back");
    assert_eq!(kept("stalled", store.stalled("nobody", 10).await), [], "each agent has its own");
    let next = soon(&store, &here).await;
    assert_eq!(stalled().await, [], "the holder of the lease continues it");
    kept("release", store.release(&here.owner, next).await);
    assert_eq!(stalled().await, expected, "it is found again when that one gives up");
    kept("skip", store.save(here.write("work-1"), &|_| Ok(None)).await);
    assert_eq!(stalled().await, expected, "a skipped write leaves it");
    put(&store, &here, AGENT, "work-1", None).await;
    assert_eq!(stalled().await, [], "a write without it ends it");
    put(&store, &here, AGENT, "work-2", Some("{}")).await;
    assert_eq!(stalled().await.len(), 1);
    assert!(kept("delete", store.delete(&here.owner, &here.session).await));
    assert_eq!(stalled().await, [], "so does a deletion");
}

/// `stalled` covers all owners and returns no more than the limit.
pub(super) async fn stalled_work_of_all_owners_is_found_and_limited(store: Store) {
    const AGENT: &str = "contract-stalled-all";
    let ada = Owner::principal("ada").of_tenant("t1");
    for (n, owner) in [ada, Owner::principal("bob"), Owner::nobody()].into_iter().enumerate() {
        let here = place("contract-work-all").of(owner);
        put(&store, &here, AGENT, &format!("work-all-{n}"), Some("{}")).await;
    }
    let all = kept("stalled", store.stalled(AGENT, 10).await);
    let mut snapshots: Vec<_> = all.iter().map(|found| found.snapshot.as_str()).collect();
    snapshots.sort_unstable();
    assert_eq!(snapshots, ["work-all-0", "work-all-1", "work-all-2"], "of all owners");
    for found in &all {
        let row = kept("get", store.get(&found.owner, &found.snapshot).await);
        assert!(row.is_some(), "the owner is reported");
    }
    assert_eq!(kept("stalled", store.stalled(AGENT, 2).await).len(), 2, "no more than asked for");
    for found in all {
        assert!(kept("delete", store.delete(&found.owner, &found.session).await));
    }
}
