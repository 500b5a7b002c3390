//! A checker that finds nothing proves nothing: each fault is made once.

use std::sync::Arc;
use std::time::Duration;

use oxikit::{Agent, MemorySessions, Oxikit};
use oxikit_core::ports::SnapshotWrite;
use oxikit_wire::SessionSnapshot;
use serde_json::json;

use super::*;
use crate::counter;

/// A session of three turns, and what its client has seen.
struct Three {
    agent: Agent,
    store: Arc<MemorySessions>,
    seen: Vec<Seen>,
}

impl Three {
    async fn turns() -> Self {
        let store = Arc::new(MemorySessions::default());
        let ai = Oxikit::builder().build().unwrap();
        let agent = ai.define_agent(counter::agent(store.clone(), Duration::ZERO)).unwrap();
        let mut three = Self { agent, store, seen: Vec::new() };
        for token in ["a", "b", "c"] {
            let seen = three.say(token, None).await;
            three.seen.push(seen);
        }
        three
    }

    /// A turn on this snapshot, or on the newest.
    async fn say(&self, token: &str, from: Option<&str>) -> Seen {
        let mut chat = match from {
            Some(snapshot) => self.agent.chat().from_snapshot(snapshot),
            None => self.agent.chat().in_session("s"),
        };
        let reply = chat.send(token).await.unwrap();
        Seen {
            session: "s".to_owned(),
            client: 0,
            token: token.to_owned(),
            text: reply.text(),
            snapshot: chat.snapshot_id().unwrap().to_owned(),
            from: from.map(ToOwned::to_owned),
        }
    }

    /// Changes the stored snapshot of a turn behind the agent's back.
    async fn tamper(&self, turn: usize, change: impl Fn(&mut SessionSnapshot) + Send + Sync) {
        let owner = Owner::nobody();
        let write = SnapshotWrite::new(&owner, counter::NAME, "s", &self.seen[turn].snapshot);
        let update = |current: Option<&SessionSnapshot>| {
            let mut snapshot = current.cloned().unwrap();
            change(&mut snapshot);
            Ok(Some(snapshot))
        };
        self.store.save(write, &update).await.unwrap();
    }

    /// How much is lost, unreadable and mixed.
    async fn findings(&self) -> [usize; 3] {
        let found = check(&*self.store, "s", &self.seen).await;
        assert_eq!(found.faults.is_empty(), found.is_good());
        [found.lost, found.unreadable, found.mixed]
    }
}

#[tokio::test]
async fn whole_sessions_are_good() {
    let mut three = Three::turns().await;
    assert_eq!(three.findings().await, [0, 0, 0]);
    // A turn whose answer never came.
    three.say("d", None).await;
    assert_eq!(three.findings().await, [0, 0, 0]);
    // The client that goes on from what it has seen makes a branch.
    let last = three.seen[2].snapshot.clone();
    let seen = three.say("e", Some(&last)).await;
    three.seen.push(seen);
    assert_eq!(three.findings().await, [0, 0, 0]);
}

#[tokio::test]
async fn an_acknowledged_turn_that_is_not_there_is_lost() {
    let mut three = Three::turns().await;
    three.seen[1].snapshot = "gone".to_owned();
    assert_eq!(three.findings().await, [1, 0, 0]);
    three.store.delete(&Owner::nobody(), "s").await.unwrap();
    assert_eq!(three.findings().await, [3, 1, 0]);
}

#[tokio::test]
async fn another_content_than_was_seen_is_mixed() {
    let mut three = Three::turns().await;
    three.seen[1].text = "2 is for somebody else".to_owned();
    assert_eq!(three.findings().await, [0, 0, 1]);
}

#[tokio::test]
async fn a_branch_where_all_went_on_from_the_newest_is_mixed() {
    let three = Three::turns().await;
    let first = three.seen[0].snapshot.clone();
    three.say("d", Some(&first)).await;
    assert_eq!(three.findings().await, [0, 0, 1]);
}

#[tokio::test]
async fn half_a_turn_is_mixed() {
    let three = Three::turns().await;
    three
        .tamper(2, |snapshot| {
            let messages = snapshot.state.as_mut().unwrap().messages.as_mut().unwrap();
            messages.pop();
        })
        .await;
    // It is not a turn, so what was acknowledged is not there, and the end is not one.
    assert_eq!(three.findings().await, [1, 1, 2]);
}

#[tokio::test]
async fn a_number_that_is_left_out_is_mixed() {
    let three = Three::turns().await;
    let count = json!({ "count": 7, "token": "c" });
    three
        .tamper(2, |snapshot| {
            snapshot.state.as_mut().unwrap().custom = Some(Arc::new(count.clone()));
        })
        .await;
    assert!(three.findings().await[2] > 0);
}

#[tokio::test]
async fn a_message_of_an_earlier_turn_that_has_changed_is_mixed() {
    let three = Three::turns().await;
    three
        .tamper(2, |snapshot| {
            let messages = snapshot.state.as_mut().unwrap().messages.as_mut().unwrap();
            messages.swap(0, 2);
        })
        .await;
    assert!(three.findings().await[2] > 0);
}
