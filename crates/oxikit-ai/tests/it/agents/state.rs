//! Custom state, artifacts, and what clients see of them.

use oxikit::wire::{
    AgentFinishReason, AgentStreamChunk, Artifact, GetSnapshotRequest, SessionState,
};
use oxikit::{Event, Role, StatusCode, Turn, TurnReply};
use oxikit_core::chat::AgentTransport;

use super::*;

#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
struct Order {
    items: Vec<String>,
    #[serde(default)]
    card: String,
}

fn ordering() -> oxikit::AgentBuilder {
    Agent::builder("shop").turn(|turn: Turn<Order>| async move {
        let item = turn.text();
        turn.update(|order| order.card = "4111".into()).await?;
        turn.update(|order| order.items.push(item)).await?;
        Ok(turn.answer("added"))
    })
}

fn covered(mut state: SessionState) -> Result<SessionState> {
    if let Some(custom) = &mut state.custom {
        Arc::make_mut(custom)["card"] = json!("****");
    }
    Ok(state)
}

/// All chunks and the output of one invocation.
async fn stream(
    ai: &Oxikit,
    agent: &Agent,
    init: AgentInit,
    input: AgentInput,
) -> (Vec<Value>, Result<AgentOutput>) {
    let call = Call::new(input).with_init(Payload::of(init)).in_registry(ai.registry());
    let mut run = agent.action().start(call).unwrap();
    let mut chunks = Vec::new();
    loop {
        match run.next().await.unwrap() {
            Event::Chunk(chunk) => chunks.push(chunk.to_value().unwrap()),
            Event::Done(output) => return (chunks, output.parse()),
            Event::Failed(status) => return (chunks, Err(status)),
        }
    }
}

#[tokio::test]
async fn the_state_is_typed_and_its_changes_are_sent() {
    let ai = Oxikit::builder().build().unwrap();
    let agent = ai.define_agent(ordering()).unwrap();
    let (chunks, output) = stream(&ai, &agent, AgentInit::default(), user("tea")).await;
    assert_eq!(
        json!(chunks),
        json!([
            {"customPatch": [{"op": "replace", "path": "", "value": {"items": [], "card": "4111"}}]},
            {"customPatch": [{"op": "add", "path": "/items/-", "value": "tea"}]},
            {"turnEnd": {}},
        ])
    );
    let state = output.unwrap().state.unwrap();
    let (chunks, output) =
        stream(&ai, &agent, AgentInit { state: Some(state), ..Default::default() }, user("milk"))
            .await;
    let first = &chunks[0]["customPatch"][0];
    assert_eq!((&first["op"], &first["path"]), (&json!("replace"), &json!("")), "anew every turn");
    let custom = output.unwrap().state.unwrap().custom.unwrap();
    assert_eq!(custom["items"], json!(["tea", "milk"]));
}

#[tokio::test]
async fn what_is_covered_is_seen_nowhere_and_stored_whole() {
    let ai = Oxikit::builder().build().unwrap();
    let store = store();
    let builder = ordering().transform_state(covered).shared_store(store.clone());
    let agent = ai.define_agent(builder).unwrap();
    let (chunks, output) = stream(&ai, &agent, AgentInit::default(), user("tea")).await;
    let output = output.unwrap();
    assert!(!json!(chunks).to_string().contains("4111"), "{chunks:?}");
    let request = GetSnapshotRequest { snapshot_id: output.snapshot_id, ..Default::default() };
    let snapshot = agent.for_caller(Default::default()).snapshot(request).await.unwrap();
    assert!(!json!(snapshot).to_string().contains("4111"));
    // The next turn works on the true state.
    let session = output.session_id.unwrap();
    let seen = ai
        .define_agent(
            Agent::builder("shop")
                .shared_store(store)
                .turn(|turn: Turn<Order>| async move { Ok(TurnReply::text(turn.state()?.card)) }),
        )
        .unwrap();
    let output = invoke(&ai, &seen, in_session(&session), user("?")).await.unwrap();
    assert_eq!(output.message.unwrap().text(), "4111");
}

#[tokio::test]
async fn transforms_fail_closed() {
    let ai = Oxikit::builder().build().unwrap();
    let no = || Status::internal("cannot cover");
    let state = ordering().transform_state(move |_| Err(no()));
    let agent = ai.define_agent(state).unwrap();
    let output = invoke(&ai, &agent, AgentInit::default(), user("tea")).await.unwrap();
    assert_eq!((output.state, output.message), (None, None));
    assert_eq!(output.finish_reason, Some(AgentFinishReason::Failed));

    let chunk = ordering().transform_chunk(move |chunk| match chunk.custom_patch {
        Some(_) => Err(no()),
        None => Ok(Some(chunk)),
    });
    let agent = ai.define_agent(chunk).unwrap();
    let (chunks, output) = stream(&ai, &agent, AgentInit::default(), user("tea")).await;
    assert_eq!(json!(chunks), json!([{"turnEnd": {"finishReason": "failed"}}]));
    assert_eq!(output.unwrap().finish_reason, Some(AgentFinishReason::Failed));

    let dropped = ordering().transform_chunk(|chunk| {
        Ok(Some(chunk).filter(|chunk: &AgentStreamChunk| chunk.turn_end.is_some()))
    });
    let agent = ai.define_agent(dropped).unwrap();
    let (chunks, _) = stream(&ai, &agent, AgentInit::default(), user("tea")).await;
    assert_eq!(json!(chunks), json!([{"turnEnd": {}}]));
}

#[tokio::test]
async fn a_bad_custom_state_is_refused_and_echoed() {
    let ai = Oxikit::builder().build().unwrap();
    let agent = ai.define_agent(ordering()).unwrap();
    let sent: SessionState =
        serde_json::from_value(json!({ "custom": { "items": "none" } })).unwrap();
    let init = AgentInit { state: Some(sent.clone()), ..Default::default() };
    let output = invoke(&ai, &agent, init, user("tea")).await.unwrap();
    assert_eq!(output.error.unwrap().status.as_deref(), Some("INVALID_ARGUMENT"));
    assert_eq!(output.state, Some(sent));
}

#[tokio::test]
async fn an_artifact_takes_the_place_of_its_namesake() {
    let ai = Oxikit::builder().build().unwrap();
    let made = |name: Option<&str>, text: &str| Artifact {
        name: name.map(str::to_owned),
        parts: vec![Part::text(text)],
        metadata: None,
    };
    let agent = ai
        .define_agent(Agent::builder("a").turn(move |turn: Turn| async move {
            for (name, text) in
                [(Some("doc"), "1"), (None, "x"), (Some("doc"), "2"), (None, "y"), (Some(""), "z")]
            {
                turn.add_artifact(made(name, text)).await?;
            }
            Ok(TurnReply::default().with_artifacts(turn.session().artifacts()))
        }))
        .unwrap();
    let (chunks, output) = stream(&ai, &agent, AgentInit::default(), user("go")).await;
    assert_eq!(chunks.len(), 6, "five artifacts and the end");
    let artifacts = output.unwrap().artifacts.unwrap();
    let texts: Vec<_> = artifacts.iter().map(|made| made.parts[0].as_text().unwrap()).collect();
    assert_eq!(texts, ["2", "x", "y", "z"]);
}

#[tokio::test]
async fn interrupts_are_answered_only_as_they_were_asked() {
    let ask = || Part::tool_request("pay", Some("r".into()), json!({ "amount": 5 }));
    let (ai, _) = app([asks(vec![ask()]), says("paid")]);
    let pay = Tool::interrupt::<Value>("pay", "Pays.");
    let agent = ai.define_agent(Agent::builder("a").tool(pay).shared_store(store())).unwrap();
    let mut chat = agent.chat();
    let reply = chat.send("pay").await.unwrap();
    assert_eq!(reply.finish_reason(), Some(AgentFinishReason::Interrupted));
    let forged = [
        Part::tool_response("pay", Some("other".into()), json!("ok")),
        Part::tool_response("steal", Some("r".into()), json!("ok")),
        Part::tool_request("pay", Some("r".into()), json!({ "amount": 5000 })),
    ];
    for part in forged {
        let error = chat.resume([part]).await.unwrap_err();
        assert_eq!(error.code(), StatusCode::InvalidArgument, "{error}");
    }
    let answers: Vec<_> = reply.interrupts().iter().map(|tool| tool.respond("ok")).collect();
    assert_eq!(chat.resume(answers).await.unwrap().text(), "paid");
    chat.refresh().await.unwrap();
    let roles: Vec<_> = chat.messages().iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::User, Role::Model, Role::Tool, Role::Model]);
}
