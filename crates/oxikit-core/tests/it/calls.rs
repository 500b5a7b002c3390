//! Values handed to an action and back.

use bytes::Bytes;
use oxikit_core::{Action, ActionKind, Call, Context, Emitter, Payload, Result, StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Value, json};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Sum {
    a: i64,
    b: i64,
}

fn add() -> Action {
    Action::builder(ActionKind::Tool, "add").handler(|sum: Sum| async move { Ok(sum.a + sum.b) })
}

#[tokio::test]
async fn a_typed_call_gives_a_typed_answer() {
    let output = add().run(Call::new(Sum { a: 2, b: 3 })).await.unwrap();
    assert_eq!(output.parse::<i64>().unwrap(), 5);
}

#[tokio::test]
async fn text_a_tree_and_a_typed_value_are_the_same_input() {
    let text = Payload::from_json(r#" {"a":2,"b":3} "#).unwrap();
    let tree = json!({"a":2,"b":3});
    let sum = Sum { a: 2, b: 3 };
    let borrowed = (1, "one");
    for call in [Call::new(text), Call::new(tree), Call::new(Payload::of(Payload::of(sum)))] {
        assert_eq!(add().run(call).await.unwrap().to_value().unwrap(), json!(5));
    }
    // A typed value of another type goes through JSON.
    let list = Action::builder(ActionKind::Flow, "list")
        .handler(|pair: (u8, String)| async move { Ok(pair.1) });
    let output = list.run(Call::new(borrowed)).await.unwrap();
    assert_eq!(output.parse::<String>().unwrap(), "one");
}

#[tokio::test]
async fn whoever_takes_nothing_does_not_mind_what_is_sent() {
    let ping = Action::builder(ActionKind::Flow, "ping").handler(|(): ()| async { Ok("pong") });
    for call in [Call::empty(), Call::new(json!({"a":[1]})), Call::new("x"), Call::new(())] {
        assert_eq!(ping.run(call).await.unwrap().to_value().unwrap(), json!("pong"));
    }
}

#[tokio::test]
async fn a_missing_input_is_null() {
    let maybe = Action::builder(ActionKind::Flow, "maybe")
        .handler(|name: Option<String>| async move { Ok(name.is_none()) });
    assert!(maybe.run(Call::empty()).await.unwrap().parse::<bool>().unwrap());
}

#[tokio::test]
async fn a_payload_is_passed_on_unread_and_uncopied() {
    let relay = Action::builder(ActionKind::Flow, "relay")
        .handler(|input: Payload| async move { Ok(input) });
    let text = Bytes::from(r#"{"deep":[1,2,3]}"#.to_owned());
    let output = relay.run(Call::new(Payload::from_json(text.clone()).unwrap())).await.unwrap();
    assert_eq!(output.to_json().unwrap().as_ptr(), text.as_ptr());
}

/// Fails the test when it is written as JSON.
#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Unwritable(u8);

impl Serialize for Unwritable {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        panic!("nobody was to write this as JSON")
    }
}

#[tokio::test]
async fn a_typed_value_is_handed_over_without_json() {
    let next = Action::builder(ActionKind::Flow, "next").handler(
        |input: Unwritable, _: Context, out: Emitter<Unwritable>| async move {
            out.send(Unwritable(input.0 + 1)).await?;
            Ok(Unwritable(input.0 + 2))
        },
    );
    let mut run = next.start(Call::new(Unwritable(1))).unwrap();
    let Some(oxikit_core::Event::Chunk(chunk)) = run.next().await else { panic!("no chunk") };
    assert_eq!(chunk.parse::<Unwritable>().unwrap(), Unwritable(2));
    assert_eq!(run.finish().await.unwrap().parse::<Unwritable>().unwrap(), Unwritable(3));
}

#[tokio::test]
async fn a_shared_payload_falls_back_to_json() {
    let payload = Payload::of(Sum { a: 1, b: 2 });
    let kept = payload.clone();
    assert_eq!(add().run(Call::new(payload)).await.unwrap().parse::<i64>().unwrap(), 3);
    assert_eq!(kept.parse::<Sum>().unwrap(), Sum { a: 1, b: 2 });
}

#[test]
fn a_piece_of_a_buffer_is_taken_without_a_copy() {
    let buffer = Bytes::from(r#"{"data": {"a":1}, "init":2}"#.to_owned());
    let body: std::collections::BTreeMap<String, &serde_json::value::RawValue> =
        serde_json::from_slice(&buffer).unwrap();
    let payload = Payload::from_raw(&buffer, body["data"]);
    assert_eq!(payload.to_json().unwrap(), r#"{"a":1}"#);
    assert!(buffer.as_ptr_range().contains(&payload.to_json().unwrap().as_ptr()));

    // Out of another buffer, or over the end of this one: copied.
    let foreign: Box<serde_json::value::RawValue> = serde_json::from_str("[1]").unwrap();
    assert_eq!(Payload::from_raw(&buffer, &foreign).to_json().unwrap(), "[1]");
    let cut = buffer.slice(0..10);
    assert_eq!(Payload::from_raw(&cut, body["data"]).to_json().unwrap(), r#"{"a":1}"#);
}

#[test]
fn only_json_becomes_a_payload() {
    for bad in ["", "{", "nul", "1 2", "\"\\q\""] {
        let refused = Payload::from_json(bad.to_owned()).unwrap_err();
        assert_eq!(refused.code(), StatusCode::InvalidArgument, "{bad}");
    }
    assert!(Payload::from_json(Bytes::from_static(b"\"\xff\"")).is_err());
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    assert!(Payload::from_json(deep).is_ok(), "what is only relayed may be deep");
}

#[test]
fn a_payload_inside_of_other_json_is_read_and_written_in_place() {
    #[derive(Serialize, Deserialize)]
    struct Body {
        data: Payload,
    }
    let body: Body = serde_json::from_str(r#"{"data": {"a": 1.0}}"#).unwrap();
    assert_eq!(serde_json::to_string(&body).unwrap(), r#"{"data":{"a": 1.0}}"#);
    let body = Body { data: Payload::of(Sum { a: 1, b: 2 }) };
    assert_eq!(serde_json::to_string(&body).unwrap(), r#"{"data":{"a":1,"b":2}}"#);
    let from_tree: Body = serde_json::from_value(json!({"data":[1]})).unwrap();
    assert_eq!(from_tree.data.parse::<Value>().unwrap(), json!([1]));
    let mut out = b"x".to_vec();
    body.data.write_json(&mut out).unwrap();
    assert_eq!(out, br#"x{"a":1,"b":2}"#);
}

#[test]
fn reading_a_payload_as_the_wrong_type_is_our_own_fault() {
    let status = Payload::of("text").parse::<u32>().unwrap_err();
    assert_eq!((status.code(), status.is_public()), (StatusCode::Internal, false));
}
