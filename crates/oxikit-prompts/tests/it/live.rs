//! Several clients edit a document at the same time.

use std::time::Duration;

use oxikit_prompts::{Base, OnConflict, PromptsError, RevisionName, Submission};
use serde_json::json;

use crate::kit::{Client, actions, open, open_on, sqlite};

#[tokio::test]
async fn two_plain_clients_that_edit_different_paragraphs_keep_both_edits_and_end_equal() {
    let folder = tempfile::tempdir().unwrap();
    let kit = open_on(sqlite(folder.path()), &[("a.md", "One.\n\nTwo.\n")]).await;
    let (mut ada, mut bob) = (kit.join("a").await, kit.join("a").await);
    tokio::join!(ada.update("One, by Ada.\n\nTwo.\n"), bob.update("One.\n\nTwo, by Bob.\n"));
    ada.drain();
    bob.drain();
    assert_eq!(ada.text, "One, by Ada.\n\nTwo, by Bob.\n");
    assert_eq!(bob.text, ada.text);
    assert_eq!(kit.saved("a").await, ada.text);
    let texts = kit.texts("prompts/a.md").await;
    for sent in ["One, by Ada.\n\nTwo.\n", "One.\n\nTwo, by Bob.\n"] {
        assert!(texts.iter().any(|text| text == sent), "{sent:?} is in {texts:?}");
    }
}

#[tokio::test]
async fn the_sender_gets_a_status_and_the_others_get_the_content() {
    let kit = open(&[("a.md", "one")]).await;
    let (mut ada, mut bob) = (kit.join("a").await, kit.join("a").await);
    ada.update("one two").await;
    let status = ada.drain();
    assert_eq!(actions(&status), ["update_status"]);
    assert_eq!((&status[0]["success"], &status[0]["rev"]), (&json!(true), &json!(2)));
    assert_eq!(status[0]["merged"], json!(false));
    let update = bob.receive().await;
    assert_eq!((&update["action"], &update["content"]), (&json!("update"), &json!("one two")));
    assert_eq!(
        (&update["rev"], &update["base_rev"], &update["reason"]),
        (&json!(2), &json!(1), &json!("edit"))
    );
    assert_eq!(update["hash"], status[0]["hash"]);
    assert_eq!(kit.saved("a").await, "one two");
}

#[tokio::test]
async fn a_merged_sender_gets_the_status_first_and_then_the_merged_text() {
    let kit = open(&[("a.md", "one two")]).await;
    let (mut ada, mut bob) = (kit.join("a").await, kit.join("a").await);
    ada.update("zero one two").await;
    // Bob has not read Ada's change.
    bob.update("one two three").await;
    let messages = bob.drain();
    assert_eq!(actions(&messages), ["update_status", "update"]);
    assert_eq!(messages[0]["merged"], json!(true));
    assert_eq!(bob.text, "zero one two three");
    ada.drain();
    assert_eq!(ada.text, bob.text);
}

#[tokio::test]
async fn metadata_are_told_complete_and_keep_the_content() {
    let kit = open(&[("a.md", "---\ntags: [x]\n# kept\n---\none")]).await;
    let (mut ada, mut bob) = (kit.join("a").await, kit.join("a").await);
    ada.send(json!({ "action": "update_metadata", "description": "Jokes", "tags": null })).await;
    assert_eq!(actions(&ada.drain()), ["update_status"]);
    let message = bob.receive().await;
    assert_eq!(message["action"], "update_metadata");
    assert_eq!((&message["description"], &message["tags"]), (&json!("Jokes"), &json!(["x"])));
    assert_eq!(message["prompt_type"], "standard");
    assert_eq!(kit.saved("a").await, "---\ntags: [x]\n# kept\ndescription: Jokes\n---\none");
    ada.send(json!({ "action": "update_metadata", "description": "", "tags": [] })).await;
    let message = bob.receive().await;
    assert_eq!((&message["description"], &message["tags"]), (&json!(null), &json!([])));
    assert_eq!(kit.kinds("prompts/a.md").await, ["external", "metadata", "metadata"]);
}

#[tokio::test]
async fn the_metadata_of_a_dotprompt_file_are_part_of_its_content() {
    let kit = open(&[("a.prompt", "---\nmodel: x\n---\nHi")]).await;
    let (mut ada, mut bob) = (kit.join("a").await, kit.join("a").await);
    ada.send(json!({ "action": "update_metadata", "description": "D" })).await;
    assert_eq!(actions(&ada.drain()), ["update_status", "update"]);
    assert_eq!(ada.text, "---\nmodel: x\ndescription: D\n---\nHi");
    assert_eq!(actions(&bob.drain()), ["update", "update_metadata"]);
    bob.update("---\nmodel: x\ndescription: E\n---\nHi").await;
    let messages = ada.drain();
    assert_eq!(actions(&messages), ["update", "update_metadata"]);
    assert_eq!(messages[1]["description"], "E");
}

#[tokio::test]
async fn expansion_uses_the_text_as_it_was_sent_and_answers_in_order() {
    let kit = open(&[("a.md", ""), ("tone.md", "Be kind.")]).await;
    let mut ada = kit.join("a").await;
    ada.update("x").await;
    let ask = json!({ "action": "expand", "content": "[[tone]] [[a]] [[none]]", "op": "7" });
    ada.send(ask).await;
    let messages = ada.drain();
    assert_eq!(actions(&messages), ["update_status", "expanded"]);
    let expanded = &messages[1];
    assert_eq!(expanded["expanded"], "Be kind. [[SELF-REFERENCE: a]] [[PROMPT NOT FOUND: none]]");
    assert_eq!((&expanded["dependencies"], &expanded["op"]), (&json!(["tone"]), &json!("7")));
    assert_eq!(expanded["warnings"].as_array().unwrap().len(), 2);
    assert_eq!(expanded["spans"], json!([{ "start": 0, "end": 8, "id": "tone" }]));
    assert_eq!(expanded["revs"], json!({ "tone": 1 }));
}

#[tokio::test]
async fn clients_that_say_hello_get_patches_presence_and_changes_of_what_they_include() {
    let kit = open(&[("a.md", "[[tone]] one"), ("tone.md", "Be kind.")]).await;
    let (mut ada, mut bob) = (kit.join("a").await, kit.join("a").await);
    let hello = json!({ "action": "hello", "client": "Ada" });
    ada.send(hello).await;
    let welcome = ada.receive().await;
    assert_eq!((&welcome["action"], &welcome["rev"]), (&json!("welcome"), &json!(1)));
    bob.update("[[tone]] one 😀 two").await;
    let patched = ada.receive_action("patched").await;
    assert_eq!(patched["ops"], json!([["keep", 12], ["insert", " 😀 two"]]));
    assert_eq!((&patched["base_rev"], &patched["rev"]), (&json!(1), &json!(2)));
    // Counts are UTF-16 units: the emoji has two.
    let ops = json!([["keep", 13], ["delete", 2], ["insert", "!"], ["keep", 4]]);
    ada.send(json!({ "action": "patch", "base_rev": 2, "ops": ops, "op": "1" })).await;
    let status = ada.receive_action("update_status").await;
    assert_eq!((&status["success"], &status["op"]), (&json!(true), &json!("1")));
    bob.drain();
    assert_eq!(bob.text, "[[tone]] one ! two");
    assert_eq!(kit.prompts.history("a", None, None, 1).await.unwrap()[0].author, "Ada");

    ada.send(json!({ "action": "presence", "cursor": 3 })).await;
    let presence = ada.receive_action("presence").await;
    assert_eq!(presence["clients"][0]["name"], "Ada");
    assert_eq!(presence["clients"].as_array().unwrap().len(), 1, "plain clients are not shown");

    let change = Submission::content("Be brief.");
    kit.prompts.submit("tone", None, change).await.unwrap();
    let changed = ada.receive_action("dependency_changed").await;
    assert_eq!((&changed["id"], &changed["rev"]), (&json!("tone"), &json!(2)));
    assert!(bob.drain().is_empty(), "a plain client is not told");
}

#[tokio::test]
async fn steps_always_fit_the_text_that_was_acknowledged() {
    let kit = open(&[("a.md", "one")]).await;
    let (mut ada, mut bob) = (kit.join("a").await, kit.join("a").await);
    ada.send(json!({ "action": "hello", "client": "Ada" })).await;
    ada.receive_action("welcome").await;
    // Both are stored together: the second one is merged with the first.
    let first = json!({ "action": "update", "content": "one two", "base_rev": 1 });
    let second = json!({ "action": "update", "content": "zero one" });
    tokio::join!(ada.send(first), bob.send(second));
    let status = ada.receive_action("update_status").await;
    assert_eq!((&status["rev"], &status["merged"]), (&json!(2), &json!(false)));
    // Steps from revision 1 would not fit the text of revision 2, which the client has now.
    let update = ada.receive().await;
    assert_eq!((&update["action"], &update["content"]), (&json!("update"), &json!("zero one two")));
    bob.update("zero one two three").await;
    let patched = ada.receive_action("patched").await;
    assert_eq!(patched["base_rev"], update["rev"]);
}

#[tokio::test]
async fn history_and_restore_work_over_the_connection() {
    let kit = open(&[("a.md", "one")]).await;
    let (mut ada, mut bob) = (kit.join("a").await, kit.join("a").await);
    ada.update("two").await;
    ada.send(json!({ "action": "history", "limit": 1, "op": "h" })).await;
    ada.send(json!({ "action": "restore", "rev": 1, "author": "Ada" })).await;
    ada.send(json!({ "action": "restore", "rev": 99 })).await;
    let messages = ada.drain();
    assert_eq!(
        actions(&messages),
        ["update_status", "history", "update_status", "update", "update_status"]
    );
    assert_eq!(messages[1]["revisions"][0]["rev"], json!(2));
    assert_eq!((ada.text.as_str(), &messages[3]["reason"]), ("one", &json!("restore")));
    assert_eq!(messages[4]["error"]["code"], "not_found");
    bob.drain();
    assert_eq!(bob.text, "one");
    assert_eq!(kit.saved("a").await, "one");
}

#[tokio::test]
async fn the_same_op_makes_one_revision_and_gets_the_same_answer() {
    let folder = tempfile::tempdir().unwrap();
    let kit = open_on(sqlite(folder.path()), &[("a.md", "one two")]).await;
    let mut ada = kit.join("a").await;
    kit.prompts.submit("a", None, Submission::content("zero one two")).await.unwrap();
    let edit = json!({ "action": "update", "content": "one two three", "base_rev": 1, "op": "x1" });
    ada.send(edit.clone()).await;
    let first = ada.receive_action("update_status").await;
    ada.drain();
    let count = kit.texts("prompts/a.md").await.len();
    ada.send(edit.clone()).await;
    assert_eq!(ada.receive_action("update_status").await, first);
    // Also over another way, and after a crash.
    let mut submission = Submission::content("one two three").with_base(Base::Rev(1)).with_op("x1");
    submission.author = Some("Bob".to_owned());
    let again = kit.prompts.submit("a", None, submission.clone()).await.unwrap();
    assert_eq!(
        (json!(again.rev), json!(again.hash)),
        (first["rev"].clone(), first["hash"].clone())
    );
    drop(ada);
    let kit = kit.crash().await;
    assert_eq!(kit.prompts.submit("a", None, submission).await.unwrap(), again);
    assert_eq!(kit.texts("prompts/a.md").await.len(), count);
    assert_eq!(kit.read("a.md"), "zero one two three");
}

#[tokio::test]
async fn an_op_of_a_refused_submission_is_refused_again() {
    let kit = open(&[("a.md", "one two")]).await;
    kit.prompts.submit("a", None, Submission::content("one 2")).await.unwrap();
    let mut submission = Submission::content("one TWO").with_base(Base::Rev(1)).with_op("x");
    submission.on_conflict = OnConflict::Reject;
    let first = kit.prompts.submit("a", None, submission.clone()).await.unwrap_err();
    assert!(matches!(first, PromptsError::Conflict { .. }), "{first}");
    let second = kit.prompts.submit("a", None, submission).await.unwrap_err();
    assert_eq!(second.code(), first.code());
    assert_eq!(kit.kinds("prompts/a.md").await, ["external", "edit", "refused"]);
}

#[tokio::test]
async fn if_match_with_an_old_revision_is_refused_and_logged() {
    let kit = open(&[("a.md", "one")]).await;
    kit.prompts.submit("a", None, Submission::content("two")).await.unwrap();
    let mut stale = Submission::content("three");
    stale.expected_rev = Some(1);
    match kit.prompts.submit("a", None, stale.clone()).await.unwrap_err() {
        PromptsError::Changed { document } => {
            assert_eq!((document.rev, document.content()), (2, "two"))
        }
        error => panic!("{error}"),
    }
    assert_eq!(kit.texts("prompts/a.md").await.last().unwrap(), "three", "what was sent is kept");
    assert_eq!(kit.read("a.md"), "two");
    stale.expected_rev = Some(2);
    assert_eq!(kit.prompts.submit("a", None, stale).await.unwrap().rev, 4);
}

#[tokio::test]
async fn a_client_that_asks_not_to_merge_gets_the_current_content() {
    let kit = open(&[("a.md", "one two")]).await;
    let mut ada = kit.join("a").await;
    kit.prompts.submit("a", None, Submission::content("one 2")).await.unwrap();
    let edit = json!({
        "action": "update", "content": "one TWO", "base_rev": 1, "on_conflict": "reject",
    });
    ada.drain();
    ada.send(edit).await;
    let messages = ada.drain();
    assert_eq!(actions(&messages), ["update_status", "update"]);
    assert_eq!(messages[0]["error"]["code"], "conflict");
    assert_eq!((ada.text.as_str(), &messages[1]["rev"]), ("one 2", &json!(2)));
}

#[tokio::test]
async fn a_deleted_document_closes_its_members_and_keeps_late_submissions() {
    let kit = open(&[("a.md", "one"), ("fragments/f.md", "f")]).await;
    let mut ada = kit.join("a").await;
    let mut bob = kit.join("f").await;
    kit.prompts.delete("a", None, Some("Bob")).await.unwrap();
    kit.prompts.delete("f", None, None).await.unwrap();
    assert_eq!(ada.closed().await, (4004, "Prompt 'a' not found".to_owned()));
    assert_eq!(bob.closed().await, (4004, "Fragment 'f' not found".to_owned()));
    assert!(!kit.path("a.md").exists());
    ada.send(json!({ "action": "update", "content": "late" })).await;
    let error = kit.prompts.submit("a", None, Submission::content("later")).await.unwrap_err();
    assert!(matches!(error, PromptsError::NotFound { .. }), "{error}");
    assert_eq!(kit.texts("prompts/a.md").await, ["one", "", "late", "later"]);
    assert_eq!(kit.kinds("prompts/a.md").await, ["external", "delete", "refused", "refused"]);

    let document = kit.prompts.undelete("a", None, None).await.unwrap();
    assert_eq!((document.content(), document.rev), ("one", 5));
    assert_eq!(kit.read("a.md"), "one");
    let error = kit.prompts.undelete("a", None, None).await.unwrap_err();
    assert!(matches!(error, PromptsError::Exists(_)), "{error}");
    let late = kit.prompts.restore("a", None, &RevisionName::Number(3), None).await.unwrap();
    assert_eq!(late.content(), "late");
}

#[tokio::test]
async fn a_reader_that_stops_changes_nothing_for_the_others() {
    let kit = open(&[("a.md", "0")]).await;
    let stalled = kit.join("a").await;
    let mut readers = Vec::new();
    for _ in 0..200 {
        readers.push(kit.join("a").await);
    }
    let mut writer = kit.join("a").await;
    let mut slowest = Duration::ZERO;
    for edit in 1..=50 {
        let began = std::time::Instant::now();
        writer.update(&edit.to_string()).await;
        slowest = slowest.max(began.elapsed());
        for reader in &mut readers {
            assert_eq!(reader.receive().await["content"], edit.to_string());
        }
    }
    assert!(slowest < Duration::from_secs(2), "{slowest:?}");
    let mut stalled = stalled;
    assert_eq!(actions(&stalled.drain()), ["update"], "one message waits for it");
    assert_eq!(stalled.text, "50");
}

#[tokio::test]
async fn many_editors_at_once_lose_nothing_and_end_equal() {
    let folder = tempfile::tempdir().unwrap();
    let kit = open_on(sqlite(folder.path()), &[("a.md", "start\n")]).await;
    let mut clients = Vec::new();
    for _ in 0..20 {
        clients.push(kit.join("a").await);
    }
    let edits = clients.into_iter().enumerate().map(|(number, mut client)| async move {
        for edit in 0..5 {
            client.drain();
            let content = format!("{}word-{number}-{edit}\n", client.text);
            client.update(&content).await;
        }
        client
    });
    let mut clients: Vec<Client> = futures_util::future::join_all(edits).await;
    let last = kit.saved("a").await;
    for client in &mut clients {
        client.drain();
        assert_eq!(client.text, last);
    }
    for number in 0..20 {
        for edit in 0..5 {
            let word = format!("word-{number}-{edit}\n");
            assert_eq!(last.matches(&word).count(), 1, "{word} in {last}");
        }
    }
}
