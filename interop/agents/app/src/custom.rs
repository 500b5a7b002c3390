//! Agents whose turns are code.

use std::time::Duration;

use oxikit::wire::{AgentFinishReason, Artifact, GenerateResponseChunk, Role};
use oxikit::{Agent, AgentBuilder, Part, Result, Status, StatusCode, Turn, TurnReply};
use serde_json::{Map, Value, json};

type State = Map<String, Value>;

/// Says `custom:…`, and stores its input in its state. `fail`, `plain`,
/// `patchfail` and `wait MS` are commands.
pub(crate) fn agent(name: &str) -> AgentBuilder {
    Agent::builder(name).turn(work)
}

async fn work(turn: Turn<State>) -> Result<TurnReply> {
    let text = turn.text();
    let quota =
        || Status::public(StatusCode::ResourceExhausted, "quota").with_details(json!({ "a": 1 }));
    match text.split_once(' ').unwrap_or((&text, "")) {
        ("fail", _) => return Err(quota()),
        ("plain", _) => return Err(Status::internal("the password is hunter2")),
        ("wait", time) => {
            let time = time.parse().map_err(|_| Status::invalid_argument("wait how long?"))?;
            tokio::time::sleep(Duration::from_millis(time)).await;
        }
        _ => {}
    }
    turn.update(|state| {
        let turns = state.get("turns").and_then(Value::as_u64).unwrap_or_default();
        state.insert("turns".to_owned(), json!(turns + 1));
        state.insert("last".to_owned(), json!(text));
    })
    .await?;
    if text == "patchfail" {
        return Err(quota());
    }
    turn.update(|state| {
        let list = state.entry("list").or_insert_with(|| json!([]));
        list.as_array_mut().into_iter().for_each(|list| list.push(json!(text)));
        state.insert("a/b~c".to_owned(), json!(text.len()));
    })
    .await?;
    turn.add_artifact(artifact("doc", &text)).await?;
    let answer = format!("custom:{text}");
    let role = Some(Role::Model);
    turn.emit(GenerateResponseChunk { role, ..GenerateResponseChunk::text(&answer) }).await?;
    let artifacts = turn.session().artifacts();
    Ok(turn.answer(answer).with_artifacts(artifacts).because(AgentFinishReason::Stop))
}

/// Has a secret in its state, and says one; clients see neither.
pub(crate) fn redacted(name: &str) -> AgentBuilder {
    Agent::builder(name)
        .turn(keep_a_secret)
        .transform_state(|mut state| {
            let mut shown = state.custom.as_deref().cloned().unwrap_or_default();
            shown.as_object_mut().map(|members| members.remove("secret"));
            state.custom = state.custom.map(|_| shown.into());
            Ok(state)
        })
        .transform_chunk(|chunk| Ok(Some(chunk).filter(|chunk| chunk.model_chunk.is_none())))
}

async fn keep_a_secret(turn: Turn<State>) -> Result<TurnReply> {
    turn.update(|state| {
        state.insert("visible".to_owned(), json!(1));
        state.insert("secret".to_owned(), json!("hunter2"));
    })
    .await?;
    turn.emit(GenerateResponseChunk::text("hunter2")).await?;
    Ok(TurnReply::text("ok"))
}

fn artifact(name: &str, text: &str) -> Artifact {
    Artifact { name: Some(name.to_owned()), parts: vec![Part::text(text)], metadata: None }
}
