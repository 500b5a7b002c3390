//! Texts and names of all kinds and sizes.

use super::{Store, append, edit, head, is_invalid, kept, shown, text};
use crate::ports::{MAX_REVISION_NAME_BYTES, NewRevision, text_hash};

/// The store does not change a text: it may be empty, or have any characters.
pub(super) async fn any_text_is_kept_as_it_is(store: Store) {
    let document = "contract/text.md";
    let texts = [
        "",
        "\u{feff}---\r\ntags: [a]\r\n---\r\nbody\r\n",
        "nul \u{0}, crab \u{1f980}, right to left \u{202e}",
        "\u{10ffff}0 \u{10ffff}\u{10ffff}",
        "'; DROP TABLE revisions; --",
        "\n",
    ];
    for (newest, expected) in (0..).zip(texts) {
        append(&store, document, newest, vec![edit(newest, expected)]).await;
        assert_eq!(shown(&store, document).await, text(newest + 1, expected));
        let (_, current) = head(&store, document).await.expect("there is a log");
        assert_eq!(current.info.bytes, expected.len() as u64);
    }
}

/// Two texts of 4 MiB in one append.
pub(super) async fn a_text_of_4_mib_is_kept(store: Store) {
    let document = "contract/large.md";
    let [one, other] = ["0123456789abcdef", "\u{1f980}\u{0}\u{e9}\u{e9}\u{e9}abcde"]
        .map(|part| part.repeat(4 * 1024 * 1024 / part.len()));
    append(&store, document, 0, vec![edit(0, &one), edit(1, &other)]).await;
    for (number, expected) in [(1, &one), (2, &other)] {
        let found = kept("revision", store.revision(document, number).await);
        let found = found.expect("the revision is there");
        assert!(found.text.as_deref() == Some(expected), "{} bytes", expected.len());
        assert_eq!(found.info.hash, text_hash(expected));
    }
}

/// Names of documents, labels and ops are compared as they are, byte by byte.
pub(super) async fn names_may_have_any_characters(store: Store) {
    let long = "\u{0}x\u{10ffff}y".repeat(MAX_REVISION_NAME_BYTES / 7);
    let names = [
        "contract/names/a.md",
        "contract/names/A.md",
        "contract/names/a.md ",
        "contract/names/'\"%_\\.md",
        "contract/names/\u{e9}.md",
        "contract/names/e\u{301}.md",
        "contract/names/\u{0}.md",
        "contract/names/\u{10ffff}0.md",
        "contract/names/\u{1f980}\n\u{202e}.md",
        "contract@names@12",
        &long,
        "",
    ];
    for name in names {
        let revision = NewRevision { op: Some(name.to_owned()), ..edit(0, name) };
        append(&store, name, 0, vec![revision]).await;
        kept("label", store.set_label(name, name, Some(1)).await);
    }
    let documents = kept("documents", store.documents().await);
    for name in names {
        assert_eq!(shown(&store, name).await, text(1, name), "{name:?}");
        let labels = kept("labels", store.labels(name).await);
        assert_eq!(labels.into_iter().collect::<Vec<_>>(), [(name.to_owned(), 1)]);
        let found = kept("op", store.find_op(name, name, 0).await).expect("the op is found");
        assert_eq!(found.op.as_deref(), Some(name));
        let listed = documents.iter().filter(|head| head.document == name).count();
        assert_eq!(listed, 1, "{name:?}");
    }
}

/// Names of more than `MAX_REVISION_NAME_BYTES` are `Invalid`; those of exactly that length are used.
pub(super) async fn names_that_are_too_long_are_refused(store: Store) {
    let longest = "l".repeat(MAX_REVISION_NAME_BYTES);
    let too_long = format!("{longest}l");
    let of = |op: &str| vec![NewRevision { op: Some(op.to_owned()), ..edit(0, "a") }];
    is_invalid("a document", store.append(&too_long, 0, of("op")).await);
    is_invalid("an op", store.append(&longest, 0, of(&too_long)).await);
    append(&store, &longest, 0, of(&longest)).await;
    is_invalid("a label", store.set_label(&longest, &too_long, Some(1)).await);
    kept("label", store.set_label(&longest, &longest, Some(1)).await);
    is_invalid("a new name", store.rename(&longest, &too_long, 1, edit(1, "a")).await);
    assert_eq!(shown(&store, &longest).await, text(1, "a"));
    assert_eq!(head(&store, &too_long).await, None);
}
