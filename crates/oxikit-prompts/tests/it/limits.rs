//! Failing stores and disks, sizes, and memory.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use oxikit_core::ports::{NewRevision, RevisionKind, RevisionStore};
use oxikit_prompts::{NewDocument, Prompts, PromptsError, Submission};
use oxikit_wire::prompts::ErrorCode;
use serde_json::json;

use crate::kit::{Fragile, folder, open, open_on, options};

#[tokio::test]
async fn a_store_that_cannot_write_is_an_error_and_recovers() {
    let store = Arc::new(Fragile::default());
    let kit = open_on(store.clone(), &[("a.md", "one")]).await;
    let (mut ada, mut bob) = (kit.join("a").await, kit.join("a").await);
    store.is_broken.store(true, Ordering::SeqCst);
    ada.update("one two").await;
    let status = ada.receive().await;
    assert_eq!((&status["success"], &status["error"]["code"]), (&json!(false), &json!("storage")));
    assert_eq!(kit.read("a.md"), "one", "the old revision is intact");
    assert!(bob.drain().is_empty(), "nobody is told");
    store.is_broken.store(false, Ordering::SeqCst);
    ada.update("one two").await;
    assert_eq!(ada.receive().await["success"], json!(true));
    assert_eq!(bob.receive().await["content"], "one two");
    assert_eq!(kit.saved("a").await, "one two");
}

#[tokio::test]
async fn a_file_that_was_changed_while_the_store_failed_is_imported_later() {
    for is_edited_first in [false, true] {
        let store = Arc::new(Fragile::default());
        let kit = open_on(store.clone(), &[("a.md", "one")]).await;
        let mut ada = kit.join("a").await;
        store.is_broken.store(true, Ordering::SeqCst);
        kit.write("a.md", "one two");
        let error = kit.prompts.reload().await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::Storage, "{error}");
        store.is_broken.store(false, Ordering::SeqCst);
        if is_edited_first {
            ada.update("zero one").await;
        }
        kit.prompts.reload().await.unwrap();
        let text = if is_edited_first { "zero one two" } else { "one two" };
        assert_eq!(kit.read("a.md"), text);
        let texts = kit.texts("prompts/a.md").await;
        assert!(texts.contains(&"one two".to_owned()), "{texts:?}");
        ada.drain();
        assert_eq!(ada.text, text);
    }
}

/// Runs a test of this binary in a process of its own, in which files may have 8 blocks of 512 bytes.
#[cfg(unix)]
fn with_small_files(test: &str) -> bool {
    if std::env::var_os("OXIKIT_SMALL_FILES").is_some() {
        return true;
    }
    // The signal for too large files is ignored, so that writing fails with an error.
    let program = std::env::current_exe().unwrap();
    let script = format!(
        "trap '' XFSZ; ulimit -f 8; exec '{}' --exact {test} --nocapture",
        program.display()
    );
    let output = std::process::Command::new("sh")
        .args(["-c", &script])
        .env("OXIKIT_SMALL_FILES", "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
    false
}

#[cfg(unix)]
#[tokio::test]
async fn a_full_disk_is_named_keeps_the_change_in_the_history_and_recovers() {
    if !with_small_files(
        "limits::a_full_disk_is_named_keeps_the_change_in_the_history_and_recovers",
    ) {
        return;
    }
    let kit = open(&[("a.md", "one")]).await;
    let mut ada = kit.join("a").await;
    let large = "x".repeat(10_000);
    ada.update(&large).await;
    assert_eq!(ada.receive().await["success"], json!(true), "the history has room");
    let error = kit.prompts.saved("a", None).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::Storage, "{error}");
    assert_eq!(kit.read("a.md"), "one", "the old file is intact");
    assert_eq!(kit.texts("prompts/a.md").await, ["one", &large]);
    let problem = kit.prompts.problems().pop().unwrap();
    assert!(problem.message.contains("could not be written"), "{}", problem.message);
    let error = kit.prompts.submit("a", None, Submission::content(large.clone() + "x")).await;
    assert!(error.unwrap_err().to_string().contains("stored as revision 3"));
    let error = kit.prompts.create(NewDocument::new("b", large)).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::Storage, "{error}");
    assert_eq!(std::fs::read_dir(kit.path("")).unwrap().count(), 1, "no remains");
    ada.update("two").await;
    assert_eq!(ada.receive_action("update_status").await["success"], json!(true));
    assert_eq!(kit.saved("a").await, "two");
    assert!(kit.prompts.problems().is_empty());
}

#[tokio::test]
async fn contents_over_the_limit_are_refused() {
    let folder = folder(&[("a.md", "one")]);
    let mut options = options(folder.path());
    options.max_content = 100;
    let prompts = Prompts::open(options, Arc::new(Fragile::default())).await.unwrap();
    let large = "x".repeat(101);
    let error = prompts.submit("a", None, Submission::content(large.clone())).await.unwrap_err();
    assert!(matches!(error, PromptsError::TooLarge { bytes: 101, max: 100 }), "{error}");
    let error = prompts.create(NewDocument::new("b", large.clone())).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::TooLarge);
    let mut ada = crate::kit::Client::join(&prompts, "a").await;
    ada.update(&large).await;
    assert_eq!(ada.receive().await["error"]["code"], "too_large");
    ada.send(json!({ "action": "expand", "content": large })).await;
    assert_eq!(ada.receive().await["code"], "too_large");
}

#[tokio::test]
async fn a_library_that_is_read_only_refuses_changes_and_keeps_submissions() {
    let folder = folder(&[("a.md", "one")]);
    let store = Arc::new(Fragile::default());
    let mut options = options(folder.path());
    options.is_read_only = true;
    let prompts = Prompts::open(options, store.clone()).await.unwrap();
    let error = prompts.submit("a", None, Submission::content("two")).await.unwrap_err();
    assert!(matches!(error, PromptsError::ReadOnly), "{error}");
    for code in [
        prompts.create(NewDocument::new("b", "")).await.err().map(|error| error.code()),
        prompts.delete("a", None, None).await.err().map(|error| error.code()),
        prompts.set_label("a", None, "x", Some(1)).await.err().map(|error| error.code()),
    ] {
        assert_eq!(code, Some(ErrorCode::ReadOnly));
    }
    assert_eq!(crate::kit::texts(&*store, "prompts/a.md").await, ["one", "two"]);
    assert_eq!(std::fs::read_to_string(folder.path().join("prompts/a.md")).unwrap(), "one");
}

#[tokio::test(start_paused = true)]
async fn documents_that_nobody_uses_cost_no_task() {
    let folder = folder(&[("a.md", "a"), ("b.md", "b")]);
    let options = options(folder.path());
    let idle_time = options.idle_time;
    let prompts = Prompts::open(options, Arc::new(Fragile::default())).await.unwrap();
    assert_eq!(prompts.open_documents(), 0, "reading needs no task");
    let ada = crate::kit::Client::join(&prompts, "a").await;
    prompts.submit("b", None, Submission::content("c")).await.unwrap();
    assert_eq!(prompts.open_documents(), 2);
    tokio::time::sleep(3 * idle_time).await;
    assert_eq!(prompts.open_documents(), 1, "a member keeps its document open");
    drop(ada);
    tokio::time::sleep(3 * idle_time).await;
    assert_eq!(prompts.open_documents(), 0);
    prompts.submit("b", None, Submission::content("d")).await.unwrap();
    assert_eq!(prompts.find("b", None).unwrap().rev, 3);
}

#[tokio::test]
async fn closing_ends_members_with_1001_and_refuses_requests() {
    let kit = open(&[("a.md", "one")]).await;
    let mut ada = kit.join("a").await;
    let mut changes = kit.prompts.changes();
    kit.prompts.close().await;
    assert_eq!(ada.closed().await.0, 1001);
    assert_eq!(changes.next().await, None);
    let error = kit.prompts.submit("a", None, Submission::content("two")).await.unwrap_err();
    assert!(matches!(error, PromptsError::Closed), "{error}");
    ada.send(json!({ "action": "update", "content": "two" })).await;
    assert_eq!(kit.read("a.md"), "one");
}

/// The clock is paused: it goes on when nothing else is left to do, so that a read which is due is made.
#[tokio::test(start_paused = true)]
async fn only_changes_by_others_make_a_document_read_its_log() {
    let store = Arc::new(Fragile::default());
    let kit = open_on(store.clone(), &[("a.md", "0")]).await;
    let mut ada = kit.join("a").await;
    let before = store.logs_read.load(Ordering::SeqCst);
    for text in ["1", "2", "3"] {
        ada.update(text).await;
        // Longer than the document waits before it reads.
        tokio::time::sleep(Duration::from_millis(40)).await;
    }
    assert_eq!(store.logs_read.load(Ordering::SeqCst), before);

    let (newest, current) = store.head("prompts/a.md").await.unwrap().unwrap();
    let by_other = NewRevision {
        parent: current.info.number,
        kind: RevisionKind::Edit,
        author: "Bob".to_owned(),
        text: Some("4".into()),
        is_applied: true,
        op: None,
        outcome: None,
    };
    store.append("prompts/a.md", newest, vec![by_other]).await.unwrap();
    let update = ada.receive_action("update").await;
    assert_eq!((&update["content"], &update["author"]), (&json!("4"), &json!("Bob")));
}

#[tokio::test]
async fn changes_that_wait_share_a_commit() {
    let store = Arc::new(Fragile::default());
    let kit = open_on(store.clone(), &[("a.md", "0\n")]).await;
    let before = store.appends.load(Ordering::SeqCst);
    let submissions = (1..=100).map(|number| {
        let content = Submission::content(format!("0\n{number}\n"));
        kit.prompts.submit("a", None, content)
    });
    let results = futures_util::future::join_all(submissions).await;
    assert!(results.iter().all(Result::is_ok));
    let appends = store.appends.load(Ordering::SeqCst) - before;
    assert!(appends < 50, "{appends} commits for 100 submissions");
    assert_eq!(kit.texts("prompts/a.md").await.len(), 101);
}
