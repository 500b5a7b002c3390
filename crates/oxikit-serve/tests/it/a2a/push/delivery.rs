//! Receivers that fail, and webhooks that are removed.

use oxikit_core::Registry;
use oxikit_serve::Server;
use serde_json::json;
use tokio::sync::oneshot;

use super::receiver::{Reaction, Receiver};
use super::{app_with_push, push, send_with, stores};
use crate::a2a::kit::{for_task, message, serve};

#[tokio::test]
async fn a_failed_notification_is_repeated_and_not_overtaken() {
    let (app, mut receiver) = (app_with_push().await, Receiver::new().await);
    for reaction in [
        Reaction::Answer(500),
        Reaction::Answer(302),
        Reaction::Close,
        Reaction::Answer(200),
        Reaction::Answer(404),
    ] {
        receiver.then(reaction);
    }
    let params = send_with(message("chunks"), json!({ "url": receiver.url() }));
    app.call("SendMessage", params).await;
    let all = receiver.take(9).await;
    let numbers: Vec<_> = all.iter().map(|received| received.delivery().1).collect();
    assert_eq!(numbers, [1, 1, 1, 1, 2, 2, 3, 4, 5]);
    assert_eq!(all[0].json(), all[3].json(), "a repeated notification is the same");
    receiver.assert_no_more();
}

#[tokio::test]
async fn a_receiver_that_was_away_is_told_everything_when_it_is_back() {
    let (app, mut receiver) = (app_with_push().await, Receiver::new().await);
    receiver.set_away(true);
    let params = send_with(message("chunks"), json!({ "url": receiver.url() }));
    app.call("SendMessage", params).await;
    receiver.wait_for_connections(3).await;
    receiver.assert_no_more();
    receiver.set_away(false);
    let all = receiver.take(5).await;
    let numbers: Vec<_> = all.iter().map(|received| received.delivery().1).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5]);
}

#[tokio::test]
async fn a_webhook_is_given_up_after_the_last_retry() {
    for (store, _folder) in stores() {
        let push = push().max_retries(2);
        let set = |server: Server| server.push_notifications(push);
        let app = serve(store, &Registry::default(), set).await;
        let [mut dead, mut living] = [Receiver::new().await, Receiver::new().await];
        for _ in 0..3 {
            dead.then(Reaction::Answer(500));
        }
        let task = app.send(message("ask")).await;
        let create = async |id: &str, receiver: &Receiver| {
            let params = json!({ "taskId": task["id"], "id": id, "url": receiver.url() });
            app.call("CreateTaskPushNotificationConfig", params).await
        };
        create("dead", &dead).await;
        create("living", &living).await;
        app.send(for_task(message("ask"), &task)).await;
        living.take(2).await;
        let numbers: Vec<_> = dead.take(3).await.iter().map(|it| it.delivery().1).collect();
        assert_eq!(numbers, [3, 3, 3]);
        // Later events do not begin anew, until the client registers the webhook again.
        app.send(for_task(message("ask"), &task)).await;
        living.take(2).await;
        create("dead", &dead).await;
        app.send(for_task(message("hello"), &task)).await;
        assert_eq!(dead.next().await.delivery().1, 7);
    }
}

#[tokio::test]
async fn a_dead_receiver_does_not_slow_the_task_and_is_called_once_at_a_time() {
    let (app, mut receiver) = (app_with_push().await, Receiver::new().await);
    let (answer, answered) = oneshot::channel();
    receiver.then(Reaction::AnswerLater(answered));
    let params = send_with(message("chunks"), json!({ "url": receiver.url() }));
    let task = app.call("SendMessage", params).await["result"]["task"].clone();
    assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED");
    assert_eq!(receiver.next().await.delivery().1, 1);
    // The other four events are stored, and wait for the answer to the first one.
    let mut other = Receiver::new().await;
    let params = send_with(message("hello"), json!({ "url": other.url() }));
    app.call("SendMessage", params).await;
    other.take(3).await;
    assert_eq!(receiver.connections(), 1);
    receiver.assert_no_more();
    answer.send(200).unwrap();
    let all = receiver.take(4).await;
    assert_eq!(all.iter().map(|it| it.delivery().1).collect::<Vec<_>>(), [2, 3, 4, 5]);
}

#[tokio::test]
async fn a_removed_webhook_is_not_called() {
    let app = app_with_push().await;
    let [mut removed, mut kept] = [Receiver::new().await, Receiver::new().await];
    let task = app.send(message("ask")).await;
    for (id, receiver) in [("removed", &removed), ("kept", &kept)] {
        let params = json!({ "taskId": task["id"], "id": id, "url": receiver.url() });
        app.call("CreateTaskPushNotificationConfig", params).await;
    }
    let params = json!({ "taskId": task["id"], "id": "removed" });
    app.call("DeleteTaskPushNotificationConfig", params).await;
    app.send(for_task(message("hello"), &task)).await;
    kept.take(3).await;
    removed.assert_no_more();
    assert_eq!(removed.connections(), 0);
}

#[tokio::test]
async fn a_webhook_that_is_removed_during_a_delivery_gets_no_more() {
    let (app, mut receiver) = (app_with_push().await, Receiver::new().await);
    let (answer, answered) = oneshot::channel();
    receiver.then(Reaction::AnswerLater(answered));
    let params = send_with(message("chunks"), json!({ "url": receiver.url() }));
    let task = app.call("SendMessage", params).await["result"]["task"].clone();
    receiver.next().await;
    let params = json!({ "taskId": task["id"], "id": "default" });
    app.call("DeleteTaskPushNotificationConfig", params).await;
    answer.send(200).unwrap();
    let mut other = Receiver::new().await;
    let params = send_with(message("hello"), json!({ "url": other.url() }));
    app.call("SendMessage", params).await;
    other.take(3).await;
    receiver.assert_no_more();
    assert_eq!(receiver.connections(), 1);
}
