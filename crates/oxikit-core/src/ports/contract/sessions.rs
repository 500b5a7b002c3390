//! The contract tests of session stores.

mod content;
mod leases;
mod limits;
mod lists;
pub(super) mod retention;
mod rows;
mod sharing;
mod work;

use std::sync::Arc;
use std::time::Duration;

use oxikit_wire::{Message, SessionSnapshot, SessionState, SnapshotStatus};

use super::{Case, cases, failed, kept};
use crate::ports::{Lease, Owner, SessionStore, SnapshotWrite, StoreError, Term};

/// The promises of a [`SessionStore`].
pub const SESSION_STORE: &[Case<dyn SessionStore>] = cases![
    rows::rows_are_written_whole_and_counted,
    rows::an_update_may_skip_or_refuse,
    rows::no_update_is_lost,
    rows::writers_of_different_snapshots_do_not_disturb_each_other,
    rows::changes_are_reported,
    rows::what_is_not_ones_own_is_not_there,
    rows::a_snapshot_stays_in_its_session,
    rows::a_deleted_session_is_gone,
    rows::a_write_and_a_deletion_do_not_mix,
    leases::one_writer_a_session,
    leases::a_lost_lease_cannot_write,
    leases::a_lease_that_ran_out_is_good_until_another_has_it,
    leases::a_renewed_lease_is_not_given_away,
    leases::force_fences_the_previous_holder,
    leases::a_fence_is_checked_inside_of_the_write,
    leases::a_lease_may_be_given_back_with_the_write,
    leases::a_deletion_fences_the_writer,
    leases::a_lost_lease_is_reported,
    content::ids_are_any_text_but_blank,
    content::absent_null_and_empty_are_different,
    content::numbers_text_and_order_of_keys_are_kept,
    content::the_agent_is_remembered,
    content::notes_are_kept_until_replaced,
    sharing::a_long_chain_reads_back_at_every_depth,
    sharing::equal_content_need_not_be_the_same_object,
    sharing::a_rewritten_history_reads_back,
    sharing::a_fork_leaves_the_original_untouched,
    sharing::a_row_may_shrink_and_its_children_stay_whole,
    sharing::artifacts_are_shared_and_replaced,
    lists::the_latest_is_the_newest_leaf,
    lists::a_tree_has_all_snapshots_in_order,
    lists::lists_have_pages_and_filters,
    lists::pages_hold_when_times_are_equal_and_sessions_are_written,
    work::stalled_work_is_found_when_no_writer_has_the_lease,
    work::stalled_work_of_all_owners_is_found_and_limited,
    limits::what_is_too_large_is_refused,
    limits::what_is_shared_counts_once_and_a_session_has_an_end,
    retention::old_sessions_go,
    retention::old_snapshots_go_and_every_branch_stays_whole,
    retention::the_oldest_sessions_make_room,
    retention::the_sessions_written_last_stay,
    retention::what_is_worked_on_stays,
    retention::a_fork_outlives_the_session_it_came_from,
];

type Store = Arc<dyn SessionStore>;

const LONG: Term = Term { ttl: Duration::from_secs(60), by_force: false };

/// The owner and the session that a case writes.
#[derive(Debug, Clone)]
struct Place {
    owner: Owner,
    session: String,
    lease: Option<Lease>,
}

/// A session without an owner.
fn place(session: &str) -> Place {
    Place { owner: Owner::nobody(), session: session.to_owned(), lease: None }
}

impl Place {
    fn of(mut self, owner: Owner) -> Self {
        self.owner = owner;
        self
    }

    fn holding(mut self, lease: Lease) -> Self {
        self.lease = Some(lease);
        self
    }

    fn write<'a>(&'a self, snapshot: &'a str) -> SnapshotWrite<'a> {
        let Self { owner, session, lease } = self;
        SnapshotWrite {
            lease: lease.as_ref(),
            ..SnapshotWrite::new(owner, "helper", session, snapshot)
        }
    }

    async fn put(
        &self,
        store: &Store,
        snapshot: &SessionSnapshot,
    ) -> Result<Option<u64>, StoreError> {
        let write = self.write(&snapshot.snapshot_id);
        store.save(write, &|_| Ok(Some(snapshot.clone()))).await
    }

    /// Writes the snapshot and returns its revision.
    async fn save(&self, store: &Store, snapshot: &SessionSnapshot) -> u64 {
        kept("save", self.put(store, snapshot).await).expect("what is written has a revision")
    }

    async fn take(&self, store: &Store, term: Term) -> Result<Lease, StoreError> {
        store.lease(&self.owner, &self.session, term).await
    }

    async fn get(&self, store: &Store, snapshot: &str) -> Option<SessionSnapshot> {
        let found = kept("get", store.get(&self.owner, snapshot).await);
        found.map(|found| found.snapshot)
    }

    async fn latest(&self, store: &Store) -> Option<String> {
        let latest = kept("latest", store.latest(&self.owner, &self.session).await);
        latest.map(|latest| latest.snapshot.snapshot_id)
    }

    async fn tree(&self, store: &Store) -> Vec<String> {
        let tree = kept("tree", store.tree(&self.owner, &self.session).await);
        tree.into_iter().map(|node| node.snapshot).collect()
    }

    /// Checks that the store returns exactly what was written.
    async fn check(&self, store: &Store, written: &SessionSnapshot, promise: &str) {
        let mut expected = written.clone();
        // The store sets the ids.
        expected.session_id = Some(self.session.clone());
        if let Some(state) = &mut expected.state {
            state.session_id = Some(self.session.clone());
        }
        let found = self.get(store, &written.snapshot_id).await;
        let is_same = found.as_ref() == Some(&expected);
        // Not `assert_eq`: it would print both snapshots, which may have megabytes.
        let found = found.map(|found| json(&found)).unwrap_or_default();
        let length = found.len().min(2000);
        assert!(is_same, "{promise}: `{}` is {}", written.snapshot_id, &found[..length]);
    }
}

fn json(snapshot: &SessionSnapshot) -> String {
    serde_json::to_string(snapshot).expect("a snapshot is JSON")
}

/// A completed snapshot of one message, made at this second.
fn snapshot(id: &str, parent: Option<&str>, second: u32) -> SessionSnapshot {
    turn(id, parent, second, &[user_message("hello")])
}

/// A completed snapshot of these messages, made at this second.
fn turn(id: &str, parent: Option<&str>, second: u32, messages: &[Arc<Message>]) -> SessionSnapshot {
    let state = SessionState { messages: Some(messages.to_vec()), ..SessionState::default() };
    SessionSnapshot {
        snapshot_id: id.to_owned(),
        parent_id: parent.map(str::to_owned),
        created_at: format!("2026-11-15T06:{:02}:{:02}.000Z", second / 60, second % 60),
        status: Some(SnapshotStatus::Completed),
        state: Some(state),
        ..SessionSnapshot::default()
    }
}

fn user_message(text: impl Into<String>) -> Arc<Message> {
    Arc::new(Message::user(text.into()))
}

/// Takes the lease as soon as it is free.
async fn soon(store: &Store, here: &Place) -> Lease {
    loop {
        match here.take(store, LONG).await {
            Ok(lease) => break lease,
            Err(StoreError::Conflict(_)) => tokio::time::sleep(Duration::from_millis(5)).await,
            Err(error) => panic!("{error}"),
        }
    }
}

#[track_caller]
fn check_fenced<T>(promise: &str, result: Result<T, StoreError>) {
    let error = failed(promise, result);
    assert!(matches!(error, StoreError::Fenced(_)), "{promise}: {error}");
}

#[track_caller]
fn check_conflict<T>(promise: &str, result: Result<T, StoreError>) {
    let error = failed(promise, result);
    assert!(matches!(error, StoreError::Conflict(_)), "{promise}: {error}");
}

#[track_caller]
fn check_full<T>(promise: &str, result: Result<T, StoreError>) {
    let error = failed(promise, result);
    assert!(matches!(error, StoreError::Full(..)), "{promise}: {error}");
}
