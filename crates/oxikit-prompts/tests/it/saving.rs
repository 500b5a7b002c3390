//! The file is written after a change of a member is acknowledged, and changes are written together.
//!
//! The time of these tests is virtual: it stands still between an acknowledgement and the next wait,
//! so that a write that is not due yet does not begin.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use oxikit_core::ports::{NewRevision, RevisionKind};
use oxikit_prompts::Submission;
use serde_json::json;

use crate::kit::{Client, Kit, open};

/// A change of the document.
const LAST: &str = "One, first and last.\n\nTwo.\n";

/// A document whose file was written just now, so that the next write has to wait.
async fn written_just_now() -> (Kit, Client) {
    let kit = open(&[("a.md", "One.\n\nTwo.\n")]).await;
    let mut ada = kit.join("a").await;
    ada.update("One, first.\n\nTwo.\n").await;
    assert_eq!(kit.saved("a").await, ada.text);
    ada.drain();
    (kit, ada)
}

#[tokio::test(start_paused = true)]
async fn a_change_is_in_the_history_before_the_file_which_catches_up_by_itself() {
    let (kit, mut ada) = written_just_now().await;
    ada.update(LAST).await;
    assert_eq!(ada.drain()[0]["success"], json!(true));
    assert_eq!(kit.read("a.md"), "One, first.\n\nTwo.\n", "the file waits");
    assert_eq!(kit.texts("prompts/a.md").await.last().unwrap(), LAST);
    tokio::time::sleep(Duration::from_millis(150)).await;
    assert_eq!(kit.read("a.md"), LAST);
}

#[tokio::test(start_paused = true)]
async fn a_single_change_is_written_at_once() {
    let kit = open(&[("a.md", "one")]).await;
    let mut ada = kit.join("a").await;
    ada.update("two").await;
    tokio::time::sleep(Duration::from_millis(5)).await;
    assert_eq!(kit.read("a.md"), "two");
}

#[tokio::test(start_paused = true)]
async fn a_program_that_saves_the_file_before_a_change_is_written_loses_nothing() {
    let (kit, mut ada) = written_just_now().await;
    ada.update(LAST).await;
    kit.write("a.md", "One, first.\n\nTwo, by an editor.\n");
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(kit.read("a.md"), "One, first and last.\n\nTwo, by an editor.\n");
    ada.drain();
    assert_eq!(ada.text, kit.read("a.md"));
    let kinds = kit.kinds("prompts/a.md").await;
    assert_eq!(kinds, ["external", "edit", "edit", "external", "merge"]);
}

#[tokio::test(start_paused = true)]
async fn a_program_that_breaks_the_file_before_a_change_is_written_is_not_overwritten() {
    let (kit, mut ada) = written_just_now().await;
    ada.update(LAST).await;
    std::fs::write(kit.path("a.md"), [0xff, 0xfe]).unwrap();
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(std::fs::read(kit.path("a.md")).unwrap(), [0xff, 0xfe]);
    assert!(kit.prompts.problems()[0].message.contains("not UTF-8"));
    // An old revision repairs it.
    ada.send(json!({ "action": "restore", "rev": 1 })).await;
    assert_eq!(kit.saved("a").await, "One.\n\nTwo.\n");
    assert!(kit.prompts.problems().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_change_that_is_not_written_yet_is_written_when_the_library_is_closed() {
    let (kit, mut ada) = written_just_now().await;
    ada.update(LAST).await;
    kit.prompts.close().await;
    assert_eq!(kit.read("a.md"), LAST);
}

#[tokio::test(start_paused = true)]
async fn a_change_that_is_not_written_yet_is_written_when_its_task_ends() {
    let (kit, mut ada) = written_just_now().await;
    ada.update(LAST).await;
    drop(ada);
    tokio::time::sleep(3 * kit.prompts.options().idle_time).await;
    assert_eq!((kit.prompts.open_documents(), kit.read("a.md")), (0, LAST.to_owned()));

    let (kit, mut ada) = written_just_now().await;
    ada.update(LAST).await;
    kit.prompts.remove_directory("prompts").await.unwrap();
    assert_eq!(ada.closed().await.0, 4004);
    tokio::time::sleep(Duration::from_millis(5)).await;
    assert_eq!(kit.read("a.md"), LAST);
}

#[tokio::test(start_paused = true)]
async fn callers_without_a_connection_find_the_file_written() {
    let (kit, mut ada) = written_just_now().await;
    ada.update("two").await;
    kit.prompts.submit("a", None, Submission::content("three")).await.unwrap();
    assert_eq!(kit.read("a.md"), "three");
    ada.drain();
    ada.update("four").await;
    kit.prompts.rename(oxikit_prompts::Rename::new("a", "b")).await.unwrap();
    assert_eq!(kit.read("b.md"), "four");
    ada.update("five").await;
    kit.prompts.delete("b", None, None).await.unwrap();
    assert!(!kit.path("b.md").exists());
}

#[tokio::test(start_paused = true)]
async fn changes_in_quick_succession_are_written_together() {
    let (kit, mut ada) = written_just_now().await;
    let mut writes = 0;
    for number in 0..100 {
        let before = kit.read("a.md");
        ada.update(&format!("{}{number}\n", ada.text)).await;
        tokio::time::sleep(Duration::from_millis(10)).await;
        ada.drain();
        writes += usize::from(kit.read("a.md") != before);
    }
    assert!((5..=12).contains(&writes), "{writes} writes in a second");
    assert_eq!(kit.saved("a").await, ada.text);
    assert_eq!(kit.texts("prompts/a.md").await.len(), 102, "the history has all of them");
}

#[tokio::test(start_paused = true)]
async fn the_file_shows_the_time_of_its_revision() {
    let (kit, _ada) = written_just_now().await;
    let document = kit.prompts.find("a", None).unwrap();
    let modified = std::fs::metadata(kit.path("a.md")).unwrap().modified().unwrap();
    let millis = modified.duration_since(UNIX_EPOCH).unwrap().as_millis();
    assert_eq!(millis, u128::try_from(document.updated_at).unwrap());
}

#[tokio::test]
async fn a_file_that_was_behind_when_the_process_was_killed_is_brought_up_to_date() {
    let kit = open(&[("a.md", "one")]).await;
    let edit = |parent, text: &str| NewRevision {
        parent,
        kind: RevisionKind::Edit,
        author: String::new(),
        text: Some(text.into()),
        is_applied: true,
        op: None,
        outcome: None,
    };
    let infos = kit.store.append("prompts/a.md", 1, vec![edit(1, "two")]).await.unwrap();
    kit.store.append("prompts/a.md", 2, vec![edit(2, "three"), edit(3, "four")]).await.unwrap();
    // The file of the first change was written after the last change was stored.
    let file = std::fs::File::create(kit.path("a.md")).unwrap();
    std::io::Write::write_all(&mut &file, b"two").unwrap();
    let at = Duration::from_millis(u64::try_from(infos[0].at).unwrap());
    file.set_modified((UNIX_EPOCH + at).min(SystemTime::now())).unwrap();
    let kit = kit.crash().await;
    assert_eq!(kit.read("a.md"), "four");
    assert_eq!(kit.kinds("prompts/a.md").await, ["external", "edit", "edit", "edit"]);
}
