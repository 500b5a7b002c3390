//! Several instances on one store, each with files of its own.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use oxikit_core::ports::RevisionStore;
use oxikit_core::ports::memory::MemoryRevisions;
use oxikit_prompts::{NewDocument, Prompts, Rename, Submission};
use serde_json::json;

use crate::kit::{Client, folder, options, texts};

async fn instance(folder: &Path, store: &Arc<dyn RevisionStore>) -> Prompts {
    let mut options = options(folder);
    options.is_shared = true;
    Prompts::open(options, store.clone()).await.unwrap()
}

/// Waits until a condition holds. The instances are told by the store; nobody else could tell us.
async fn until(what: &str, holds: impl Fn() -> bool) {
    for _ in 0..1000 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("never: {what}");
}

#[tokio::test]
async fn rooms_of_two_instances_hear_each_other() {
    let store: Arc<dyn RevisionStore> = Arc::new(MemoryRevisions::default());
    let (here, there) = (folder(&[("a.md", "One.\n\nTwo.\n")]), folder(&[]));
    let one = instance(here.path(), &store).await;
    let two = instance(there.path(), &store).await;
    let read = |folder: &Path| std::fs::read_to_string(folder.join("prompts/a.md")).unwrap();
    assert_eq!(read(there.path()), "One.\n\nTwo.\n", "its file is written by the other instance");
    let (mut ada, mut bob) = (Client::join(&one, "a").await, Client::join(&two, "a").await);
    ada.update("One, by Ada.\n\nTwo.\n").await;
    assert_eq!(bob.receive_action("update").await["rev"], json!(2));
    assert_eq!(bob.text, "One, by Ada.\n\nTwo.\n");
    // Both at the same time.
    tokio::join!(
        ada.update("One, by Ada.\n\nTwo.\n\nThree.\n"),
        bob.update("One, by Ada.\n\nTwo, by Bob.\n"),
    );
    let merged = "One, by Ada.\n\nTwo, by Bob.\n\nThree.\n";
    while ada.text != merged {
        ada.receive().await;
    }
    while bob.text != merged {
        bob.receive().await;
    }
    until("both files are equal", || read(here.path()) == merged && read(there.path()) == merged)
        .await;
    let texts = texts(&*store, "prompts/a.md").await;
    assert!(texts.contains(&"One, by Ada.\n\nTwo, by Bob.\n".to_owned()));
}

#[tokio::test]
async fn documents_that_nobody_has_open_are_made_changed_renamed_and_deleted_everywhere() {
    let store: Arc<dyn RevisionStore> = Arc::new(MemoryRevisions::default());
    let (here, there) = (folder(&[]), folder(&[]));
    let one = instance(here.path(), &store).await;
    let two = instance(there.path(), &store).await;
    let path = |name: &str| there.path().join("prompts").join(name);
    one.create(NewDocument::new("a", "one")).await.unwrap();
    until("it is made", || path("a.md").exists() && two.find("a", None).is_ok()).await;
    one.submit("a", None, Submission::content("two")).await.unwrap();
    until("it is changed", || {
        std::fs::read_to_string(path("a.md")).is_ok_and(|text| text == "two")
    })
    .await;
    let mut bob = Client::join(&two, "a").await;
    bob.send(json!({ "action": "hello" })).await;
    one.rename(Rename::new("a", "b")).await.unwrap();
    assert_eq!(bob.receive_action("renamed").await["id"], "b", "members follow");
    until("its file is renamed", || path("b.md").exists() && !path("a.md").exists()).await;
    bob.send(json!({ "action": "update", "content": "three", "base_rev": 3 })).await;
    until("the other one has it", || {
        one.find("b", None).is_ok_and(|document| document.content() == "three")
    })
    .await;
    one.delete("b", None, None).await.unwrap();
    assert_eq!(bob.closed().await.0, 4004);
    until("it is deleted", || !path("b.md").exists() && two.list(None).is_empty()).await;
}

#[tokio::test]
async fn many_edits_on_two_instances_lose_nothing() {
    let store: Arc<dyn RevisionStore> = Arc::new(MemoryRevisions::default());
    let (here, there) = (folder(&[("a.md", "one:\n\ntwo:\n")]), folder(&[]));
    let instances = [instance(here.path(), &store).await, instance(there.path(), &store).await];
    let edit = |prompts: Prompts, name: &'static str| async move {
        let mut client = Client::join(&prompts, "a").await;
        for round in 0..25 {
            client.drain();
            let line = format!("{name}:\n");
            let text = client.text.replacen(&line, &format!("{line}{name}-{round}\n"), 1);
            client.update(&text).await;
        }
        client
    };
    let [one, two] = instances.clone();
    let (mut one, mut two) = tokio::join!(edit(one, "one"), edit(two, "two"));
    let (newest, head) = store.head("prompts/a.md").await.unwrap().unwrap();
    assert!(newest >= 51);
    let last = head.text.unwrap();
    for client in [&mut one, &mut two] {
        while client.text != *last {
            client.receive().await;
        }
    }
    for name in ["one", "two"] {
        for round in 0..25 {
            let word = format!("{name}-{round}\n");
            assert_eq!(last.matches(&word).count(), 1, "{word}: {last}");
        }
    }
}
