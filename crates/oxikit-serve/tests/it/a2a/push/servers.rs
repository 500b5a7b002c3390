//! Several servers with one store, at the same time and one after the other.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use oxikit_core::Registry;
use oxikit_core::ports::{DuePush, TaskStore};
use oxikit_serve::{Limits, Server};
use oxikit_sql::SqliteStore;
use serde_json::json;
use tokio::sync::oneshot;

use super::receiver::{Reaction, Receiver};
use super::{push, send_with, server_of, stores};
use crate::a2a::kit::{for_task, message, serve};
use crate::kit::PATIENCE;

#[tokio::test]
async fn two_servers_deliver_each_event_once_and_in_order() {
    for (store, _folder) in stores() {
        let (one, two) = (server_of(&store).await, server_of(&store).await);
        let mut receiver = Receiver::new().await;
        let mut positions = HashMap::new();
        for app in [&one, &two].into_iter().cycle().take(20) {
            let params = send_with(message("chunks"), json!({ "url": receiver.url() }));
            let sent = app.call("SendMessage", params).await;
            let id = sent["result"]["task"]["id"].as_str().unwrap().to_owned();
            positions.insert(id, 0);
        }
        for _ in 0..20 * 5 {
            let received = receiver.next().await;
            let (task, number, _) = received.delivery();
            let position = positions.get_mut(task).unwrap();
            assert_eq!(number, *position + 1, "{task}");
            *position = number;
        }
        assert!(positions.values().all(|position| *position == 5));
        receiver.assert_no_more();
    }
}

#[tokio::test]
async fn the_next_server_goes_on_where_the_last_one_stopped() {
    for (store, _folder) in stores() {
        let mut receiver = Receiver::new().await;
        let (answer, answered) = oneshot::channel();
        receiver.then(Reaction::Answer(200));
        receiver.then(Reaction::AnswerLater(answered));
        let first = server_of(&store).await;
        let params = send_with(message("chunks"), json!({ "url": receiver.url() }));
        first.call("SendMessage", params).await;
        assert_eq!(receiver.take(2).await[1].delivery().1, 2);
        // The request that is under way may end; the events behind it are left to the next server.
        first.stop().await;
        answer.send(200).unwrap();
        let _second = server_of(&store).await;
        let all = receiver.take(3).await;
        assert_eq!(all.iter().map(|it| it.delivery().1).collect::<Vec<_>>(), [3, 4, 5]);
        receiver.assert_no_more();
    }
}

#[tokio::test]
async fn the_claims_of_a_server_that_has_died_are_taken_over() {
    for (store, _folder) in stores() {
        let mut receiver = Receiver::new().await;
        // A server without push notifications makes the task, so that nobody delivers yet. Its
        // registration comes from one that has them, but is stopped.
        let registering = server_of(&store).await;
        let task = registering.send(message("ask")).await;
        let params = json!({ "taskId": task["id"], "url": receiver.url() });
        registering.call("CreateTaskPushNotificationConfig", params).await;
        registering.stop().await;
        let silent = serve(store.clone(), &Registry::default(), |server| server).await;
        silent.send(for_task(message("hello"), &task)).await;
        // This one has claimed the webhook, and is never heard of again.
        store.renew("dead").await.unwrap();
        assert_eq!(store.claim_pushes("dead", 10).await.unwrap().len(), 1);
        let _next = server_of(&store).await;
        let all = receiver.take(3).await;
        assert_eq!(all.iter().map(|it| it.delivery().1).collect::<Vec<_>>(), [3, 4, 5]);
    }
}

#[tokio::test]
async fn a_notification_that_the_shutdown_cuts_is_left_to_the_next_server() {
    for (store, _folder) in stores() {
        let mut receiver = Receiver::new().await;
        let (_answer, answered) = oneshot::channel();
        receiver.then(Reaction::AnswerLater(answered));
        let mut limits = Limits::default();
        limits.drain_time = Duration::from_millis(1);
        let set = |server: Server| server.push_notifications(push()).limits(limits);
        let first = serve(store.clone(), &Registry::default(), set).await;
        let params = send_with(message("hello"), json!({ "url": receiver.url() }));
        first.call("SendMessage", params).await;
        assert_eq!(receiver.next().await.delivery().1, 1);
        first.stop().await;
        // No server is left that could find the first one dead: it has given the webhook back itself.
        let due = claimed(&store).await;
        assert_eq!((due.delivered, due.attempts), (0, 0), "the cut does not count as a failure");
        store.release_push("probe", &due, 0, 0, Duration::ZERO).await.unwrap();
        let _second = server_of(&store).await;
        let all = receiver.take(3).await;
        assert_eq!(all.iter().map(|it| it.delivery().1).collect::<Vec<_>>(), [1, 2, 3]);
    }
}

#[tokio::test]
async fn a_failed_notification_is_repeated_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let open = || SqliteStore::open(folder.path().join("app.db")).unwrap();
    let mut receiver = Receiver::new().await;
    {
        let store: Arc<dyn TaskStore> = Arc::new(open());
        let (answer, answered) = oneshot::channel();
        receiver.then(Reaction::Answer(200));
        receiver.then(Reaction::AnswerLater(answered));
        let first = server_of(&store).await;
        let params = send_with(message("chunks"), json!({ "url": receiver.url() }));
        first.call("SendMessage", params).await;
        assert_eq!(receiver.take(2).await[1].delivery().1, 2);
        first.stop().await;
        answer.send(500).unwrap();
        let due = claimed(&store).await;
        assert_eq!((due.delivered, due.attempts), (1, 1), "the failure is stored");
        store.release_push("probe", &due, 1, 1, Duration::ZERO).await.unwrap();
    }
    let store: Arc<dyn TaskStore> = Arc::new(open());
    let _second = server_of(&store).await;
    let all = receiver.take(4).await;
    assert_eq!(all.iter().map(|it| it.delivery().1).collect::<Vec<_>>(), [2, 3, 4, 5]);
}

/// Claims the webhook when the server that is stopping has given it back.
async fn claimed(store: &Arc<dyn TaskStore>) -> DuePush {
    let claimed = async {
        loop {
            match store.claim_pushes("probe", 1).await.unwrap().pop() {
                Some(due) => return due,
                None => tokio::time::sleep(Duration::from_millis(1)).await,
            }
        }
    };
    tokio::time::timeout(PATIENCE, claimed).await.unwrap()
}
