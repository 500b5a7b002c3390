//! Single rows: written whole, one at a time, reported to waiters, and kept apart by owner.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Duration;

use futures_util::future::{join, join_all};
use oxikit_wire::{SessionSnapshot, SessionState, StatusCode};

use super::{LONG, Place, Store, failed, kept, place, snapshot};
use crate::Status;
use crate::ports::{Owner, SessionQuery, StoreError, Update};

/// Every write replaces the whole row and has a greater revision.
pub(super) async fn rows_are_written_whole_and_counted(store: Store) {
    let here = place("contract-rows");
    assert_eq!(here.get(&store, "rows-1").await, None, "nothing is there at first");
    let mut expected = snapshot("rows-1", None, 1);
    let mut revision = 0;
    for update in 1..=3 {
        expected.updated_at = Some(format!("update {update}"));
        let saved = here.save(&store, &expected).await;
        assert!(saved > revision, "every write has a greater revision");
        revision = saved;
        here.check(&store, &expected, "what was saved comes back whole").await;
        let found = kept("get", store.get(&here.owner, "rows-1").await).expect("it was saved");
        assert_eq!(found.revision, revision, "what is read has the revision of its write");
    }
}

/// An update that returns `None` writes nothing; the error of an update is passed on unchanged.
pub(super) async fn an_update_may_skip_or_refuse(store: Store) {
    let here = place("contract-skip");
    let write = here.write("skip-1");
    assert_eq!(kept("skip", store.save(write, &|_| Ok(None)).await), None, "nothing is written");
    let refused = failed(
        "an update may refuse",
        store.save(write, &|_| Err(Status::failed_precondition("no"))).await,
    );
    assert_eq!(Status::from(refused).code(), StatusCode::FailedPrecondition);
    assert_eq!(here.get(&store, "skip-1").await, None);
    assert_eq!(here.latest(&store).await, None);
    let revision = here.save(&store, &snapshot("skip-1", None, 1)).await;
    let skip = |row: Option<&SessionSnapshot>| {
        assert!(row.is_some(), "the update sees the row");
        Ok(None)
    };
    assert_eq!(kept("skip", store.save(write, &skip).await), None);
    let found = kept("get", store.get(&here.owner, "skip-1").await);
    assert_eq!(found.map(|found| found.revision), Some(revision), "a skipped write leaves the row");
}

/// Optimistic stores may give up; the caller tries again.
async fn insist(store: &Store, here: &Place, snapshot: &str, update: Update<'_>) {
    while let Err(error) = store.save(here.write(snapshot), update).await {
        assert!(matches!(error, StoreError::Conflict(_)), "{error}");
        tokio::task::yield_now().await;
    }
    tokio::task::yield_now().await;
}

/// Concurrent updates of one row are applied one after the other.
pub(super) async fn no_update_is_lost(store: Store) {
    const WRITERS: u64 = 8;
    const WRITES: u64 = 25;
    let here = place("contract-atomic");
    let add_one = |row: Option<&SessionSnapshot>| {
        let count = row.and_then(|row| row.state.as_ref()?.custom.as_ref()?.as_u64());
        let custom = Some(Arc::new((count.unwrap_or(0) + 1).into()));
        let state = Some(SessionState { custom, ..SessionState::default() });
        Ok(Some(SessionSnapshot { state, ..snapshot("atomic-1", None, 1) }))
    };
    let write = async |_| {
        for _ in 0..WRITES {
            insist(&store, &here, "atomic-1", &add_one).await;
        }
    };
    join_all((0..WRITERS).map(write)).await;
    let found = here.get(&store, "atomic-1").await.expect("it was saved");
    let custom = found.state.and_then(|state| state.custom);
    assert_eq!(custom.as_deref(), Some(&(WRITERS * WRITES).into()), "no update is lost");
}

/// Concurrent writes of different snapshots of a session are all stored.
pub(super) async fn writers_of_different_snapshots_do_not_disturb_each_other(store: Store) {
    const WRITERS: u32 = 6;
    const TURNS: u32 = 8;
    let here = place("contract-writers");
    let root = snapshot("writers-root", None, 0);
    here.save(&store, &root).await;
    let id = |writer: u32, turn: u32| format!("writers-{writer}-{turn}");
    let of = |writer: u32, turn: u32| {
        let parent = if turn == 0 { root.snapshot_id.clone() } else { id(writer, turn - 1) };
        snapshot(&id(writer, turn), Some(&parent), turn + 1)
    };
    let write = async |writer| {
        for turn in 0..TURNS {
            let row = of(writer, turn);
            insist(&store, &here, &row.snapshot_id, &|_| Ok(Some(row.clone()))).await;
        }
    };
    join_all((0..WRITERS).map(write)).await;
    for writer in 0..WRITERS {
        for turn in 0..TURNS {
            here.check(&store, &of(writer, turn), "every snapshot is there").await;
        }
    }
    let count = here.tree(&store).await.len();
    assert_eq!(count, (WRITERS * TURNS + 1) as usize, "each once");
}

/// `changed` returns after each change of the row, and at once for an old revision.
pub(super) async fn changes_are_reported(store: Store) {
    const CHANGES: usize = 3;
    let here = place("contract-changes");
    let seen = AtomicU64::new(0);
    let watcher = async {
        let mut revision = 0;
        let mut changes = 0;
        while changes < CHANGES {
            kept("changed", store.changed(&here.owner, "changes-1", revision).await);
            let found = kept("get", store.get(&here.owner, "changes-1").await);
            let found = found.map_or(0, |found| found.revision);
            assert!(found >= revision, "revisions only grow");
            // It may have returned early.
            changes += usize::from(found > revision);
            revision = found;
            seen.store(revision, SeqCst);
        }
    };
    let writer = async {
        for _ in 0..CHANGES {
            here.save(&store, &snapshot("changes-2", None, 1)).await;
            let revision = here.save(&store, &snapshot("changes-1", None, 1)).await;
            // Each change is reported before the next is made.
            while seen.load(SeqCst) < revision {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    };
    join(watcher, writer).await;
    let changed = store.changed(&here.owner, "changes-1", 0).await;
    kept("what has changed already is not waited for", changed);
}

/// Data of another owner is not found by any operation; tenant and principal are both compared.
pub(super) async fn what_is_not_ones_own_is_not_there(store: Store) {
    let ada = place("contract-owner").of(Owner::principal("ada").of_tenant("t1"));
    ada.save(&store, &snapshot("owner-1", None, 1)).await;
    let lease = kept("lease", ada.take(&store, LONG).await);
    for owner in [
        Owner::principal("bob").of_tenant("t1"),
        Owner::principal("ada").of_tenant("t2"),
        Owner::principal("ada"),
        Owner { tenant: Some("t1".into()), principal: None },
        Owner { tenant: Some("ada".into()), principal: Some("t1".into()) },
        Owner { tenant: Some("t1".into()), principal: Some(String::new()) },
        Owner::nobody(),
    ] {
        let stranger = ada.clone().of(owner.clone());
        assert_eq!(stranger.get(&store, "owner-1").await, None);
        assert_eq!(stranger.latest(&store).await, None);
        assert_eq!(stranger.tree(&store).await, [""; 0]);
        let summary = store.summary(&stranger.owner, &stranger.session).await;
        assert_eq!(kept("summary", summary), None);
        assert!(!kept("delete", store.delete(&owner, &ada.session).await));
        let page = kept("list", store.list(&owner, &SessionQuery::default()).await);
        assert!(page.sessions.iter().all(|found| found.session != ada.session));
        // The same ids name other things.
        let own = kept("lease", stranger.take(&store, LONG).await);
        kept("release", store.release(&owner, own).await);
    }
    let bob = ada.clone().of(Owner::principal("bob"));
    let other = snapshot("owner-1", None, 7);
    bob.save(&store, &other).await;
    bob.check(&store, &other, "the same id is another row").await;
    ada.check(&store, &snapshot("owner-1", None, 1), "and this one is as it was").await;
    kept("renew", store.renew(&ada.owner, &lease).await);
    kept("release", store.release(&ada.owner, lease).await);
}

/// A snapshot id that another session uses is refused.
pub(super) async fn a_snapshot_stays_in_its_session(store: Store) {
    let (here, there) = (place("contract-stay-1"), place("contract-stay-2"));
    let row = snapshot("stay-1", None, 1);
    here.save(&store, &row).await;
    let error = failed("an id names one snapshot", there.put(&store, &row).await);
    assert!(matches!(error, StoreError::Exists(_)), "{error}");
    here.check(&store, &row, "it stays where it was").await;
    assert_eq!(there.latest(&store).await, None, "and is not elsewhere");
}

/// A deleted session is found by no operation, waiters are woken, and its ids can be used again.
pub(super) async fn a_deleted_session_is_gone(store: Store) {
    let here = place("contract-delete");
    here.save(&store, &snapshot("delete-1", None, 1)).await;
    let revision = here.save(&store, &snapshot("delete-2", Some("delete-1"), 2)).await;
    let watcher = store.changed(&here.owner, "delete-2", revision);
    let deletion = async {
        tokio::task::yield_now().await;
        assert!(kept("delete", store.delete(&here.owner, &here.session).await));
    };
    let (changed, ()) = join(watcher, deletion).await;
    kept("waiters are woken", changed);
    assert_eq!(here.get(&store, "delete-1").await, None);
    assert_eq!(here.get(&store, "delete-2").await, None);
    assert_eq!(here.latest(&store).await, None);
    assert_eq!(here.tree(&store).await, [""; 0]);
    let page = kept("list", store.list(&here.owner, &SessionQuery::default()).await);
    assert!(page.sessions.iter().all(|found| found.session != here.session));
    assert!(!kept("delete again", store.delete(&here.owner, &here.session).await));
    let again = snapshot("delete-1", None, 9);
    here.save(&store, &again).await;
    here.check(&store, &again, "the id may be used again").await;
    assert_eq!(here.tree(&store).await, ["delete-1"]);
}

/// A write that races with a deletion is stored completely or not at all.
pub(super) async fn a_write_and_a_deletion_do_not_mix(store: Store) {
    const ROWS: u32 = 20;
    let here = place("contract-race");
    let id = |row| format!("race-{row}");
    let row = |n: u32| {
        let parent = n.checked_sub(1).map(id);
        snapshot(&id(n), parent.as_deref(), n)
    };
    let writer = async {
        for n in 0..ROWS {
            insist(&store, &here, &id(n), &|_| Ok(Some(row(n)))).await;
        }
    };
    let deleter = async {
        for _ in 0..ROWS / 4 {
            for _ in 0..3 {
                tokio::task::yield_now().await;
            }
            kept("delete", store.delete(&here.owner, &here.session).await);
        }
    };
    join(writer, deleter).await;
    let listed = here.tree(&store).await;
    for n in 0..ROWS {
        if listed.contains(&id(n)) {
            here.check(&store, &row(n), "what was written after the deletion is whole").await;
        } else {
            assert_eq!(here.get(&store, &id(n)).await, None, "what is not listed is gone");
        }
    }
    assert_eq!(here.latest(&store).await, listed.last().cloned(), "and the latest is one of them");
    let was_there = kept("delete", store.delete(&here.owner, &here.session).await);
    assert_eq!(was_there, !listed.is_empty());
    assert_eq!(here.latest(&store).await, None);
}
