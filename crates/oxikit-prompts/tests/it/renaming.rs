//! Documents get other ids while clients have them open and others include them.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use oxikit_core::ports::RevisionStore;
use oxikit_prompts::{NewDocument, PromptsError, Rename};
use serde_json::json;

use crate::kit::{Fragile, actions, open, open_on};

fn with_references(old: &str, new: &str) -> Rename {
    let mut rename = Rename::new(old, new);
    rename.updates_references = true;
    rename
}

#[tokio::test]
async fn live_clients_follow_a_rename_and_save_to_the_new_file() {
    let kit = open(&[("tone.md", "Be kind."), ("joke.md", "[[tone]] Joke.")]).await;
    let (mut ada, mut bob) = (kit.join("tone").await, kit.join("tone").await);
    ada.send(json!({ "action": "hello" })).await;
    ada.drain();
    let renamed = kit.prompts.rename(with_references("tone", "voices/style")).await.unwrap();
    assert_eq!((renamed.document.id.as_str(), renamed.old_id.as_str()), ("style", "tone"));
    assert_eq!(renamed.updated, ["joke"]);
    assert_eq!(kit.read("joke.md"), "[[style]] Joke.");
    assert!(!kit.path("tone.md").exists());
    assert_eq!(ada.receive_action("renamed").await["id"], "style");
    assert!(bob.drain().is_empty(), "a plain client is not told");
    bob.update("Be very kind.").await;
    assert_eq!(actions(&bob.drain()), ["update_status"]);
    kit.saved("style").await;
    assert_eq!(kit.read("voices/style.md"), "Be very kind.");
    assert!(!kit.path("tone.md").exists());
    assert_eq!(bob.member.document().id, "style");
    let kinds = kit.kinds("prompts/voices/style.md").await;
    assert_eq!(kinds, ["external", "rename", "edit"], "the history goes along");
    assert!(kit.texts("prompts/tone.md").await.is_empty());
}

#[tokio::test]
async fn a_rename_onto_an_existing_file_is_refused_and_changes_nothing() {
    let files = [("a.md", "a"), ("b.md", "b"), ("c.md", "[[a]]"), ("notes.txt", "x")];
    let kit = open(&files).await;
    std::fs::write(kit.path("hidden.md"), [0xff]).unwrap();
    let before = (kit.texts("prompts/a.md").await, kit.texts("prompts/c.md").await);
    for taken in ["b", "hidden"] {
        let error = kit.prompts.rename(with_references("a", taken)).await.unwrap_err();
        assert!(matches!(error, PromptsError::Exists(_)), "{taken}: {error}");
    }
    for refused in ["all", "../x", "_a"] {
        kit.prompts.rename(with_references("a", refused)).await.unwrap_err();
    }
    let error = kit.prompts.rename(Rename::new("none", "x")).await.unwrap_err();
    assert!(matches!(error, PromptsError::NotFound { .. }), "{error}");
    assert_eq!((kit.texts("prompts/a.md").await, kit.texts("prompts/c.md").await), before);
    assert_eq!(
        (kit.read("a.md"), kit.read("b.md"), kit.read("c.md")),
        ("a".into(), "b".into(), "[[a]]".into())
    );
    assert_eq!(std::fs::read(kit.path("hidden.md")).unwrap(), [0xff]);
}

#[tokio::test]
async fn references_are_rewritten_in_all_documents_or_in_none() {
    let store = Arc::new(Fragile::default());
    let files = [
        ("a.md", "text"),
        ("u1.md", "[[a]] one"),
        ("u2.prompt", "---\nmatrix: [[a]]\n---\n[[a.md]] [[a@1]] two"),
        ("u3.md", "three [[a]]"),
    ];
    let kit = open_on(store.clone(), &files).await;
    let texts =
        |kit: &crate::kit::Kit| ["a.md", "u1.md", "u2.prompt", "u3.md"].map(|path| kit.read(path));
    let before = texts(&kit);
    let mut ada = kit.join("u1").await;
    // The third document cannot be stored.
    store.fails_at.store(3, Ordering::SeqCst);
    kit.prompts.rename(with_references("a", "b")).await.unwrap_err();
    assert_eq!(texts(&kit), before);
    assert_eq!(kit.prompts.find("a", None).unwrap().content(), "text");
    ada.drain();
    assert_eq!(ada.text, "[[a]] one");
    let renamed = kit.prompts.rename(with_references("a", "b")).await.unwrap();
    assert_eq!(renamed.updated, ["u1", "u2", "u3"]);
    assert_eq!(kit.read("u1.md"), "[[b]] one");
    assert_eq!(kit.read("u2.prompt"), "---\nmatrix: [[a]]\n---\n[[b.md]] [[b@1]] two");
    assert_eq!(kit.read("u3.md"), "three [[b]]");
    ada.drain();
    assert_eq!(ada.text, "[[b]] one");
}

#[tokio::test]
async fn a_failed_rewrite_is_taken_back() {
    let kit = open(&[("a.md", "text"), ("u1.md", "[[a]]"), ("u2.md", "[[a]]")]).await;
    // The second document cannot be written: its file is torn.
    std::fs::write(kit.path("u2.md"), [0xff]).unwrap();
    kit.prompts.rename(with_references("a", "b")).await.unwrap_err();
    assert_eq!((kit.read("a.md"), kit.read("u1.md")), ("text".to_owned(), "[[a]]".to_owned()));
    assert_eq!(kit.kinds("prompts/u1.md").await, ["external"]);
}

#[tokio::test]
async fn a_name_is_written_so_that_it_means_the_renamed_document() {
    let files = [("a.md", "text"), ("x/user.md", "[[a]]"), ("x/b.md", "another b")];
    let kit = open(&files).await;
    let error = kit.prompts.rename(with_references("a", "b")).await.unwrap_err();
    assert!(matches!(error, PromptsError::Exists(_)), "the id `b` is that of another: {error}");
    kit.prompts.rename(with_references("a", "y/b")).await.unwrap();
    assert_eq!(kit.read("x/user.md"), "[[y/b]]");
    let user = kit.prompts.find("user", None).unwrap();
    let expansion = kit.prompts.expand(Some(&user), user.content()).await;
    assert_eq!(expansion.text, "text");
}

#[tokio::test]
async fn a_rename_may_change_content_and_metadata_and_reuse_the_id_of_a_deleted_document() {
    let kit = open(&[("a.md", "one"), ("b.md", "old b")]).await;
    kit.prompts.delete("b", None, None).await.unwrap();
    let mut rename = Rename::new("a", "my b").clone();
    rename.content = Some("two".to_owned());
    rename.metadata.description = Some("D".to_owned());
    let renamed = kit.prompts.rename(rename).await.unwrap();
    assert_eq!(
        renamed.sanitized_message.as_deref(),
        Some("The name 'my b' was changed to 'my_b'.")
    );
    assert_eq!(kit.read("my_b.md"), "---\ndescription: D\n---\ntwo");
    kit.prompts.rename(Rename::new("my_b", "b")).await.unwrap();
    assert_eq!(kit.prompts.find("b", None).unwrap().content(), "two");
    let kit = kit.crash().await;
    assert_eq!(kit.prompts.list(None).len(), 1);
    assert_eq!(kit.prompts.find("b", None).unwrap().content(), "two");
    // The deleted document's log is kept under another name.
    let kept = kit.store.documents().await.unwrap();
    assert!(kept.iter().any(|head| head.document.starts_with("prompts/b.md~")), "{kept:?}");
}

#[tokio::test]
async fn a_new_document_may_change_the_ids_of_others() {
    let kit = open(&[("x/a.md", "one")]).await;
    let mut ada = kit.join("a").await;
    ada.send(json!({ "action": "hello" })).await;
    ada.drain();
    kit.prompts.create(NewDocument::new("y/a", "two")).await.unwrap();
    assert_eq!(ada.receive_action("renamed").await["id"], "x/a");
    assert_eq!(ada.member.document().id, "x/a");
    let error = kit.prompts.find("a", None).unwrap_err();
    assert!(matches!(error, PromptsError::Ambiguous { .. }), "{error}");
    let store: &dyn RevisionStore = &*kit.store;
    assert_eq!(store.documents().await.unwrap().len(), 2);
}
