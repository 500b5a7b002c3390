//! Messages of the wrong shape, over both bindings in both versions, sent and streamed.

use oxikit_wire::a2a::ErrorKind::{InvalidParams, PushNotificationNotSupported};
use oxikit_wire::a2a::Version;
use serde_json::{Value, json};

use super::{WAYS, Way, target};

/// Changes of a valid message: the member and its new value; `null` removes it.
fn changes_of_message(way: Way) -> Vec<(&'static str, Value)> {
    let parts = way.parts();
    let mut changes = vec![
        ("messageId", Value::Null),
        ("messageId", json!("")),
        ("messageId", json!(7)),
        ("messageId", json!({})),
        ("role", Value::Null),
        ("role", json!("")),
        ("role", json!("ROLE_UNSPECIFIED")),
        ("role", json!("root")),
        ("role", json!(7)),
        ("role", json!(["user"])),
        ("metadata", json!("text")),
        ("metadata", json!([1])),
        ("extensions", json!("urn:a")),
        ("referenceTaskIds", json!([1])),
        ("taskId", json!(7)),
        ("contextId", json!({})),
        (parts, Value::Null),
    ];
    let bad_parts = [
        json!([]),
        json!({}),
        json!("hello"),
        json!(["hello"]),
        json!([null]),
        json!([{}]),
        json!([{ "kind": "video", "video": "x" }]),
        json!([{ "text": 7, "kind": "text" }]),
        json!([{ "text": "a", "kind": "text" }, {}]),
        json!([{ "text": "a", "kind": "text", "metadata": "m" }]),
    ];
    changes.extend(bad_parts.map(|bad| (parts, bad)));
    if way.version() == Version::V1_0 {
        changes.push((parts, json!([{ "text": "a", "url": "http://a" }])));
        changes.push((parts, json!([{ "raw": 7 }])));
    } else {
        changes.push(("kind", json!("task")));
        changes.push((parts, json!([{ "kind": "file", "file": {} }])));
        changes.push((parts, json!([{ "kind": "file", "file": { "bytes": "", "uri": "u" } }])));
        changes.push((parts, json!([{ "kind": "data", "data": "text" }])));
    }
    changes
}

/// Values of `message` and other members of the request that are wrong.
fn changes_of_request(way: Way) -> Vec<(&'static str, Value)> {
    let waits = if way.version() == Version::V0_3 { "blocking" } else { "returnImmediately" };
    vec![
        ("message", Value::Null),
        ("message", json!("hello")),
        ("message", json!(["m"])),
        ("message", json!({})),
        ("metadata", json!(7)),
        ("configuration", json!("fast")),
        ("configuration", json!({ "historyLength": -1 })),
        ("configuration", json!({ "historyLength": u64::MAX })),
        ("configuration", json!({ "historyLength": 1.5 })),
        ("configuration", json!({ "historyLength": "many" })),
        ("configuration", json!({ waits: "yes" })),
        ("configuration", json!({ "acceptedOutputModes": [7] })),
    ]
}

fn changed(object: &Value, (member, value): &(&str, Value)) -> Value {
    let mut object = object.clone();
    match value {
        Value::Null => drop(object.as_object_mut().unwrap().remove(*member)),
        value => object[*member] = value.clone(),
    }
    object
}

#[tokio::test]
async fn messages_of_the_wrong_shape_are_refused() {
    let target = target().await;
    for way in WAYS {
        let valid = way.send_params();
        let of_message = changes_of_message(way).into_iter().map(|change| {
            let message = changed(&valid["message"], &change);
            changed(&valid, &("message", message))
        });
        let of_request = changes_of_request(way);
        let of_request = of_request.iter().map(|change| changed(&valid, change));
        for params in of_message.chain(of_request) {
            let params = params.to_string();
            for is_streaming in [false, true] {
                let answer = target.send(way, is_streaming, &params).await;
                way.assert_refused(&answer, InvalidParams, &params);
                let is_event = answer.header("content-type") == Some("text/event-stream");
                assert_eq!(is_event, is_streaming && way == Way::Rpc(Version::V0_3), "{params}");
            }
        }
    }
    target.assert_untouched().await;
}

#[tokio::test]
async fn a_webhook_is_refused_where_there_are_no_push_notifications() {
    let target = target().await;
    for way in WAYS {
        let name = match way.version() {
            Version::V0_3 => "pushNotificationConfig",
            Version::V1_0 => "taskPushNotificationConfig",
        };
        let mut params = way.send_params();
        params["configuration"] = json!({ name: { "url": "https://receiver.example/" } });
        let params = params.to_string();
        let answer = target.send(way, false, &params).await;
        way.assert_refused(&answer, PushNotificationNotSupported, &params);
    }
    target.assert_untouched().await;
}
