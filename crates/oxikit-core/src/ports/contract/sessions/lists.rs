//! Sessions and snapshots without their content.

use std::sync::Arc;

use oxikit_wire::{AgentFinishReason, Artifact, SnapshotStatus};

use super::{Store, failed, kept, place, snapshot, turn, user_message};
use crate::ports::{Owner, SessionPage, SessionQuery, SnapshotNode, SnapshotWrite, StoreError};

/// `latest` follows the rules of the trait: leaves only, then `createdAt`, then the order of
/// storing.
pub(super) async fn the_latest_is_the_newest_leaf(store: Store) {
    let here = place("contract-latest");
    let mut failed = snapshot("latest-d", Some("latest-c"), 4);
    failed.status = Some(SnapshotStatus::Failed);
    for (row, expected, promise) in [
        (snapshot("latest-a", None, 1), "latest-a", "the only one is the latest"),
        (
            snapshot("latest-b", Some("latest-a"), 1),
            "latest-b",
            "a child is later than its parent, also within one millisecond",
        ),
        (snapshot("latest-c", Some("latest-a"), 3), "latest-c", "of two branches the newer counts"),
        (failed, "latest-d", "whatever its status"),
        (
            snapshot("latest-e", Some("latest-e"), 5),
            "latest-e",
            "one that names itself as its parent is a leaf",
        ),
        (
            snapshot("latest-b", Some("latest-a"), 1),
            "latest-e",
            "writing an older one again changes nothing",
        ),
        (snapshot("latest-f", None, 5), "latest-f", "of equal times the one stored last counts"),
        (
            snapshot("latest-f", Some("latest-g"), 0),
            "latest-e",
            "one that is written again is as old as it says",
        ),
        (snapshot("latest-g", None, 9), "latest-e", "a parent may be written after its child"),
        (snapshot("latest-f", None, 0), "latest-g", "and may lose its child"),
    ] {
        here.save(&store, &row).await;
        assert_eq!(here.latest(&store).await.as_deref(), Some(expected), "{promise}");
    }
    let latest = kept("latest", store.latest(&here.owner, &here.session).await);
    let got = kept("get", store.get(&here.owner, "latest-g").await);
    assert_eq!(latest, got, "the latest is read as any other");
}

/// `tree` has all snapshots, in the order of their first writing, with their current status.
pub(super) async fn a_tree_has_all_snapshots_in_order(store: Store) {
    let here = place("contract-tree");
    assert_eq!(here.tree(&store).await, [""; 0], "nothing is there at first");
    let messages = [user_message("a"), user_message("b"), user_message("c")];
    let mut rows = [
        turn("tree-b", None, 9, &messages[..1]),
        turn("tree-a", Some("tree-b"), 5, &messages),
        turn("tree-c", Some("tree-b"), 7, &messages[..2]),
        snapshot("tree-d", Some("tree-c"), 1),
    ];
    rows[2].status = Some(SnapshotStatus::Failed);
    rows[2].finish_reason = Some(AgentFinishReason::Failed);
    rows[3].status = Some(SnapshotStatus::Pending);
    rows[3].state = None;
    // The second time in another order.
    for row in rows.iter().chain(rows.iter().rev()) {
        here.save(&store, row).await;
    }
    let node = |row: &oxikit_wire::SessionSnapshot| SnapshotNode {
        snapshot: row.snapshot_id.clone(),
        parent: row.parent_id.clone(),
        created_at: row.created_at.clone(),
        status: row.status,
        finish_reason: row.finish_reason,
        messages: row.state.iter().flat_map(|state| &state.messages).map(Vec::len).sum(),
    };
    let expected: Vec<_> = rows.iter().map(node).collect();
    let tree = kept("tree", store.tree(&here.owner, &here.session).await);
    assert_eq!(tree, expected, "in the order of their first writing");
}

fn names(page: &SessionPage) -> Vec<&str> {
    page.sessions.iter().map(|found| found.session.as_str()).collect()
}

/// `list` filters by agent and activity, in pages.
pub(super) async fn lists_have_pages_and_filters(store: Store) {
    let owner = Owner::principal("lister");
    for second in 1..=5 {
        let here = place(&format!("list-{second}")).of(owner.clone());
        let mut row = snapshot(&format!("list-{second}-a"), None, second);
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
    let all = list(SessionQuery::default()).await;
    assert_eq!(names(&all), ["list-5", "list-4", "list-3", "list-2", "list-1"], "latest first");
    assert_eq!(all.next, None);
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

    // The content is that of the newest completed one, the rest that of the latest.
    let here = place("list-1").of(owner.clone());
    let mut pending =
        turn("list-1-b", Some("list-1-a"), 9, &[user_message("a"), user_message("b")]);
    pending.status = Some(SnapshotStatus::Pending);
    pending.heartbeat_at = Some("2026-11-15T06:32:09.500Z".to_owned());
    pending.updated_at = Some("2026-11-15T06:32:10.000Z".to_owned());
    here.save(&store, &pending).await;
    let all = list(SessionQuery::default()).await;
    let first = all.sessions.first().expect("there are five");
    assert_eq!((first.session.as_str(), first.latest.as_str()), ("list-1", "list-1-b"));
    assert_eq!((first.agent.as_str(), first.snapshots), ("helper", 2));
    assert_eq!((first.messages, first.has_artifacts), (1, true));
    assert_eq!(first.created_at, "2026-11-15T06:00:01.000Z");
    assert_eq!(Some(&first.updated_at), pending.updated_at.as_ref());
    assert_eq!(first.heartbeat_at, pending.heartbeat_at);
    assert_eq!((first.status, first.finish_reason), (pending.status, None));
    let summary = &all.sessions[1];
    assert_eq!(summary.updated_at, "2026-11-15T06:00:05.000Z", "or else when it was made");
}

/// Pages neither repeat nor skip a session, also if times are equal or sessions are written while
/// the pages are read.
pub(super) async fn pages_hold_when_times_are_equal_and_sessions_are_written(store: Store) {
    const SESSIONS: usize = 9;
    let owner = Owner::principal("pager");
    let write = async |session: usize| {
        let here = place(&format!("page-{session}")).of(owner.clone());
        here.save(&store, &snapshot(&format!("page-{session}-a"), None, 1)).await;
    };
    for session in 0..SESSIONS {
        write(session).await;
    }
    let newest_first: Vec<_> = (0..SESSIONS).rev().map(|n| format!("page-{n}")).collect();
    for limit in [1, 2, SESSIONS - 1, SESSIONS, SESSIONS + 1] {
        let mut found = Vec::new();
        let mut after = None;
        loop {
            let query = SessionQuery { limit, after, ..SessionQuery::default() };
            let page = kept("list", store.list(&owner, &query).await);
            assert!(page.sessions.len() <= limit, "no more than asked for");
            found.extend(names(&page).into_iter().map(str::to_owned));
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(found, newest_first, "pages neither repeat nor leave out");
    }
    let query = SessionQuery { limit: 4, ..SessionQuery::default() };
    let first = kept("list", store.list(&owner, &query).await);
    // One that was seen and one that is new.
    write(7).await;
    write(SESSIONS).await;
    let query = SessionQuery { after: first.next, limit: SESSIONS, ..SessionQuery::default() };
    let rest = kept("list", store.list(&owner, &query).await);
    assert_eq!(names(&rest), newest_first[4..], "what is written meanwhile moves nothing else");
    let all = kept("list", store.list(&owner, &SessionQuery::default()).await);
    assert_eq!(names(&all)[..3], ["page-9", "page-7", "page-8"], "written last is first");
}
