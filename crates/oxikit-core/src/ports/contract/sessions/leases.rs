//! Leases: one writer at a time, and fenced predecessors.

use std::time::Duration;

use futures_util::future::join;
use oxikit_wire::SessionSnapshot;

use super::{LONG, Store, check_conflict, check_fenced, check_full, kept, place, snapshot, soon};
use crate::ports::{MAX_SNAPSHOT_BYTES, SnapshotWrite, Term};

const SHORT: Term = Term { ttl: Duration::from_millis(20), by_force: false };
const FORCE: Term = Term { by_force: true, ..LONG };

/// One writer at a time has the lease of a session. A lease that was released, also twice, is free,
/// and the next one has a greater fence.
pub(super) async fn one_writer_a_session(store: Store) {
    let here = place("contract-lease");
    let first = kept("lease", here.take(&store, LONG).await);
    check_conflict("a lease is one writer's", here.take(&store, LONG).await);
    kept("another session is free", place("contract-lease-2").take(&store, LONG).await);
    kept("renew", store.renew(&here.owner, &first).await);
    kept("release", store.release(&here.owner, first.clone()).await);
    kept("release again", store.release(&here.owner, first.clone()).await);
    let second = kept("a free lease is given again", here.take(&store, LONG).await);
    assert!(second.fence > first.fence, "with a greater number");
    kept("release of a lost one", store.release(&here.owner, first.clone()).await);
    check_fenced("a lost lease stays lost", store.renew(&here.owner, &first).await);
    check_conflict("and does not free the new one", here.take(&store, LONG).await);
}

/// A writer whose lease has expired and was taken by another cannot write any more, and a refused
/// write leaves no trace. Writes without a lease are not checked.
pub(super) async fn a_lost_lease_cannot_write(store: Store) {
    let here = place("contract-fence");
    let frozen = here.clone().holding(kept("lease", here.take(&store, SHORT).await));
    frozen.save(&store, &snapshot("fence-1", None, 1)).await;
    // The holder sleeps; another writer gets the lease as soon as it has run out.
    let awake = here.clone().holding(soon(&store, &here).await);
    awake.save(&store, &snapshot("fence-2", Some("fence-1"), 2)).await;
    for late in [snapshot("fence-1", None, 9), snapshot("fence-3", None, 9)] {
        check_fenced("a late write is refused", frozen.put(&store, &late).await);
    }
    here.check(&store, &snapshot("fence-1", None, 1), "nothing of it is written").await;
    assert_eq!(here.latest(&store).await.as_deref(), Some("fence-2"));
    let row = snapshot("fence-2", Some("fence-1"), 2);
    kept("a write outside of a turn needs none", here.put(&store, &row).await);
}

/// An expired lease stays valid, and can be renewed, until another writer takes it.
pub(super) async fn a_lease_that_ran_out_is_good_until_another_has_it(store: Store) {
    let here = place("contract-late");
    let lease = kept("lease", here.take(&store, SHORT).await);
    let late = here.clone().holding(lease.clone());
    tokio::time::sleep(2 * SHORT.ttl).await;
    kept("it may write", late.put(&store, &snapshot("late-1", None, 1)).await);
    kept("it may be renewed", store.renew(&here.owner, &lease).await);
    tokio::time::sleep(2 * SHORT.ttl).await;
    soon(&store, &here).await;
    check_fenced("until then", store.renew(&here.owner, &lease).await);
    check_fenced("and no longer", late.put(&store, &snapshot("late-1", None, 2)).await);
}

/// A lease that is renewed in time is never given to another writer.
pub(super) async fn a_renewed_lease_is_not_given_away(store: Store) {
    let here = place("contract-renew");
    let ttl = Duration::from_millis(500);
    let lease = kept("lease", here.take(&store, Term::of(ttl)).await);
    for _ in 0..15 {
        tokio::time::sleep(ttl / 10).await;
        check_conflict("it is held", here.take(&store, LONG).await);
        kept("renew", store.renew(&here.owner, &lease).await);
    }
    kept("release", store.release(&here.owner, lease).await);
    kept("and free when it is given back", here.take(&store, LONG).await);
}

/// A lease that is taken by force fences the previous holder at once.
pub(super) async fn force_fences_the_previous_holder(store: Store) {
    let here = place("contract-force");
    let first = kept("force takes a free one", here.take(&store, FORCE).await);
    let second = kept("force takes a held one", here.take(&store, FORCE).await);
    assert!(second.fence > first.fence, "with a greater number");
    check_fenced("renew", store.renew(&here.owner, &first).await);
    let previous = here.clone().holding(first.clone());
    check_fenced("write", previous.put(&store, &snapshot("force-1", None, 1)).await);
    kept("release of a lost one", store.release(&here.owner, first).await);
    check_conflict("the new one is held", here.take(&store, LONG).await);
    let holder = here.holding(second);
    kept("its holder writes", holder.put(&store, &snapshot("force-1", None, 1)).await);
}

/// The previous holder writes as fast as it can while it loses the lease.
pub(super) async fn a_fence_is_checked_inside_of_the_write(store: Store) {
    for round in 0..5 {
        let here = place(&format!("contract-inside-{round}"));
        let id = format!("inside-{round}");
        let previous = here.clone().holding(kept("lease", here.take(&store, LONG).await));
        let stubborn = async {
            let mut row = snapshot(&id, None, 1);
            row.updated_at = Some("previous".to_owned());
            while previous.put(&store, &row).await.is_ok() {
                tokio::task::yield_now().await;
            }
            check_fenced("the previous holder is fenced", previous.put(&store, &row).await);
        };
        let taker = async {
            for _ in 0..round {
                tokio::task::yield_now().await;
            }
            let holder = here.clone().holding(kept("force", here.take(&store, FORCE).await));
            holder.save(&store, &snapshot(&id, None, 2)).await;
        };
        join(stubborn, taker).await;
        here.check(&store, &snapshot(&id, None, 2), "the new holder's write is the last").await;
    }
}

/// A write with `releases` frees the lease in the same transaction. A write that is skipped or
/// refused does not.
pub(super) async fn a_lease_may_be_given_back_with_the_write(store: Store) {
    let here = place("contract-give-back");
    let first = kept("lease", here.take(&store, LONG).await);
    let holder = here.clone().holding(first.clone());
    let row = snapshot("give-back-1", None, 1);
    let write = SnapshotWrite { releases: true, ..holder.write(&row.snapshot_id) };
    kept("a skipped write", store.save(write, &|_| Ok(None)).await);
    let mut large = row.clone();
    large.updated_at = Some("x".repeat(MAX_SNAPSHOT_BYTES));
    let put =
        |snapshot: SessionSnapshot| move |_: Option<&SessionSnapshot>| Ok(Some(snapshot.clone()));
    check_full("a refused write", store.save(write, &put(large)).await);
    check_conflict("gives nothing back", here.take(&store, LONG).await);
    kept("a write", store.save(write, &put(row.clone())).await);
    let second = kept("frees the lease at once", here.take(&store, LONG).await);
    assert!(second.fence > first.fence, "with a greater number");
    check_fenced("its holder is fenced", holder.put(&store, &row).await);
    check_fenced("also with a write that releases", store.save(write, &put(row.clone())).await);
    kept("the new holder is not disturbed", store.renew(&here.owner, &second).await);
}

/// Deleting a session fences its writer, and fences grow beyond the deletion.
pub(super) async fn a_deletion_fences_the_writer(store: Store) {
    let here = place("contract-delete-lease");
    let lease = kept("lease", here.take(&store, LONG).await);
    let holder = here.clone().holding(lease.clone());
    holder.save(&store, &snapshot("delete-lease-1", None, 1)).await;
    assert!(kept("delete", store.delete(&here.owner, &here.session).await));
    let late = snapshot("delete-lease-2", Some("delete-lease-1"), 2);
    check_fenced("its writer is fenced", holder.put(&store, &late).await);
    check_fenced("and cannot renew", store.renew(&here.owner, &lease).await);
    assert_eq!(here.latest(&store).await, None);
    let next = kept("the lease is gone with it", here.take(&store, LONG).await);
    assert!(next.fence > lease.fence, "numbers grow on after a deletion");
    check_fenced("so that the previous stays fenced", holder.put(&store, &late).await);
}

/// `lease_lost` waits while the lease is held, and returns when another writer takes it or the
/// session is deleted.
pub(super) async fn a_lost_lease_is_reported(store: Store) {
    let here = place("contract-lost");
    let lease = kept("lease", here.take(&store, LONG).await);
    let lost = store.lease_lost(&here.owner, &lease);
    let early = tokio::time::timeout(Duration::from_millis(50), lost).await;
    assert!(early.is_err(), "a lease that is held is not lost");
    kept("renew", store.renew(&here.owner, &lease).await);
    let take = async {
        tokio::task::yield_now().await;
        kept("force", here.take(&store, FORCE).await)
    };
    let (lost, other) = join(store.lease_lost(&here.owner, &lease), take).await;
    kept("another writer has it", lost);
    kept("it stays lost", store.lease_lost(&here.owner, &lease).await);
    here.clone().holding(other.clone()).save(&store, &snapshot("lost-1", None, 1)).await;
    let delete = async {
        tokio::task::yield_now().await;
        kept("delete", store.delete(&here.owner, &here.session).await)
    };
    let (lost, _) = join(store.lease_lost(&here.owner, &other), delete).await;
    kept("a session that is deleted has no writer", lost);
}
