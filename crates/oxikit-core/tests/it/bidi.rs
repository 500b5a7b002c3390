//! Actions with an init and a stream of inputs.

use oxikit_core::{
    Action, ActionKind, Call, Context, Emitter, Event, Inputs, Payload, Result, StatusCode,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize, JsonSchema)]
struct Init {
    #[serde(default)]
    prefix: String,
}

fn echo() -> Action {
    Action::builder(ActionKind::Flow, "bidiEcho").bidi(
        |init: Init, mut inputs: Inputs<String>, _: Context, out: Emitter<String>| async move {
            let mut count = 0;
            while let Some(input) = inputs.next().await? {
                out.send(format!("{}{}", init.prefix, input.to_uppercase())).await?;
                count += 1;
            }
            Ok(json!({ "count": count }))
        },
    )
}

#[tokio::test]
async fn every_input_is_answered_in_order() {
    let (inputs, call) = Call::streaming();
    let mut run = echo().start(call.with_init(Payload::of(json!({"prefix":"> "})))).unwrap();
    let mut answers = Vec::new();
    for input in ["one", "two"] {
        inputs.send(Payload::of(input)).await.unwrap();
        let Some(Event::Chunk(chunk)) = run.next().await else { panic!("no chunk") };
        answers.push(chunk.parse::<String>().unwrap());
    }
    assert_eq!(answers, ["> ONE", "> TWO"]);
    drop(inputs);
    assert_eq!(run.finish().await.unwrap().to_value().unwrap(), json!({"count":2}));
}

#[tokio::test]
async fn a_unary_call_is_the_case_of_one_input() {
    assert_eq!(echo().run(Call::new("a")).await.unwrap().to_value().unwrap(), json!({"count":1}));
    assert_eq!(echo().run(Call::empty()).await.unwrap().to_value().unwrap(), json!({"count":0}));
}

#[tokio::test]
async fn a_bad_input_fails_the_run_and_says_where() {
    let (inputs, call) = Call::streaming();
    let mut run = echo().start(call).unwrap();
    inputs.send(Payload::of(42)).await.unwrap();
    let Some(Event::Failed(status)) = run.next().await else { panic!("not refused") };
    assert_eq!(status.code(), StatusCode::InvalidArgument);
    assert!(status.message().contains("(root): must be string"), "{status}");
    // The run has ended, so sending fails.
    assert_eq!(inputs.send(Payload::of("x")).await.unwrap_err().code(), StatusCode::Cancelled);
}

#[tokio::test]
async fn a_bad_init_never_becomes_a_run() {
    let (_inputs, call) = Call::streaming();
    let refused = echo().start(call.with_init(Payload::of(json!({"prefix":1})))).unwrap_err();
    assert_eq!(refused.code(), StatusCode::InvalidArgument);
    assert!(refused.message().contains("prefix: must be string"), "{refused}");
}

#[tokio::test]
async fn no_init_and_a_null_init_are_an_empty_one() {
    let call = Call::new("a").with_init(Payload::null());
    assert_eq!(echo().run(call).await.unwrap().to_value().unwrap(), json!({"count":1}));

    let optional = Action::builder(ActionKind::Flow, "optional").bidi(
        |init: Option<u32>, _: Inputs<String>, _: Context, _: Emitter<()>| async move { Ok(init) },
    );
    for (init, expected) in
        [(None, json!(null)), (Some(json!(null)), json!(null)), (Some(json!(3)), json!(3))]
    {
        let mut call = Call::empty();
        if let Some(init) = init {
            call = call.with_init(Payload::from_json(init.to_string()).unwrap());
        }
        assert_eq!(optional.run(call).await.unwrap().to_value().unwrap(), expected);
    }
}

#[tokio::test]
async fn inputs_wait_when_the_action_is_behind() {
    let (inputs, call) = Call::streaming();
    let _run = echo().start(call).unwrap();
    let mut taken = 0;
    // The run is not polled, so no input is taken out of the queue.
    while futures_util::FutureExt::now_or_never(inputs.send(Payload::of("x"))).is_some() {
        taken += 1;
    }
    assert_eq!(taken, 64);
}

#[tokio::test]
async fn a_bidirectional_action_is_listed_as_one() {
    let descriptor = serde_json::to_value(echo().descriptor()).unwrap();
    assert_eq!(descriptor["metadata"]["bidi"], true);
    assert_eq!(descriptor["inputSchema"]["type"], "string");
    assert_eq!(descriptor["streamSchema"]["type"], "string");
    assert_eq!(descriptor["initSchema"]["type"], "object");
}

#[tokio::test]
async fn inputs_may_be_passed_on_unread() {
    let relay = Action::builder(ActionKind::Flow, "relay").bidi(
        |_: Value, mut inputs: Inputs<Payload>, _: Context, out: Emitter<Payload>| async move {
            while let Some(input) = inputs.next().await? {
                out.send(input).await?;
            }
            Result::Ok(())
        },
    );
    let (inputs, call) = Call::streaming();
    let mut run = relay.start(call).unwrap();
    let text = bytes::Bytes::from_static(b"[1,2]");
    inputs.send(Payload::from_json(text.clone()).unwrap()).await.unwrap();
    let Some(Event::Chunk(chunk)) = run.next().await else { panic!("no chunk") };
    assert_eq!(chunk.to_json().unwrap().as_ptr(), text.as_ptr());
}
