//! Current texts, and deleted documents.

use super::{Store, append, begin, deletion, edit, head, kept, refusal, shown, text};
use crate::ports::{DocumentHead, NewRevision, RevisionKind};

/// Revisions that are not applied grow the log, and do not change the current text.
pub(super) async fn the_newest_applied_revision_is_the_current_one(store: Store) {
    let document = "contract/applied.md";
    begin(&store, document, &["a"]).await;
    append(&store, document, 1, vec![refusal(1, "b")]).await;
    assert_eq!(shown(&store, document).await, text(2, "a"));
    append(&store, document, 2, vec![edit(1, "c"), refusal(1, "d")]).await;
    assert_eq!(shown(&store, document).await, text(4, "c"));
    let (_, current) = head(&store, document).await.expect("there is a log");
    assert_eq!((current.info.number, current.info.is_applied), (3, true));
    let refused = kept("revision", store.revision(document, 2).await).expect("it is logged");
    assert_eq!((refused.text.as_deref(), refused.info.is_applied), (Some("b"), false));
}

/// A submission and its merge are appended together: both are there, and the merge is current.
pub(super) async fn two_revisions_of_one_append_are_stored_together(store: Store) {
    let document = "contract/merge.md";
    begin(&store, document, &["one two", "one two three"]).await;
    let sent = NewRevision { is_applied: false, ..edit(1, "zero one two") };
    let merged = NewRevision { kind: RevisionKind::Merge, ..edit(2, "zero one two three") };
    let infos = append(&store, document, 2, vec![sent, merged]).await;
    let seen: Vec<_> =
        infos.iter().map(|info| (info.number, info.parent, info.is_applied)).collect();
    assert_eq!(seen, [(3, 1, false), (4, 2, true)]);
    assert_eq!(infos[0].at, infos[1].at, "they have one time");
    assert_eq!(shown(&store, document).await, text(4, "zero one two three"));
}

/// A deletion is a revision without a text; the log stays, and the document may come back.
pub(super) async fn a_deleted_document_keeps_its_log(store: Store) {
    let document = "contract/deleted.md";
    begin(&store, document, &["a"]).await;
    let deleted = append(&store, document, 1, vec![deletion(1)]).await;
    assert!(deleted[0].is_deletion());
    assert_eq!((&*deleted[0].hash, deleted[0].bytes), ("", 0));
    assert_eq!(shown(&store, document).await, Some((2, None)));
    let before = kept("revision", store.revision(document, 1).await).expect("it is kept");
    assert_eq!(before.text.as_deref(), Some("a"));
    append(&store, document, 2, vec![refusal(1, "late")]).await;
    assert_eq!(shown(&store, document).await, Some((3, None)), "it stays deleted");
    append(&store, document, 3, vec![edit(1, "")]).await;
    assert_eq!(shown(&store, document).await, text(4, ""), "an empty text is a text");
}

/// All documents are listed in the order of their names, also deleted ones.
pub(super) async fn documents_are_listed_with_their_heads(store: Store) {
    let names = ["z.md", "B.md", "a.md", "\u{e9}.md", "a/b.md", "\u{1f980}.md", "\u{ff5a}.md"];
    let mut names = names.map(|name| format!("contract/list/{name}"));
    for name in &names {
        begin(&store, name, &["a", "b"]).await;
    }
    append(&store, &names[0], 2, vec![deletion(2)]).await;
    append(&store, &names[1], 2, vec![refusal(2, "c")]).await;
    let deleted = names[0].clone();
    names.sort();
    let listed = kept("documents", store.documents().await);
    let is_ours = |head: &DocumentHead| head.document.starts_with("contract/list/");
    let listed: Vec<_> = listed.into_iter().filter(is_ours).collect();
    let seen: Vec<_> = listed.iter().map(|head| &head.document).collect();
    assert_eq!(seen, names.iter().collect::<Vec<_>>(), "in the order of the bytes of the names");
    for listed in listed {
        let (newest, current) = head(&store, &listed.document).await.expect("there is a log");
        assert_eq!((listed.newest, &listed.current), (newest, &current.info));
        assert_eq!(listed.current.is_deletion(), listed.document == deleted);
    }
}
