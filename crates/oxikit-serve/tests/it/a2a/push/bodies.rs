//! What a receiver is sent, in both versions.

use aws_lc_rs::hmac;
use serde_json::{Value, json};

use super::receiver::Receiver;
use super::{app_with_push, push, send_with, send_with_v0_3};
use crate::a2a::kit::{app_with, for_task, message, message_v0_3};

#[tokio::test]
async fn a_receiver_of_1_0_is_told_every_event_in_order() {
    let (app, mut receiver) = (app_with_push().await, Receiver::new().await);
    let params = send_with(message("chunks"), json!({ "url": receiver.url() }));
    let task = app.call("SendMessage", params).await["result"]["task"].clone();
    let id = task["id"].as_str().unwrap();
    let all = receiver.take(5).await;
    for (received, number) in all.iter().zip(1..) {
        assert_eq!(received.delivery(), (id, number, id));
        assert_eq!(received.header("content-type"), Some("application/a2a+json"));
        assert_eq!(received.json().as_object().unwrap().len(), 1);
    }
    let bodies: Vec<_> = all.iter().map(|received| received.json()).collect();
    let first = &bodies[0]["task"];
    assert_eq!((&first["id"], &first["contextId"]), (&task["id"], &task["contextId"]));
    assert_eq!(first["status"]["state"], "TASK_STATE_SUBMITTED");
    let text = |body: &Value| body["artifactUpdate"]["artifact"]["parts"][0]["text"].clone();
    assert_eq!([text(&bodies[1]), text(&bodies[2]), text(&bodies[3])], ["one ", "two ", "three"]);
    assert_eq!(bodies[3]["artifactUpdate"]["lastChunk"], true);
    let last = &bodies[4]["statusUpdate"];
    assert_eq!((&last["taskId"], &last["contextId"]), (&task["id"], &task["contextId"]));
    assert_eq!(last["status"]["state"], "TASK_STATE_COMPLETED");
}

#[tokio::test]
async fn a_receiver_of_0_3_is_sent_the_task_with_each_status_and_whole_artifact() {
    let (app, mut receiver) = (app_with_push().await, Receiver::new().await);
    let params = send_with_v0_3(message_v0_3("chunks"), json!({ "url": receiver.url() }));
    let task = app.call("message/send", params).await["result"].clone();
    let id = task["id"].as_str().unwrap();
    let all = receiver.take(3).await;
    for (received, number) in all.iter().zip([1, 4, 5]) {
        assert_eq!(received.delivery(), (id, number, id));
        assert_eq!(received.header("content-type"), Some("application/json"));
        assert_eq!(received.json()["kind"], "task");
    }
    assert_eq!(all[0].json()["status"]["state"], "submitted");
    assert!(all[0].json().get("artifacts").is_none());
    assert_eq!(all[1].json()["artifacts"][0]["parts"].as_array().unwrap().len(), 3);
    assert_eq!(all[2].json(), task, "the last one is the task as it ended");
    receiver.assert_no_more();
}

#[tokio::test]
async fn the_version_is_that_of_the_registration() {
    let app = app_with_push().await;
    let [mut old, mut new] = [Receiver::new().await, Receiver::new().await];
    let task = app.send(message("ask")).await;
    let config = json!({ "id": "old", "url": old.url() });
    let params = json!({ "taskId": task["id"], "pushNotificationConfig": config });
    app.call("tasks/pushNotificationConfig/set", params).await;
    let params = json!({ "taskId": task["id"], "id": "new", "url": new.url() });
    app.call("CreateTaskPushNotificationConfig", params).await;
    // Neither is told what was before.
    app.send(for_task(message("more"), &task)).await;
    let id = task["id"].as_str().unwrap();
    for number in [3, 4, 5] {
        let (old, new) = (old.next().await, new.next().await);
        assert_eq!((old.delivery(), new.delivery()), ((id, number, "old"), (id, number, "new")));
        assert_eq!(old.json()["kind"], "task");
        assert!(new.json()["statusUpdate"].is_object() || new.json()["artifactUpdate"].is_object());
    }
}

#[tokio::test]
async fn token_credentials_and_signature_are_headers() {
    let app = app_with(|server| server.push_notifications(push().sign_with("of the house"))).await;
    let mut receiver = Receiver::new().await;
    let authentication = json!({ "scheme": "Bearer", "credentials": "sekret" });
    let config = json!({ "url": receiver.url(), "token": "t-1", "authentication": authentication });
    app.call("SendMessage", send_with(message("hello"), config)).await;
    let received = receiver.next().await;
    assert_eq!(received.header("x-a2a-notification-token"), Some("t-1"));
    assert_eq!(received.header("authorization"), Some("Bearer sekret"));
    let mut signed = received.header("x-a2a-delivery").unwrap().as_bytes().to_vec();
    signed.push(b'.');
    signed.extend_from_slice(&received.bytes);
    let key = hmac::Key::new(hmac::HMAC_SHA256, b"of the house");
    let expected = hmac::sign(&key, &signed);
    let expected: String = expected.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(received.header("x-a2a-signature"), Some(&*format!("sha256={expected}")));

    let authentication = json!({ "schemes": ["Basic", "Bearer"], "credentials": "dXNlcg==" });
    let config = json!({ "url": receiver.url(), "authentication": authentication });
    receiver.take(2).await;
    app.call("message/send", send_with_v0_3(message_v0_3("hello"), config)).await;
    let received = receiver.next().await;
    assert_eq!(received.header("authorization"), Some("Basic dXNlcg=="));
    assert_eq!(received.header("x-a2a-notification-token"), None);
}

#[tokio::test]
async fn without_a_secret_nothing_is_signed() {
    let (app, mut receiver) = (app_with_push().await, Receiver::new().await);
    app.call("SendMessage", send_with(message("hello"), json!({ "url": receiver.url() }))).await;
    let received = receiver.next().await;
    assert_eq!(received.header("x-a2a-signature"), None);
    assert_eq!(received.header("authorization"), None);
}
