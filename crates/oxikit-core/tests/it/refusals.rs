//! Inputs and outputs that do not fit.

use std::collections::{BTreeMap, HashMap};

use oxikit_core::{Action, ActionKind, Call, Payload, Schema, Status, StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::recorder::Recorder;

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Order {
    id: u32,
    #[serde(default)]
    colour: Option<Colour>,
    #[serde(default)]
    lines: Vec<Line>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Colour {
    Red,
    Green,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Line {
    text: String,
}

fn order() -> Action {
    Action::builder(ActionKind::Flow, "order").handler(|order: Order| async move { Ok(order.id) })
}

async fn refuse(action: &Action, input: Value) -> Status {
    let text = Payload::from_json(input.to_string()).unwrap();
    let by_text = action.run(Call::new(text)).await.unwrap_err();
    let by_value = action.run(Call::new(input)).await.unwrap_err();
    assert_eq!(by_text.outgoing(), by_value.outgoing());
    assert_eq!(by_text.code(), StatusCode::InvalidArgument);
    assert!(by_text.is_public());
    by_text
}

#[track_caller]
fn check(status: &Status, expected: &[(&str, &str)]) {
    let errors = status.details().unwrap()["errors"].as_array().unwrap().clone();
    let mut errors: Vec<_> = errors
        .iter()
        .map(|error| (error["path"].as_str().unwrap(), error["message"].as_str().unwrap()))
        .collect();
    errors.sort();
    assert_eq!(errors, expected);
    for (path, message) in expected {
        assert!(status.message().contains(&format!("\n- {path}: {message}")), "{status}");
    }
    assert!(status.details().unwrap()["schema"].is_object());
}

#[tokio::test]
async fn a_refusal_names_every_wrong_place_and_what_was_expected() {
    let status = refuse(&order(), json!({"id":"x","lines":[{"text":"ok"},{"text":1},{}]})).await;
    check(
        &status,
        &[
            ("id", "must be integer"),
            ("lines.1.text", "must be string"),
            ("lines.2", "must have required property 'text'"),
        ],
    );
}

#[tokio::test]
async fn a_missing_member_a_wrong_word_and_an_extra_member_are_refused() {
    check(&refuse(&order(), json!({})).await, &[("(root)", "must have required property 'id'")]);
    check(&refuse(&order(), json!(null)).await, &[("(root)", "must be object")]);
    check(
        &refuse(&order(), json!({"id":1,"more":1,"evenMore":2})).await,
        &[("(root)", "must NOT have additional properties (more, evenMore)")],
    );
    let status = refuse(&order(), json!({"id":1,"colour":"blue"})).await;
    assert!(status.message().contains("colour: "), "{status}");
}

#[tokio::test]
async fn a_struct_is_not_a_list() {
    check(&refuse(&order(), json!([1, null, []])).await, &[("(root)", "must be object")]);
}

#[tokio::test]
async fn a_number_that_does_not_fit_the_type_is_refused() {
    let status = refuse(&order(), json!({"id":5_000_000_000u64})).await;
    assert!(status.message().contains("u32"), "{status}");
    check(
        &refuse(&order(), json!({"id":-1})).await,
        &[("id", "value is less than the minimum of 0")],
    );
}

#[tokio::test]
async fn of_two_members_with_one_name_none_wins() {
    for action in [order(), constrained()] {
        let text =
            Payload::from_json(r#"{"id":1,"id":2,"count":1,"count":2,"name":"abc"}"#).unwrap();
        let status = action.run(Call::new(text)).await.unwrap_err();
        assert_eq!(status.code(), StatusCode::InvalidArgument);
    }
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Loose {
    #[serde(default)]
    counts: BTreeMap<String, u64>,
    #[serde(default)]
    notes: Option<Value>,
    #[serde(default)]
    inner: Vec<Loose>,
    #[serde(flatten)]
    more: HashMap<String, Value>,
}

#[tokio::test]
async fn maps_and_trees_inside_of_a_type_are_kept_or_refused() {
    let loose =
        Action::builder(ActionKind::Flow, "loose").handler(|loose: Loose| async move { Ok(loose) });
    let map = Action::builder(ActionKind::Flow, "map")
        .handler(|map: HashMap<String, Value>| async move { Ok(map) });
    for action in [&loose, &map] {
        for text in [
            r#"{"notes":{"a":1,"a":2}}"#,
            r#"{"notes":[[{"a":1,"b":[],"a":2}]]}"#,
            r#"{"notes":18446744073709551616}"#,
            r#"{"inner":[{"notes":{"x":-9223372036854775809}}]}"#,
            r#"{"inner":[{"x":1,"x":2}]}"#,
            r#"{"x":1,"x":2}"#,
            r#"{"counts":{"a":1,"a":1}}"#,
        ] {
            let status = action.run(Call::new(Payload::from_json(text).unwrap())).await;
            let status = status.expect_err(text);
            assert_eq!(status.code(), StatusCode::InvalidArgument, "{text}");
            assert!(status.is_public(), "{text}");
        }
        let good = r#"{"counts":{"a":18446744073709551615},"notes":[{"a":1},{"a":2}],"x":"é"}"#;
        let output = action.run(Call::new(Payload::from_json(good).unwrap())).await.unwrap();
        assert_eq!(output.to_value().unwrap()["counts"]["a"], u64::MAX, "{good}");
    }
}

#[tokio::test]
async fn integers_of_128_bits_are_kept_by_a_type_that_has_them() {
    let double = Action::builder(ActionKind::Flow, "same")
        .handler(|numbers: Vec<u128>| async move { Ok(numbers) });
    let text = "[340282366920938463463374607431768211455,1]";
    let output = double.run(Call::new(Payload::from_json(text).unwrap())).await.unwrap();
    assert_eq!(output.to_json().unwrap(), text);
    // A tree has no room for it.
    assert!(output.to_value().is_err());
}

#[tokio::test]
async fn a_refused_call_leaves_no_trace() {
    let (recorder, registry) = Recorder::new();
    let call = Call::new(json!({"id":"x"})).in_registry(&registry);
    assert!(order().start(call).is_err());
    assert!(recorder.started().is_empty());
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Constrained {
    #[schemars(range(min = 1, max = 10))]
    count: u32,
    #[schemars(length(min = 2, max = 4), regex(pattern = r"^[a-z]+$"))]
    name: String,
    #[serde(default)]
    #[schemars(length(equal = 2))]
    pair: Option<Vec<u8>>,
    #[serde(default)]
    #[schemars(email)]
    mail: Option<String>,
}

fn constrained() -> Action {
    Action::builder(ActionKind::Flow, "constrained")
        .handler(|input: Constrained| async move { Ok(input.count) })
}

#[tokio::test]
async fn what_only_an_attribute_says_is_enforced_although_serde_would_accept() {
    let good = json!({"count":1,"name":"abc","pair":[1,2],"mail":"a@example.com"});
    constrained().run(Call::new(good.clone())).await.unwrap();
    let cases = [
        ("count", json!(0)),
        ("count", json!(11)),
        ("name", json!("a")),
        ("name", json!("abcde")),
        ("name", json!("ABC")),
        ("pair", json!([1])),
        ("mail", json!("nobody")),
    ];
    for (member, value) in cases {
        let mut bad = good.clone();
        bad[member] = value;
        let status = refuse(&constrained(), bad.clone()).await;
        assert!(status.message().contains(&format!("- {member}: ")), "{bad} {status}");
    }
    // Also when it comes as a typed value of this process.
    let typed = Constrained { count: 0, name: "abc".into(), pair: None, mail: None };
    let status = constrained().run(Call::new(typed)).await.unwrap_err();
    assert_eq!(status.code(), StatusCode::InvalidArgument);
}

#[tokio::test]
async fn a_schema_of_ones_own_replaces_the_type_s() {
    let schema = Schema::from_json(json!({"type":"object","required":["city"]})).unwrap();
    let action = Action::builder(ActionKind::Tool, "weather")
        .input_schema(schema)
        .handler(|input: Value| async move { Ok(input["city"].clone()) });
    check(&refuse(&action, json!({})).await, &[("(root)", "must have required property 'city'")]);
    let text = Payload::from_json(r#"{"city":"Rome"}"#).unwrap();
    assert!(action.takes_tree());
    assert_eq!(action.run(Call::new(text)).await.unwrap().parse::<String>().unwrap(), "Rome");
    assert_eq!(
        action.descriptor().input_schema,
        Some(json!({"type":"object","required":["city"]}))
    );
}

#[tokio::test]
async fn an_output_that_breaks_its_schema_is_refused_without_showing_it() {
    let schema = json!({"type":"object","properties":{"pin":{"type":"string","maxLength":3}}});
    let action = Action::builder(ActionKind::Flow, "leaky")
        .output_schema(Schema::from_json(schema).unwrap())
        .handler(|(): ()| async { Ok(json!({"pin":"hunter2"})) });
    let status = action.run(Call::empty()).await.unwrap_err();
    assert_eq!(status.code(), StatusCode::InvalidArgument);
    assert!(status.message().contains("- pin: "), "{status}");
    assert!(!serde_json::to_string(&status.outgoing()).unwrap().contains("hunter2"));
}

#[tokio::test]
async fn a_long_list_of_errors_is_cut() {
    let status = refuse(&numbers(), json!(vec!["x"; 100])).await;
    assert_eq!(status.details().unwrap()["errors"].as_array().unwrap().len(), 20);
    assert!(status.message().ends_with("- and 80 more"), "{status}");
    // Of a very long input only the first error is reported.
    let status = refuse(&numbers(), json!(vec!["x"; 100_000])).await;
    check(&status, &[("0", "must be integer")]);
    let status = refuse(&order(), json!({"id":1, "x".repeat(100_000):1})).await;
    assert!(status.message().len() < 1000);
}

fn numbers() -> Action {
    Action::builder(ActionKind::Flow, "numbers")
        .handler(|list: Vec<u32>| async move { Ok(list.len()) })
}

#[tokio::test]
async fn what_is_too_deep_to_be_read_is_the_callers_fault() {
    let deep = Payload::from_json("[".repeat(1000) + &"]".repeat(1000)).unwrap();
    for action in [numbers(), constrained()] {
        let status = action.run(Call::new(deep.clone())).await.unwrap_err();
        assert_eq!(status.code(), StatusCode::InvalidArgument);
    }
}

#[tokio::test]
async fn an_integral_float_is_an_integer() {
    let bounds = json!({"type": "object", "properties": {"id": {"maximum": 9}}});
    let with_schema = Action::builder(ActionKind::Flow, "bounded")
        .input_schema(Schema::from_json(bounds).unwrap())
        .handler(|order: Order| async move { Ok(order.id) });
    for action in [order(), with_schema] {
        for input in [r#"{"id":7.0}"#, r#"{"id":7e0,"lines":[{"text":"8.0"}]}"#] {
            let call = Call::new(Payload::from_json(input).unwrap());
            let output = action.run(call).await.unwrap();
            assert_eq!(output.parse::<u32>().unwrap(), 7, "{input}");
        }
        for input in [json!({"id": 7.5}), json!({"id": -1.0}), json!({"id": 1e300})] {
            refuse(&action, input).await;
        }
    }
}
