//! Snapshots are stored and returned unchanged.

use std::sync::Arc;

use oxikit_wire::{JsonObject, Message, RuntimeError, SessionSnapshot, SessionState};
use serde_json::{Value, json};

use super::{LONG, Store, failed, json, kept, place, snapshot};
use crate::ports::{SessionQuery, SessionSummary, SnapshotWrite, StoreError};

/// Ids of sessions may be any text: quotes, slashes, emoji, leading spaces. Blank ids are refused
/// for writes and for leases.
pub(super) async fn ids_are_any_text_but_blank(store: Store) {
    for blank in ["", " ", "\t\n"] {
        let here = place(blank);
        for error in [
            failed("a blank id is refused", here.put(&store, &snapshot("blank-1", None, 1)).await),
            failed("also for a lease", here.take(&store, LONG).await),
        ] {
            assert!(matches!(error, StoreError::Invalid(_)), "{error}");
        }
        assert_eq!(here.get(&store, "blank-1").await, None);
    }
    let ids =
        ["Grüße 🦀 東京", "it's \"quoted\"; --", "a/b\\c", "..", "%_*?", "NUL", "a\0b", " x "];
    for (n, id) in ids.into_iter().enumerate() {
        let (here, row) = (place(id), snapshot(&format!("id-{n}"), None, 1));
        let saved = here.put(&store, &row).await;
        // Stores made of files, and of text without NUL, may take plain names only.
        let may_refuse = id.contains(['/', '\\', '\0']) || id == ".." || id == "NUL";
        if matches!(saved, Err(StoreError::Invalid(_))) && may_refuse {
            continue;
        }
        kept("any text is an id", saved);
        here.check(&store, &row, "it is found again").await;
        assert_eq!(here.tree(&store).await, [row.snapshot_id], "`{id}` is one session");
        let lease = kept("lease", here.take(&store, LONG).await);
        assert_eq!(lease.session, id);
        kept("release", store.release(&here.owner, lease).await);
        let summary = summary(&store, id).await.expect("it is listed");
        assert_eq!(summary.session, id);
        assert!(kept("delete", store.delete(&here.owner, id).await));
    }
    let (here, row) = (place("contract-ids"), snapshot("Grüße 'n' \"q\" 🦀", None, 1));
    here.save(&store, &row).await;
    here.check(&store, &row, "so is that of a snapshot").await;
}

/// The entry of the session in the list, after a check that `summary` returns the same.
async fn summary(store: &Store, session: &str) -> Option<SessionSummary> {
    let query = SessionQuery { limit: 1000, ..SessionQuery::default() };
    let owner = place("").owner;
    let page = kept("list", store.list(&owner, &query).await);
    let listed = page.sessions.into_iter().find(|found| found.session == session);
    let found = kept("summary", store.summary(&owner, session).await);
    assert_eq!(found, listed, "a session is summed up as it is listed");
    listed
}

/// An absent value, `null` and an empty list or object are different, and each is returned as it
/// was written.
pub(super) async fn absent_null_and_empty_are_different(store: Store) {
    let here = place("contract-absent");
    let states = [
        None,
        Some(SessionState::default()),
        Some(SessionState { messages: Some(vec![]), ..SessionState::default() }),
        Some(SessionState { custom: Some(Arc::new(Value::Null)), ..SessionState::default() }),
        Some(SessionState { custom: Some(Arc::new(json!({}))), ..SessionState::default() }),
        Some(SessionState { artifacts: Some(vec![]), ..SessionState::default() }),
        snapshot("", None, 1).state,
    ];
    // Each after each, so that nothing is taken over from a parent.
    for (n, parent_state) in states.iter().enumerate() {
        for (m, state) in states.iter().enumerate() {
            let row = |id: &str, parent: Option<&str>, state: &Option<SessionState>| {
                SessionSnapshot { state: state.clone(), ..snapshot(id, parent, 1) }
            };
            let parent = row(&format!("absent-{n}-{m}"), None, parent_state);
            here.save(&store, &parent).await;
            let child = row(&format!("absent-{n}-{m}-c"), Some(&parent.snapshot_id), state);
            here.save(&store, &child).await;
            here.check(&store, &child, "a child has what it was given").await;
            here.check(&store, &parent, "and its parent too").await;
        }
    }
}

/// Numbers at the limits of 64 bits, all characters (also NUL) and the order of members survive
/// storing.
pub(super) async fn numbers_text_and_order_of_keys_are_kept(store: Store) {
    let here = place("contract-exact");
    let custom = json!({
        "z": u64::MAX, "y": i64::MIN, "x": 0.1, "w": 1e300, "v": 1.0,
        "a": [null, true, [], {}, [[[{"deep": "nul \u{0} end"}]]]],
        "__proto__": "\u{2028} \u{1F980} \\ \" '", "": "",
    });
    let mut row = snapshot("exact-1", None, 1);
    let mut message = Message::user("nul \u{0}, quotes ' \", line\r\n");
    message.metadata = custom.as_object().cloned();
    let state = row.state.get_or_insert_default();
    state.messages = Some(vec![Arc::new(message)]);
    state.custom = Some(Arc::new(custom));
    row.error = Some(RuntimeError {
        status: Some("INTERNAL".into()),
        message: "no".into(),
        details: Some(json!({"b": 1, "a": 2})),
    });
    here.save(&store, &row).await;
    here.check(&store, &row, "what was saved comes back whole").await;
    let found = here.get(&store, "exact-1").await.expect("it was saved");
    row.session_id.clone_from(&found.session_id);
    row.state.get_or_insert_default().session_id.clone_from(&found.session_id);
    assert_eq!(json(&found), json(&row), "keys keep their order, numbers their kind");
}

/// A session belongs to the agent of its first snapshot, also if a later write names another.
pub(super) async fn the_agent_is_remembered(store: Store) {
    let here = place("contract-agent");
    here.save(&store, &snapshot("agent-1", None, 1)).await;
    let row = snapshot("agent-2", Some("agent-1"), 2);
    let write = SnapshotWrite { agent: "other", ..here.write("agent-2") };
    kept("save", store.save(write, &|_| Ok(Some(row.clone()))).await);
    for found in [
        kept("get", store.get(&here.owner, "agent-1").await),
        kept("get", store.get(&here.owner, "agent-2").await),
        kept("latest", store.latest(&here.owner, &here.session).await),
    ] {
        let agent = found.expect("it was saved").agent;
        assert_eq!(agent.as_deref(), Some("helper"), "the first one's counts");
    }
    let summary = summary(&store, &here.session).await.expect("it is listed");
    assert_eq!(summary.agent, "helper");
}

/// The metadata of a session stays until a write replaces it, and is replaced as a whole.
pub(super) async fn notes_are_kept_until_replaced(store: Store) {
    let here = place("contract-notes");
    let notes = |text: &str| match json!({"title": text, "a": {"b": [1, null]}}) {
        Value::Object(notes) => notes,
        _ => JsonObject::default(),
    };
    let (first, second, none) = (notes("Grüße"), notes("other"), JsonObject::default());
    let (old, new) = (Some(&first), Some(&second));
    for (n, (written, expected)) in
        [(None, None), (old, old), (None, old), (new, new), (None, new), (Some(&none), Some(&none))]
            .into_iter()
            .enumerate()
    {
        let row = snapshot(&format!("notes-{}", n / 2), None, 1);
        let write = SnapshotWrite { metadata: written, ..here.write(&row.snapshot_id) };
        kept("save", store.save(write, &|_| Ok(Some(row.clone()))).await);
        let found = summary(&store, &here.session).await.expect("it is listed").metadata;
        assert_eq!(found.as_ref(), expected, "write {n}");
    }
    let write = SnapshotWrite { metadata: new, ..here.write("notes-0") };
    kept("skip", store.save(write, &|_| Ok(None)).await);
    let found = summary(&store, &here.session).await.expect("it is listed").metadata;
    assert_eq!(found, Some(none), "a skipped write leaves them");
}
