//! Forks, on every store that an application may have here.

use std::net::SocketAddr;
use std::sync::Arc;

use oxikit::prelude::*;
use oxikit::{Agent, FileSessions, MemorySessions, Turn};
use oxikit_core::ports::{Owner, SessionStore};
use oxikit_serve::Server;
use oxikit_sql::SqliteStore;
use oxikit_wire::AgentFinishReason;
use serde_json::{Value, json};

use super::{Topics, app};
use crate::kit::Client;

/// A server of an agent on this store.
struct Shop(SocketAddr);

impl Shop {
    async fn on(store: Arc<dyn SessionStore>) -> Self {
        let ai = Oxikit::builder().build().unwrap();
        let agent = Agent::builder("shop")
            .turn(|it: Turn<Topics>| async move {
                let text = it.text();
                it.update(|topics| topics.current_topic.clone_from(&text)).await?;
                match &*text {
                    "fail" => Err(Status::not_found("no such tea")),
                    "ask" => Ok(it.answer("which?").because(AgentFinishReason::Interrupted)),
                    _ => Ok(it.answer("done").because(AgentFinishReason::Stop)),
                }
            })
            .session_metadata(|_| serde_json::Map::from_iter([("table".to_owned(), json!(7))]))
            // The copy is made of what is kept, not of what clients see.
            .transform_state(|mut state| {
                state.custom = Some(Arc::new(json!("covered")));
                Ok(state)
            })
            .shared_store(store);
        ai.define_agent(agent).unwrap();
        let server = Server::new(&ai).agents_api().port(0).bind().await.unwrap();
        let address = server.local_addr().unwrap();
        tokio::spawn(server.run(std::future::pending()));
        Self(address)
    }

    async fn ask(&self, method: &str, path: &str, body: &str) -> (u16, Value) {
        let mut client = Client::connect(self.0).await;
        client
            .send(format!(
                "{method} /api/agents/shop{path} HTTP/1.1\r\nhost: localhost\r\n\
                 content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            ))
            .await;
        let answer = client.answer().await.unwrap();
        (answer.status, answer.json())
    }

    /// The snapshot after a turn.
    async fn say(&self, text: &str, session: &str) -> String {
        let body = json!({ "input": text, "init": { "sessionId": session } }).to_string();
        let (status, answer) = self.ask("POST", "/execute", &body).await;
        assert_eq!(status, 200, "{answer}");
        answer["result"]["snapshotId"].as_str().unwrap_or_default().to_owned()
    }

    async fn session(&self, id: &str) -> Value {
        self.ask("GET", &format!("/sessions/{id}"), "").await.1
    }

    async fn fork(&self, id: &str, snapshot: Option<&str>) -> (u16, Value) {
        let body = snapshot.map(|id| json!({ "snapshotId": id }).to_string()).unwrap_or_default();
        self.ask("POST", &format!("/sessions/{id}/fork"), &body).await
    }
}

async fn a_fork_begins_where_the_other_session_was(store: Arc<dyn SessionStore>) {
    let shop = Shop::on(store.clone()).await;
    let first = shop.say("tea", "s").await;
    let second = shop.say("ask", "s").await;
    let before = shop.session("s").await;

    let (status, forked) = shop.fork("s", Some(&first)).await;
    assert_eq!(status, 200, "{forked}");
    let session = forked["sessionId"].as_str().unwrap();
    let snapshot = forked["snapshotId"].as_str().unwrap();
    let expected = json!({
        "sessionId": session, "snapshotId": snapshot,
        "parentSessionId": "s", "parentSnapshotId": first,
    });
    assert_eq!(forked, expected);
    let copy = shop.session(session).await;
    assert_eq!(copy["threads"]["main"], json!(before["threads"]["main"].as_array().unwrap()[..2]));
    assert_eq!(copy["snapshotId"], snapshot);
    assert_eq!(copy["snapshots"].as_array().unwrap().len(), 1);
    assert_eq!(copy["snapshots"][0].get("parentId"), None);
    let notes = json!({
        "table": 7, "forkedFrom": { "sessionId": "s", "snapshotId": first },
        "snapshotId": snapshot, "snapshotCount": 1,
    });
    assert_eq!(copy["metadata"], notes);
    let kept = store.latest(&Owner::nobody(), session).await.unwrap().unwrap().snapshot;
    let state = kept.state.unwrap();
    assert_eq!(state.custom.unwrap()["currentTopic"], "tea");
    assert_eq!(state.session_id.as_deref(), Some(session));

    // Both go on, each for itself.
    shop.say("more", session).await;
    assert_eq!(shop.session(session).await["threads"]["main"].as_array().unwrap().len(), 4);
    assert_eq!(shop.session("s").await, before);

    // Without a snapshot it begins at the end, which may wait for an answer.
    let (_, forked) = shop.fork("s", None).await;
    assert_eq!(forked["parentSnapshotId"], second);
    let copy = shop.session(forked["sessionId"].as_str().unwrap()).await;
    assert_eq!((&copy["status"], &copy["finishReason"]), (&json!("active"), &json!("interrupted")));
    assert_eq!(copy["threads"], before["threads"]);

    // A fork of a session outlives it.
    shop.ask("DELETE", "/sessions/s", "").await;
    assert_eq!(shop.session(session).await["snapshots"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn in_memory() {
    a_fork_begins_where_the_other_session_was(Arc::new(MemorySessions::default())).await;
}

#[tokio::test]
async fn in_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("sessions.db")).unwrap();
    a_fork_begins_where_the_other_session_was(Arc::new(store)).await;
}

#[tokio::test]
async fn in_files() {
    let folder = tempfile::tempdir().unwrap();
    let store = FileSessions::open(folder.path()).unwrap();
    a_fork_begins_where_the_other_session_was(Arc::new(store)).await;
}

#[tokio::test]
async fn only_what_a_turn_can_go_on_from_is_forked() {
    let shop = Shop::on(Arc::new(MemorySessions::default())).await;
    let good = shop.say("tea", "s").await;
    shop.say("fail", "s").await;
    let session = shop.session("s").await;
    assert_eq!(session["snapshotStatus"], "failed");
    let failed = session["snapshotId"].as_str().unwrap();
    let (status, refused) = shop.fork("s", Some(failed)).await;
    assert_eq!((status, &refused["status"]), (400, &json!("FAILED_PRECONDITION")));
    assert!(refused["message"].as_str().unwrap().contains("failed"), "{refused}");
    // The next turn would go on from the one before, and so does the fork.
    assert_eq!(shop.fork("s", None).await.1["parentSnapshotId"], good);
    shop.say("fail", "t").await;
    let (status, refused) = shop.fork("t", None).await;
    assert_eq!((status, &refused["status"]), (400, &json!("FAILED_PRECONDITION")));
    // A snapshot of another session is none of this one.
    for unknown in ["none", &good] {
        assert_eq!(shop.fork("t", Some(unknown)).await.0, 404, "{unknown}");
    }
}

#[tokio::test]
async fn work_that_goes_on_is_not_forked() {
    let mut app = app().await;
    let turn = app.say("support", "hello", json!({ "sessionId": "s" })).await;
    let first = turn["snapshotId"].clone();
    let pending = app.detach("wait", "s").await;
    app.started.recv().await;
    for body in [String::new(), json!({ "snapshotId": pending }).to_string()] {
        let answer = app.ask("POST", "/support/sessions/s/fork", "", &body).await;
        answer.assert_error(400, "FAILED_PRECONDITION");
        assert!(answer.text().contains("pending"), "{answer:?}");
    }
    let body = json!({ "snapshotId": first }).to_string();
    let answer = app.ask("POST", "/support/sessions/s/fork", "", &body).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    app.go_on.notify_one();
}
