//! Other programs change the files while the library is open.

use std::time::Duration;

use oxikit_prompts::{Prompts, PromptsError, RevisionName, Submission};
use serde_json::json;

use crate::kit::{Client, actions, folder, open, options, sqlite};

#[tokio::test]
async fn a_file_that_changes_while_a_client_types_loses_neither_change() {
    let kit = open(&[("a.md", "One.\n\nTwo.\n")]).await;
    let mut ada = kit.join("a").await;
    kit.write("a.md", "One.\n\nTwo, by an editor.\n");
    ada.update("One, by Ada.\n\nTwo.\n").await;
    let saved = kit.saved("a").await;
    ada.drain();
    assert_eq!(ada.text, "One, by Ada.\n\nTwo, by an editor.\n");
    assert_eq!(saved, ada.text);
    assert_eq!(kit.kinds("prompts/a.md").await, ["external", "edit", "external", "merge"]);
}

#[tokio::test]
async fn changes_by_other_programs_reach_the_clients_by_themselves() {
    let folder = folder(&[("a.md", "one")]);
    let mut options = options(folder.path());
    options.watch_interval = Duration::from_millis(20);
    let prompts = Prompts::open(options, sqlite(folder.path())).await.unwrap();
    let mut ada = Client::join(&prompts, "a").await;
    std::fs::write(folder.path().join("prompts/a.md"), "one, changed").unwrap();
    let update = ada.receive_action("update").await;
    assert_eq!((&update["reason"], &update["author"]), (&json!("external"), &json!("file")));
    assert_eq!(ada.text, "one, changed");

    let mut changes = prompts.changes();
    std::fs::write(folder.path().join("prompts/b.md"), "new").unwrap();
    while changes.next().await.unwrap().id.as_deref() != Some("b") {}
    assert_eq!(prompts.find("b", None).unwrap().content(), "new");
    std::fs::remove_file(folder.path().join("prompts/a.md")).unwrap();
    assert_eq!(ada.closed().await.0, 4004);
    assert!(prompts.find("a", None).is_err());
    prompts.close().await;
}

#[tokio::test]
async fn a_change_of_the_front_matter_by_another_program_is_told_as_metadata() {
    let kit = open(&[("a.md", "one")]).await;
    let mut ada = kit.join("a").await;
    kit.write("a.md", "---\ndescription: D\n---\none");
    kit.prompts.reload().await.unwrap();
    let messages = ada.drain();
    assert_eq!(actions(&messages), ["update_metadata"]);
    assert_eq!(messages[0]["description"], "D");
    ada.update("two").await;
    assert_eq!(kit.saved("a").await, "---\ndescription: D\n---\ntwo");
}

#[tokio::test]
async fn a_program_that_replaces_the_file_in_steps_deletes_nothing() {
    let kit = open(&[("a.md", "one")]).await;
    let ada = kit.join("a").await;
    // An editor removes the file before it writes the new one.
    std::fs::remove_file(kit.path("a.md")).unwrap();
    kit.prompts.reload().await.unwrap();
    assert!(kit.prompts.find("a", None).is_ok(), "it may come back");
    kit.write("a.md", "two");
    kit.prompts.reload().await.unwrap();
    assert_eq!(kit.prompts.find("a", None).unwrap().content(), "two");
    drop(ada);
    std::fs::remove_file(kit.path("a.md")).unwrap();
    kit.prompts.reload().await.unwrap();
    kit.prompts.reload().await.unwrap();
    assert!(kit.prompts.find("a", None).is_err(), "it stays away");
    assert_eq!(kit.kinds("prompts/a.md").await, ["external", "external", "delete"]);
    kit.write("a.md", "three");
    kit.prompts.reload().await.unwrap();
    assert_eq!(kit.prompts.find("a", None).unwrap().rev, 4, "the history goes on");
}

#[tokio::test]
async fn a_client_that_types_while_the_file_is_removed_keeps_its_text() {
    let kit = open(&[("a.md", "one")]).await;
    let mut ada = kit.join("a").await;
    std::fs::remove_file(kit.path("a.md")).unwrap();
    ada.update("one two").await;
    assert_eq!(kit.saved("a").await, "one two");
    assert_eq!(ada.drain()[0]["success"], json!(true));
}

#[tokio::test]
async fn many_changes_from_both_sides_lose_no_word() {
    let kit = open(&[("a.md", "client:\n\neditor:\n")]).await;
    let mut ada = kit.join("a").await;
    for round in 0..30 {
        let text = kit.saved("a").await;
        ada.drain();
        let typed = text.replacen("client:\n", &format!("client:\nada-{round}\n"), 1);
        let saved = text.replacen("editor:\n", &format!("editor:\nfile-{round}\n"), 1);
        kit.write("a.md", &saved);
        ada.update(&typed).await;
        ada.drain();
    }
    let last = kit.saved("a").await;
    ada.drain();
    assert_eq!(ada.text, last);
    for round in 0..30 {
        assert!(last.contains(&format!("ada-{round}\n")), "{round}: {last}");
        assert!(last.contains(&format!("file-{round}\n")), "{round}: {last}");
    }
}

#[tokio::test]
async fn one_torn_file_of_a_hundred_is_named_and_the_others_are_served() {
    let names: Vec<String> = (0..100).map(|number| format!("p{number}.md")).collect();
    let files: Vec<_> = names.iter().map(|name| (name.as_str(), "text")).collect();
    let folder = folder(&files);
    std::fs::write(folder.path().join("prompts/p7.md"), [b't', 0xe2, 0x82]).unwrap();
    let prompts = Prompts::open(options(folder.path()), sqlite(folder.path())).await.unwrap();
    assert_eq!(prompts.list(None).len(), 99);
    let problems = prompts.problems();
    assert_eq!(problems.len(), 1);
    assert_eq!(problems[0].key, "prompts/p7.md");
    assert!(problems[0].message.contains("not UTF-8"), "{}", problems[0].message);
    std::fs::write(folder.path().join("prompts/p7.md"), "whole again").unwrap();
    prompts.reload().await.unwrap();
    assert_eq!(prompts.find("p7", None).unwrap().content(), "whole again");
    assert!(prompts.problems().is_empty());
}

#[tokio::test]
async fn a_file_that_is_torn_later_is_served_from_the_history_and_not_overwritten() {
    let kit = open(&[("a.md", "one"), ("b.md", "b")]).await;
    std::fs::write(kit.path("a.md"), [0xff, 0xfe]).unwrap();
    kit.prompts.reload().await.unwrap();
    let document = kit.prompts.find("a", None).unwrap();
    assert_eq!(document.content(), "one");
    assert!(document.problem.as_deref().unwrap().contains("not UTF-8"));
    let error = kit.prompts.submit("a", None, Submission::content("two")).await.unwrap_err();
    assert!(matches!(error, PromptsError::File(_)), "{error}");
    assert_eq!(std::fs::read(kit.path("a.md")).unwrap(), [0xff, 0xfe]);
    assert_eq!(kit.texts("prompts/a.md").await, ["one", "two"], "what was sent is kept");
    kit.prompts.submit("b", None, Submission::content("c")).await.unwrap();
    // An old revision repairs it.
    kit.prompts.restore("a", None, &RevisionName::Number(2), None).await.unwrap();
    assert_eq!(kit.read("a.md"), "two");
    assert!(kit.prompts.problems().is_empty());
    assert_eq!(kit.prompts.find("a", None).unwrap().problem, None);
}

#[tokio::test]
async fn a_directory_that_cannot_be_read_deletes_nothing() {
    let kit = open(&[("a.md", "one")]).await;
    let moved = kit.folder.path().join("moved");
    std::fs::rename(kit.folder.path().join("prompts"), &moved).unwrap();
    kit.prompts.reload().await.unwrap();
    kit.prompts.reload().await.unwrap();
    assert_eq!(kit.prompts.find("a", None).unwrap().content(), "one");
    assert_eq!(kit.prompts.problems()[0].key, "prompts");
    let error = kit.prompts.submit("a", None, Submission::content("two")).await.unwrap_err();
    assert_eq!(error.code(), oxikit_wire::prompts::ErrorCode::Storage, "{error}");
    std::fs::rename(&moved, kit.folder.path().join("prompts")).unwrap();
    kit.prompts.reload().await.unwrap();
    kit.prompts.submit("a", None, Submission::content("two")).await.unwrap();
    assert_eq!(kit.read("a.md"), "two");
    assert!(kit.prompts.problems().is_empty());
}
