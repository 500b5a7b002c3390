//! Snapshots that have much in common: each reads back as it was written.

use std::sync::Arc;

use oxikit_wire::{Artifact, Message, SessionSnapshot};
use serde_json::json;

use super::{Place, Store, kept, place, turn, user_message};
use crate::ports::Retention;

/// Checks that all rows are returned as they were written.
async fn check_all(store: &Store, here: &Place, rows: &[SessionSnapshot], promise: &str) {
    for row in rows {
        here.check(store, row, promise).await;
    }
}

/// A chain of this many turns. Each adds a question and an answer.
fn chain(name: &str, turns: u32) -> Vec<SessionSnapshot> {
    let mut messages = Vec::new();
    let next = |n: u32| {
        messages.push(user_message(format!("question {n} of {name}")));
        messages.push(Arc::new(Message::model(format!("answer {n} of {name}"))));
        let parent = n.checked_sub(1).map(|parent| format!("{name}-{parent}"));
        let mut row = turn(&format!("{name}-{n}"), parent.as_deref(), n, &messages);
        row.state.get_or_insert_default().custom = Some(Arc::new(json!({ "turn": n })));
        row
    };
    (0..turns).map(next).collect()
}

fn messages(row: &SessionSnapshot) -> Vec<Arc<Message>> {
    row.state.as_ref().and_then(|state| state.messages.clone()).unwrap_or_default()
}

/// Every snapshot of a long conversation has exactly its own messages.
pub(super) async fn a_long_chain_reads_back_at_every_depth(store: Store) {
    let (here, rows) = (place("contract-chain"), chain("chain", 300));
    for row in &rows {
        here.save(&store, row).await;
    }
    check_all(&store, &here, &rows, "every depth is whole").await;
    assert_eq!(here.latest(&store).await.as_deref(), Some("chain-299"));
}

/// Sharing compares values, not pointers: snapshots that were read from JSON are shared too.
pub(super) async fn equal_content_need_not_be_the_same_object(store: Store) {
    let (here, mut rows) = (place("contract-equal"), chain("equal", 6));
    for row in &mut rows {
        // As if each had been read from JSON by itself.
        *row = serde_json::from_value(json!(row)).expect("a snapshot reads its own JSON");
        here.save(&store, row).await;
    }
    check_all(&store, &here, &rows, "equal content reads back").await;
    // A turn that goes on from what the store has read.
    let read = here.get(&store, "equal-5").await.expect("it was saved");
    let mut next = messages(&read);
    next.push(user_message("more"));
    rows.push(turn("equal-6", Some("equal-5"), 9, &next));
    here.save(&store, &rows[6]).await;
    check_all(&store, &here, &rows, "also from what was read").await;
}

/// A turn may have another history than its parent: changed, shortened or reordered.
pub(super) async fn a_rewritten_history_reads_back(store: Store) {
    let (here, mut rows) = (place("contract-rewrite"), chain("rewrite", 5));
    let before = messages(&rows[4]);
    let edits: [fn(&mut Vec<Arc<Message>>); 7] = [
        |history| history[4] = user_message("rewritten"),
        |history| drop(history.remove(0)),
        |history| history.insert(3, user_message("put in between")),
        |history| history.truncate(3),
        |history| history.reverse(),
        |history| *history = vec![user_message("a summary of all")],
        |history| history.clear(),
    ];
    for (n, edit) in (0..).zip(edits) {
        let mut history = before.clone();
        edit(&mut history);
        rows.push(turn(&format!("rewrite-of-{n}"), Some("rewrite-4"), 10 + n, &history));
        history.push(user_message("and on"));
        rows.push(turn(
            &format!("rewrite-on-{n}"),
            Some(&format!("rewrite-of-{n}")),
            30 + n,
            &history,
        ));
    }
    for row in &rows {
        here.save(&store, row).await;
    }
    check_all(&store, &here, &rows, "what was written is read").await;
}

/// Branches from any snapshot do not change the others.
pub(super) async fn a_fork_leaves_the_original_untouched(store: Store) {
    let (here, mut rows) = (place("contract-fork"), chain("fork", 6));
    for row in &rows {
        here.save(&store, row).await;
    }
    for (branch, from) in [("a", 2), ("b", 2), ("c", 5), ("d", 0)] {
        let mut history = messages(&rows[from]);
        let mut parent = rows[from].snapshot_id.clone();
        for n in 0..3 {
            history.push(user_message(format!("{branch} {n}")));
            let id = format!("fork-{branch}-{n}");
            rows.push(turn(&id, Some(&parent), 20 + n, &history));
            parent = id;
        }
    }
    for row in &rows[6..] {
        here.save(&store, row).await;
    }
    check_all(&store, &here, &rows, "all branches are whole").await;
    // A fork from a snapshot that is not there any more, or never was.
    let orphan = turn("fork-orphan", Some("fork-never"), 50, &messages(&rows[3]));
    here.save(&store, &orphan).await;
    rows.push(orphan);
    kept("prune", store.prune(&Retention { max_snapshots: Some(1), ..Retention::default() }).await);
    for tip in ["fork-a-2", "fork-b-2", "fork-c-2", "fork-d-2", "fork-orphan"] {
        let row = rows.iter().find(|row| row.snapshot_id == tip).expect("it is a tip");
        here.check(&store, row, "all branches are whole after those before are gone").await;
    }
}

/// A row may be written again with other content, while others go on from it.
pub(super) async fn a_row_may_shrink_and_its_children_stay_whole(store: Store) {
    let (here, mut rows) = (place("contract-shrink"), chain("shrink", 4));
    for row in &rows {
        here.save(&store, row).await;
    }
    let other =
        [user_message("something else"), user_message("and more"), user_message("and more")];
    for history in [&other[..], &other[..1], &[], &other[..2], &messages(&rows[2])] {
        rows[1] = turn("shrink-1", Some("shrink-0"), 1, history);
        here.save(&store, &rows[1]).await;
        check_all(&store, &here, &rows, "each has its own").await;
    }
    // It may also get another parent.
    rows[2].parent_id = None;
    here.save(&store, &rows[2]).await;
    check_all(&store, &here, &rows, "each has its own").await;
}

/// Artifacts are kept in their order, and replacing them in one snapshot does not change others.
pub(super) async fn artifacts_are_shared_and_replaced(store: Store) {
    let (here, mut rows) = (place("contract-artifacts"), chain("artifacts", 5));
    let artifact = |name: &str, version: u32| {
        let parts = vec![format!("version {version}").into()];
        Arc::new(Artifact { name: Some(name.to_owned()), parts, metadata: None })
    };
    let (plan, list) = (artifact("plan", 1), artifact("list", 1));
    let unnamed = Arc::new(Artifact::default());
    let (newer, equal) = (artifact("plan", 2), artifact("plan", 1));
    let kept_by_turn = [
        vec![plan.clone()],
        vec![plan.clone(), list.clone(), unnamed.clone(), unnamed],
        vec![newer.clone(), list.clone()],
        vec![list, newer],
        vec![equal],
    ];
    for (row, artifacts) in rows.iter_mut().zip(kept_by_turn) {
        row.state.get_or_insert_default().artifacts = Some(artifacts);
        here.save(&store, row).await;
    }
    check_all(&store, &here, &rows, "each turn has its artifacts, in their order").await;
    // Those of a parent are its own.
    rows[0].state.get_or_insert_default().artifacts = None;
    here.save(&store, &rows[0]).await;
    check_all(&store, &here, &rows, "a row's artifacts are replaced in it alone").await;
}
