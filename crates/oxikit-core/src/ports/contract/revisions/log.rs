//! The log of a document: its pages, its operations and what is known of each revision.

use super::{Store, append, begin, edit, is_conflict, kept};
use crate::ports::{NewRevision, RevisionKind};

/// Pages begin at the newest revision or before a number, and have no texts.
pub(super) async fn a_log_is_read_in_pages_from_the_newest(store: Store) {
    let document = "contract/pages.md";
    begin(&store, document, &["1", "2", "3", "4", "5", "6", "7"]).await;
    begin(&store, "contract/pages-2.md", &["1", "2"]).await;
    let page = async |before, limit| {
        let page = kept("log", store.log(document, before, limit).await);
        page.into_iter().map(|info| info.number).collect::<Vec<_>>()
    };
    assert_eq!(page(None, 3).await, [7, 6, 5]);
    assert_eq!(page(Some(5), 3).await, [4, 3, 2]);
    assert_eq!(page(Some(2), 3).await, [1]);
    for (before, limit, expected) in [
        (Some(1), 3, 0),
        (Some(0), 3, 0),
        (None, 0, 0),
        (None, usize::MAX, 7),
        (Some(u64::MAX), 100, 7),
        (Some(8), 100, 7),
    ] {
        assert_eq!(page(before, limit).await.len(), expected, "before {before:?}, {limit}");
    }
}

/// The newest revision with an `op` is found, unless it is too old; documents are apart.
pub(super) async fn an_op_is_found_for_a_time(store: Store) {
    let document = "contract/op.md";
    let op = |text: &str, op: &str| NewRevision {
        op: Some(op.to_owned()),
        outcome: Some(format!("{{\"text\":\"{text}\"}}")),
        ..edit(0, text)
    };
    let first = append(&store, document, 0, vec![op("a", "one"), edit(1, "b")]).await;
    append(&store, "contract/op-2.md", 0, vec![op("c", "two")]).await;
    let find = async |name: &str, since| kept("op", store.find_op(document, name, since).await);
    let at = first[0].at;
    assert_eq!(find("one", 0).await.as_ref(), Some(&first[0]));
    assert_eq!(find("one", at).await.as_ref(), Some(&first[0]), "the time itself is not before");
    assert_eq!(find("one", at + 1).await, None, "it is too old");
    assert_eq!(find("two", 0).await, None, "it belongs to another document");
    assert_eq!(find("", 0).await, None, "revisions without an op have none");
    let again = append(&store, document, 2, vec![op("d", "one")]).await;
    assert_eq!(find("one", at).await.as_ref(), again.first(), "the newest");
    let late = store.append(document, 2, vec![op("e", "late")]).await;
    is_conflict("another number is the newest", late);
    assert_eq!(find("late", 0).await, None, "what was refused is not found");
}

/// All that a caller says about a revision is kept.
pub(super) async fn kinds_authors_and_parents_are_kept(store: Store) {
    let document = "contract/kinds.md";
    let mut expected = Vec::new();
    for (newest, kind) in (0..).zip(RevisionKind::ALL) {
        let revision = NewRevision {
            parent: newest / 2,
            kind,
            author: format!("ada \u{1f980}\u{0} {newest}"),
            text: (kind != RevisionKind::Delete).then(|| kind.as_str().into()),
            is_applied: kind != RevisionKind::Refused,
            op: (newest % 2 == 0).then(|| format!("op \u{0} {newest}")),
            outcome: (newest % 3 == 0).then(|| "{\"rev\":1,\"nul\":\"\u{0}\"}".to_owned()),
        };
        append(&store, document, newest, vec![revision.clone()]).await;
        expected.insert(0, revision);
    }
    let log = kept("log", store.log(document, None, 100).await);
    assert_eq!(log.len(), expected.len());
    for (info, expected) in log.into_iter().zip(expected) {
        let text = kept("revision", store.revision(document, info.number).await);
        let found = NewRevision {
            parent: info.parent,
            kind: info.kind,
            author: info.author,
            text: text.expect("the revision is there").text,
            is_applied: info.is_applied,
            op: info.op,
            outcome: info.outcome,
        };
        assert_eq!(found, expected);
    }
}
