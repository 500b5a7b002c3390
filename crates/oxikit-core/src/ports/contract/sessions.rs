//! What every session store promises.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Duration;

use oxikit_wire::{
    AgentFinishReason, Artifact, Message, SessionSnapshot, SessionState, SnapshotStatus, StatusCode,
};

use super::{failed, kept};
use crate::Status;
use crate::ports::{
    Lease, MAX_SNAPSHOT_BYTES, Owner, SessionQuery, SessionStore, SnapshotWrite, StoreError, Term,
};

/// Runs the suite on a store without sessions.
pub async fn session_store(store: Arc<dyn SessionStore>) {
    rows_are_written_whole_and_counted(&*store).await;
    an_update_may_skip_or_refuse(&*store).await;
    no_update_is_lost(store.clone()).await;
    the_latest_is_the_newest_leaf(&*store).await;
    what_is_not_ones_own_is_not_there(&*store).await;
    one_writer_a_session(&*store).await;
    a_lost_lease_cannot_write(&*store).await;
    changes_are_heard(store.clone()).await;
    lists_have_pages_and_filters(&*store).await;
    a_deleted_session_is_gone(store.clone()).await;
    what_is_too_large_is_refused(&*store).await;
}

const LONG: Term = Term { ttl: Duration::from_secs(60), by_force: false };

/// Where a test writes.
#[derive(Clone)]
struct Place {
    owner: Owner,
    session: &'static str,
    lease: Option<Lease>,
}

fn place(session: &'static str) -> Place {
    Place { owner: Owner::nobody(), session, lease: None }
}

impl Place {
    fn write<'a>(&'a self, snapshot: &'a str) -> SnapshotWrite<'a> {
        let Self { owner, session, lease } = self;
        SnapshotWrite {
            lease: lease.as_ref(),
            ..SnapshotWrite::new(owner, "helper", session, snapshot)
        }
    }

    async fn put(
        &self,
        store: &dyn SessionStore,
        snapshot: SessionSnapshot,
    ) -> Result<Option<u64>, StoreError> {
        store.save(self.write(&snapshot.snapshot_id), &|_| Ok(Some(snapshot.clone()))).await
    }
}

/// A completed snapshot made at this second.
fn snapshot(id: &str, parent: Option<&str>, second: u32) -> SessionSnapshot {
    SessionSnapshot {
        snapshot_id: id.to_owned(),
        parent_id: parent.map(str::to_owned),
        created_at: format!("2026-11-15T06:32:{second:02}.000Z"),
        status: Some(SnapshotStatus::Completed),
        state: Some(SessionState {
            messages: Some(vec![Arc::new(Message::user("hello"))]),
            ..SessionState::default()
        }),
        ..SessionSnapshot::default()
    }
}

async fn rows_are_written_whole_and_counted(store: &dyn SessionStore) {
    let here = place("contract-rows");
    let found = kept("get", store.get(&here.owner, "rows-1").await);
    assert_eq!(found, None, "nothing is there at first");
    let mut expected = snapshot("rows-1", None, 1);
    for revision in 1..=3 {
        expected.updated_at = Some(format!("update {revision}"));
        let saved = kept("save", here.put(store, expected.clone()).await);
        assert_eq!(saved, Some(revision), "every write has the next revision");
    }
    // Ids are the store's.
    expected.session_id = Some(here.session.to_owned());
    let state = expected.state.get_or_insert_default();
    state.session_id = Some(here.session.to_owned());
    let found = kept("get", store.get(&here.owner, "rows-1").await).expect("it was saved");
    assert_eq!((found.revision, found.snapshot), (3, expected), "what was saved comes back whole");
}

async fn an_update_may_skip_or_refuse(store: &dyn SessionStore) {
    let here = place("contract-skip");
    let write = here.write("skip-1");
    assert_eq!(kept("skip", store.save(write, &|_| Ok(None)).await), None, "nothing is written");
    let refused = failed(
        "an update may refuse",
        store.save(write, &|_| Err(Status::failed_precondition("no"))).await,
    );
    assert_eq!(Status::from(refused).code(), StatusCode::FailedPrecondition);
    assert_eq!(kept("get", store.get(&here.owner, "skip-1").await), None);
    assert_eq!(kept("latest", store.latest(&here.owner, here.session).await), None);
    kept("save", here.put(store, snapshot("skip-1", None, 1)).await);
    let skip = |row: Option<&SessionSnapshot>| {
        assert!(row.is_some(), "the update sees the row");
        Ok(None)
    };
    assert_eq!(kept("skip", store.save(write, &skip).await), None);
    let found = kept("get", store.get(&here.owner, "skip-1").await);
    assert_eq!(found.map(|found| found.revision), Some(1), "a skipped write leaves the row");
}

async fn no_update_is_lost(store: Arc<dyn SessionStore>) {
    const WRITERS: u64 = 8;
    const WRITES: u64 = 25;
    let writers = (0..WRITERS).map(|_| {
        let store = store.clone();
        async move {
            let here = place("contract-atomic");
            for _ in 0..WRITES {
                let add_one = |row: Option<&SessionSnapshot>| {
                    let count = row.and_then(|row| row.state.as_ref()?.custom.as_ref()?.as_u64());
                    let mut row = snapshot("atomic-1", None, 1);
                    let custom = Some(Arc::new((count.unwrap_or(0) + 1).into()));
                    row.state = Some(SessionState { custom, ..SessionState::default() });
                    Ok(Some(row))
                };
                // Optimistic stores may give up; the caller tries again.
                while let Err(error) = store.save(here.write("atomic-1"), &add_one).await {
                    assert!(matches!(error, StoreError::Conflict(_)), "{error}");
                    tokio::task::yield_now().await;
                }
            }
        }
    });
    futures_util::future::join_all(writers).await;
    let found = kept("get", store.get(&Owner::nobody(), "atomic-1").await).expect("it was saved");
    let custom = found.snapshot.state.and_then(|state| state.custom);
    assert_eq!(custom.as_deref(), Some(&(WRITERS * WRITES).into()), "no update is lost");
    assert_eq!(found.revision, WRITERS * WRITES);
}

async fn the_latest_is_the_newest_leaf(store: &dyn SessionStore) {
    let here = place("contract-latest");
    let check = async |expected: &str, promise: &str| {
        let latest = kept("latest", store.latest(&here.owner, here.session).await);
        let latest = latest.map(|latest| latest.snapshot.snapshot_id);
        assert_eq!(latest.as_deref(), Some(expected), "{promise}");
    };
    kept("save", here.put(store, snapshot("latest-a", None, 1)).await);
    check("latest-a", "the only one is the latest").await;
    kept("save", here.put(store, snapshot("latest-b", Some("latest-a"), 1)).await);
    check("latest-b", "a child is later than its parent, also within one millisecond").await;
    kept("save", here.put(store, snapshot("latest-c", Some("latest-a"), 3)).await);
    check("latest-c", "of two branches the newer counts").await;
    let mut failed = snapshot("latest-d", Some("latest-c"), 4);
    failed.status = Some(SnapshotStatus::Failed);
    kept("save", here.put(store, failed).await);
    check("latest-d", "whatever its status").await;
    kept("save", here.put(store, snapshot("latest-e", Some("latest-e"), 5)).await);
    check("latest-e", "one that names itself as its parent is a leaf").await;
    kept("save", here.put(store, snapshot("latest-b", Some("latest-a"), 1)).await);
    check("latest-e", "writing an older one again changes nothing").await;
}

async fn what_is_not_ones_own_is_not_there(store: &dyn SessionStore) {
    let ada = Place {
        owner: Owner::principal("ada").of_tenant("t1"),
        session: "contract-owner",
        lease: None,
    };
    kept("save", ada.put(store, snapshot("owner-1", None, 1)).await);
    let lease = kept("lease", store.lease(&ada.owner, ada.session, LONG).await);
    for owner in [
        Owner::principal("bob").of_tenant("t1"),
        Owner::principal("ada").of_tenant("t2"),
        Owner::principal("ada"),
        Owner::nobody(),
    ] {
        assert_eq!(kept("get", store.get(&owner, "owner-1").await), None);
        assert_eq!(kept("latest", store.latest(&owner, ada.session).await), None);
        assert!(!kept("delete", store.delete(&owner, ada.session).await));
        let page = kept("list", store.list(&owner, &SessionQuery::default()).await);
        assert!(page.sessions.iter().all(|found| found.session != ada.session));
        // The same ids name other things.
        let own = kept("lease", store.lease(&owner, ada.session, LONG).await);
        kept("release", store.release(&owner, own).await);
    }
    assert!(kept("get", store.get(&ada.owner, "owner-1").await).is_some());
    kept("renew", store.renew(&ada.owner, &lease).await);
    kept("release", store.release(&ada.owner, lease).await);
}

async fn one_writer_a_session(store: &dyn SessionStore) {
    let (owner, session) = (Owner::nobody(), "contract-lease");
    let first = kept("lease", store.lease(&owner, session, LONG).await);
    let error = failed("a lease is one writer's", store.lease(&owner, session, LONG).await);
    assert!(matches!(error, StoreError::Conflict(_)), "{error}");
    kept("another session is free", store.lease(&owner, "contract-lease-2", LONG).await);
    kept("renew", store.renew(&owner, &first).await);
    kept("release", store.release(&owner, first.clone()).await);
    kept("release again", store.release(&owner, first.clone()).await);
    let second = kept("a free lease is given again", store.lease(&owner, session, LONG).await);
    assert!(second.fence > first.fence, "with a greater number");
    kept("release of a lost one", store.release(&owner, first.clone()).await);
    let error = failed("a lost lease stays lost", store.renew(&owner, &first).await);
    assert!(matches!(error, StoreError::Fenced(_)), "{error}");
    let error = failed("and does not free the new one", store.lease(&owner, session, LONG).await);
    assert!(matches!(error, StoreError::Conflict(_)), "{error}");
}

async fn a_lost_lease_cannot_write(store: &dyn SessionStore) {
    let session = "contract-fence";
    let owner = Owner::nobody();
    let short = Duration::from_millis(20);
    let lease = kept("lease", store.lease(&owner, session, Term::of(short)).await);
    let frozen = Place { lease: Some(lease), ..place(session) };
    kept("save", frozen.put(store, snapshot("fence-1", None, 1)).await);
    // The holder sleeps; another writer gets the lease as soon as it has run out.
    let taken = loop {
        match store.lease(&owner, session, LONG).await {
            Ok(lease) => break lease,
            Err(StoreError::Conflict(_)) => tokio::time::sleep(short).await,
            Err(error) => panic!("{error}"),
        }
    };
    let awake = Place { lease: Some(taken), ..place(session) };
    kept("save", awake.put(store, snapshot("fence-2", Some("fence-1"), 2)).await);
    for late in [snapshot("fence-1", None, 9), snapshot("fence-3", None, 9)] {
        let error = failed("a late write is refused", frozen.put(store, late).await);
        assert!(matches!(error, StoreError::Fenced(_)), "{error}");
    }
    let latest = kept("latest", store.latest(&owner, session).await);
    assert_eq!(latest.map(|latest| latest.snapshot.snapshot_id).as_deref(), Some("fence-2"));
    kept(
        "a write outside of a turn needs none",
        place(session).put(store, snapshot("fence-2", Some("fence-1"), 2)).await,
    );
}

async fn changes_are_heard(store: Arc<dyn SessionStore>) {
    let here = place("contract-changes");
    let owner = here.owner.clone();
    let heard = AtomicU64::new(0);
    let watcher = async {
        let mut revision = 0;
        while revision < 3 {
            kept("changed", store.changed(&owner, "changes-1", revision).await);
            let found = kept("get", store.get(&owner, "changes-1").await);
            let found = found.map_or(0, |found| found.revision);
            assert!(found >= revision, "revisions only grow");
            revision = found;
            heard.store(revision, SeqCst);
        }
    };
    let writer = async {
        for revision in 1..=3 {
            kept("save", here.put(&*store, snapshot("changes-1", None, 1)).await);
            // Each change is heard before the next is made.
            while heard.load(SeqCst) < revision {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    };
    futures_util::future::join(watcher, writer).await;
    kept("what has changed already is not waited for", store.changed(&owner, "changes-1", 1).await);
}

async fn lists_have_pages_and_filters(store: &dyn SessionStore) {
    const SESSIONS: [&str; 5] = ["list-1", "list-2", "list-3", "list-4", "list-5"];
    let owner = Owner::principal("lister");
    for (second, session) in (1..).zip(SESSIONS) {
        let here = Place { owner: owner.clone(), session, lease: None };
        let mut row = snapshot(&format!("{session}-a"), None, second);
        match second {
            2 => row.status = Some(SnapshotStatus::Pending),
            3 => row.finish_reason = Some(AgentFinishReason::Interrupted),
            _ => {
                let state = row.state.get_or_insert_default();
                state.artifacts = Some(vec![Arc::new(Artifact::default())]);
            }
        }
        let agent = if second == 5 { "other" } else { "helper" };
        let write = SnapshotWrite { agent, ..here.write(&row.snapshot_id) };
        kept("save", store.save(write, &|_| Ok(Some(row.clone()))).await);
    }
    let list = async |query: SessionQuery| kept("list", store.list(&owner, &query).await);
    let names = |page: &crate::ports::SessionPage| {
        page.sessions.iter().map(|found| found.session.clone()).collect::<Vec<_>>()
    };
    let all = list(SessionQuery::default()).await;
    assert_eq!(names(&all), ["list-5", "list-4", "list-3", "list-2", "list-1"], "latest first");
    assert_eq!(all.next, None);
    let first = all.sessions.last().expect("there are five");
    assert_eq!((first.agent.as_str(), first.latest.as_str()), ("helper", "list-1-a"));
    assert_eq!((first.snapshots, first.messages, first.has_artifacts), (1, 1, true));
    assert_eq!(first.created_at, "2026-11-15T06:32:01.000Z");

    let mut paged = Vec::new();
    let mut after = None;
    loop {
        let page = list(SessionQuery { limit: 2, after, ..SessionQuery::default() }).await;
        assert!(page.sessions.len() <= 2, "no more than asked for");
        paged.extend(names(&page));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(paged, names(&all), "pages neither repeat nor leave out");

    let agent = list(SessionQuery { agent: Some("other".into()), ..SessionQuery::default() }).await;
    assert_eq!(names(&agent), ["list-5"]);
    let active = list(SessionQuery { is_active: Some(true), ..SessionQuery::default() }).await;
    assert_eq!(names(&active), ["list-3", "list-2"]);
    let others = list(SessionQuery { is_active: Some(false), ..SessionQuery::default() }).await;
    assert_eq!(names(&others), ["list-5", "list-4", "list-1"]);
    let after = Some("no such token".to_owned());
    let query = SessionQuery { after, ..SessionQuery::default() };
    let error = failed("a foreign token is refused", store.list(&owner, &query).await);
    assert!(matches!(error, StoreError::Invalid(_)), "{error}");
}

async fn a_deleted_session_is_gone(store: Arc<dyn SessionStore>) {
    let mut here = place("contract-delete");
    let owner = here.owner.clone();
    let lease = kept("lease", store.lease(&owner, here.session, LONG).await);
    here.lease = Some(lease);
    kept("save", here.put(&*store, snapshot("delete-1", None, 1)).await);
    kept("save", here.put(&*store, snapshot("delete-2", Some("delete-1"), 2)).await);
    let watcher = store.changed(&owner, "delete-2", 1);
    let deletion = async {
        tokio::task::yield_now().await;
        assert!(kept("delete", store.delete(&owner, here.session).await));
    };
    let (changed, _) = futures_util::future::join(watcher, deletion).await;
    kept("whoever waits is woken", changed);
    assert_eq!(kept("get", store.get(&owner, "delete-1").await), None);
    assert_eq!(kept("latest", store.latest(&owner, here.session).await), None);
    assert!(!kept("delete again", store.delete(&owner, here.session).await));
    let error =
        failed("its writer is fenced", here.put(&*store, snapshot("delete-3", None, 3)).await);
    assert!(matches!(error, StoreError::Fenced(_)), "{error}");
}

async fn what_is_too_large_is_refused(store: &dyn SessionStore) {
    let here = place("contract-large");
    let mut large = snapshot("large-1", None, 1);
    large.updated_at = Some("x".repeat(MAX_SNAPSHOT_BYTES));
    let error = failed("a snapshot has a size", here.put(store, large).await);
    assert!(matches!(error, StoreError::Full(..)), "{error}");
    assert_eq!(kept("get", store.get(&here.owner, "large-1").await), None);
}
