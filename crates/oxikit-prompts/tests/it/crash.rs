//! A process may be killed at any moment: what was acknowledged is found again.

use oxikit_core::ports::{NewRevision, RevisionKind};
use oxikit_prompts::{NewDocument, Prompts, Rename, Submission};
use serde_json::json;

use crate::kit::{Kit, folder, open, open_on, options, sqlite};

fn revision(parent: u64, kind: RevisionKind, text: Option<&str>) -> NewRevision {
    let text = text.map(Into::into);
    NewRevision {
        parent,
        kind,
        author: String::new(),
        text,
        is_applied: true,
        op: None,
        outcome: None,
    }
}

#[tokio::test]
async fn every_acknowledged_text_is_in_the_history_after_a_crash() {
    let database = tempfile::tempdir().unwrap();
    let mut kit = open_on(sqlite(database.path()), &[("a.md", "start")]).await;
    let mut acknowledged = Vec::new();
    for round in 0..10 {
        let mut ada = kit.join("a").await;
        let text = format!("start {round}");
        ada.update(&text).await;
        assert_eq!(ada.receive_action("update_status").await["success"], json!(true));
        acknowledged.push(text);
        drop(ada);
        // Everything is dropped without being closed, also the database.
        let Kit { folder, store, prompts } = kit;
        drop((prompts, store));
        let store = sqlite(database.path());
        let prompts = Prompts::open(options(folder.path()), store.clone()).await.unwrap();
        kit = Kit { folder, store, prompts };
        assert_eq!(kit.read("a.md"), *acknowledged.last().unwrap());
        assert_eq!(kit.prompts.find("a", None).unwrap().rev, round + 2, "numbers continue");
    }
    let texts = kit.texts("prompts/a.md").await;
    assert!(acknowledged.iter().all(|text| texts.contains(text)), "{texts:?}");
}

#[tokio::test]
async fn a_revision_that_was_stored_but_not_written_is_written_at_the_next_start() {
    let kit = open(&[("a.md", "one")]).await;
    let edit = vec![revision(1, RevisionKind::Edit, Some("two"))];
    kit.store.append("prompts/a.md", 1, edit).await.unwrap();
    let kit = kit.crash().await;
    assert_eq!(kit.read("a.md"), "two");
    assert_eq!(kit.prompts.find("a", None).unwrap().rev, 2);
    assert_eq!(kit.kinds("prompts/a.md").await, ["external", "edit"], "nothing was imported");
}

#[tokio::test]
async fn a_creation_and_a_deletion_that_were_not_finished_are_finished() {
    let kit = open(&[("a.md", "one")]).await;
    let created = vec![revision(0, RevisionKind::Edit, Some("new"))];
    kit.store.append("prompts/b.md", 0, created.clone()).await.unwrap();
    kit.store.append("prompts/c.md", 0, created).await.unwrap();
    let deleted = vec![revision(1, RevisionKind::Delete, None)];
    kit.store.append("prompts/a.md", 1, deleted).await.unwrap();
    // What the next start writes to the folder is newer than what was stored.
    tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    let kit = kit.crash().await;
    assert_eq!((kit.read("b.md"), kit.read("c.md")), ("new".to_owned(), "new".to_owned()));
    assert!(!kit.path("a.md").exists());
    assert!(kit.prompts.find("a", None).is_err());
    assert_eq!(kit.prompts.list(None).len(), 2);
}

#[tokio::test]
async fn a_file_that_was_edited_after_a_crash_keeps_both_changes() {
    let kit = open(&[("a.md", "one two three")]).await;
    let edit = vec![revision(1, RevisionKind::Edit, Some("zero one two three"))];
    kit.store.append("prompts/a.md", 1, edit).await.unwrap();
    kit.write("a.md", "one two three four");
    let kit = kit.crash().await;
    assert_eq!(kit.read("a.md"), "zero one two three four");
    assert_eq!(kit.kinds("prompts/a.md").await, ["external", "edit", "external", "merge"]);
}

#[tokio::test]
async fn an_imported_file_whose_merge_was_not_written_is_not_imported_again() {
    let kit = open(&[("a.md", "one two three")]).await;
    // Both edits of the same moment were stored, but the file still has only one of them.
    kit.write("a.md", "one two three file");
    let edit = revision(1, RevisionKind::Edit, Some("edit one two three"));
    let external = NewRevision {
        is_applied: false,
        ..revision(1, RevisionKind::External, Some("one two three file"))
    };
    let merge = revision(2, RevisionKind::Merge, Some("edit one two three file"));
    // The clock of the store counts milliseconds, and the file is older than its import.
    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    kit.store.append("prompts/a.md", 1, vec![edit, external, merge]).await.unwrap();
    let kit = kit.crash().await;
    assert_eq!(kit.read("a.md"), "edit one two three file");
    assert_eq!(kit.prompts.find("a", None).unwrap().rev, 4);
    assert_eq!(kit.kinds("prompts/a.md").await, ["external", "edit", "external", "merge"]);
}

#[tokio::test]
async fn an_old_version_that_was_put_back_while_nobody_looked_stays() {
    let kit = open(&[("a.md", "one")]).await;
    kit.prompts.submit("a", None, Submission::content("two")).await.unwrap();
    let Kit { folder, store, prompts } = kit;
    prompts.close().await;
    // The clock of the file system has steps of a few milliseconds.
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(1);
    let file = std::fs::File::create(folder.path().join("prompts/a.md")).unwrap();
    std::io::Write::write_all(&mut &file, b"one").unwrap();
    file.set_modified(later).unwrap();
    let prompts = Prompts::open(options(folder.path()), store.clone()).await.unwrap();
    assert_eq!(prompts.find("a", None).unwrap().content(), "one");
    let kit = Kit { folder, store, prompts };
    assert_eq!(kit.kinds("prompts/a.md").await, ["external", "edit", "external"]);
}

#[tokio::test]
async fn a_rename_that_was_not_finished_is_finished_with_its_references() {
    let files = [("tone.md", "Be kind."), ("joke.md", "[[tone]] Joke."), ("tea.md", "Tea.")];
    let kit = open(&files).await;
    let plan = json!({
        "from": "prompts/tone.md",
        "rewrites": [{ "key": "prompts/joke.md", "old": "tone", "new": "style" }],
    });
    let renamed = NewRevision {
        outcome: Some(plan.to_string()),
        ..revision(1, RevisionKind::Rename, Some("Be kind."))
    };
    kit.store.rename("prompts/tone.md", "prompts/style.md", 1, renamed).await.unwrap();
    let kit = kit.crash().await;
    assert!(!kit.path("tone.md").exists());
    assert_eq!(kit.read("style.md"), "Be kind.");
    assert_eq!(kit.read("joke.md"), "[[style]] Joke.");
    assert_eq!(kit.kinds("prompts/style.md").await, ["external", "rename"]);
    assert_eq!(kit.prompts.list(None).len(), 3);
}

#[tokio::test]
async fn a_file_that_was_removed_while_nobody_looked_is_a_deleted_document() {
    let kit = open(&[("a.md", "one")]).await;
    let Kit { folder, store, prompts } = kit;
    prompts.close().await;
    std::fs::remove_file(folder.path().join("prompts/a.md")).unwrap();
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(1);
    std::fs::File::open(folder.path().join("prompts")).unwrap().set_modified(later).unwrap();
    let prompts = Prompts::open(options(folder.path()), store.clone()).await.unwrap();
    assert!(prompts.list(None).is_empty());
    let document = prompts.undelete("a", None, None).await.unwrap();
    assert_eq!(document.content(), "one");
}

#[tokio::test]
async fn temporary_files_of_a_killed_process_are_no_documents() {
    let folder = folder(&[("a.md", "one")]);
    std::fs::write(folder.path().join("prompts/.0123.oxikit-tmp"), "half").unwrap();
    let store = sqlite(folder.path());
    let prompts = Prompts::open(options(folder.path()), store).await.unwrap();
    assert_eq!(prompts.list(None).len(), 1);
    assert!(prompts.problems().is_empty());
}

#[tokio::test]
async fn documents_that_were_made_and_renamed_are_found_again() {
    let database = tempfile::tempdir().unwrap();
    let kit = open_on(sqlite(database.path()), &[]).await;
    kit.prompts.create(NewDocument::new("one", "text")).await.unwrap();
    kit.prompts.set_label("one", None, "production", Some(1)).await.unwrap();
    kit.prompts.rename(Rename::new("one", "two")).await.unwrap();
    let kit = kit.crash().await;
    let document = kit.prompts.find("two", None).unwrap();
    assert_eq!((document.content(), document.rev), ("text", 2));
    assert!(document.created_at <= document.updated_at && document.created_at > 0);
    assert_eq!(kit.prompts.labels("two", None).await.unwrap()["production"], 1);
    assert!(kit.prompts.find("one", None).is_err());
}
