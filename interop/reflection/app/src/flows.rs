//! Flows that greet, count, fail and take their time.

use std::time::Duration;

use oxikit::prelude::*;
use oxikit::{Action, ActionKind, Schema};
use oxikit_core::Inputs;

use crate::model;

pub(crate) fn define(ai: &Oxikit) {
    ai.registry().register(flow("greet").metadata("team", "core").handler(greet));
    ai.define_flow("countdown", countdown);
    ai.registry().register(flow("noSchema").bidi(no_schema));
    ai.define_flow("returnsNothing", |_: Value| async { Ok(()) });
    ai.define_flow("boom", |_: Value| async { Err::<Value, _>(Status::internal("kaboom")) });
    ai.define_flow("denied", |_: Value| async { Err::<Value, _>(denied()) });
    ai.define_flow("boomStream", boom_stream);
    ai.registry().register(flow("badOutput").output_schema(one_number()).handler(bad_output));
    ai.define_flow("slow", slow);
    ai.define_flow("stubborn", stubborn);
    ai.define_flow("genFlow", |question: String, ctx: Context| async move {
        Ok(ctx.generate().model(model::NAME).prompt(question).tool_named("add").await?.text())
    });
    let echo = flow("bidiEcho").description("upper-cases every input chunk");
    ai.registry().register(echo.bidi(bidi_echo));
}

fn flow(name: &str) -> oxikit_core::ActionBuilder {
    Action::builder(ActionKind::Flow, name)
}

#[derive(Deserialize, JsonSchema)]
struct Name {
    name: String,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Greeting {
    text: String,
}

async fn greet(Name { name }: Name, ctx: Context) -> Result<Greeting> {
    tracing::info!("greeting {name}");
    let known = if ctx.auth().is_some() { " (auth)" } else { "" };
    ctx.step("compose", async { Ok(Greeting { text: format!("Hi {name}{known}") }) }).await
}

async fn countdown(from: u32, _: Context, out: Emitter<u32>) -> Result<&'static str> {
    for number in (1..=from).rev() {
        out.send(number).await?;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok("liftoff")
}

/// Answers what it got. Bidirectional, as only those see whether they got `null`
/// or nothing.
async fn no_schema(
    _: Value,
    mut inputs: Inputs<Value>,
    _: Context,
    _: Emitter<Value>,
) -> Result<Value> {
    let got = inputs.next().await?.unwrap_or_else(|| "undefined".into());
    Ok(json!({ "got": got }))
}

fn denied() -> Status {
    Status::public(StatusCode::PermissionDenied, "not for you")
        .with_details(json!({ "hint": "ask admin" }))
}

async fn boom_stream(_: Value, _: Context, out: Emitter<String>) -> Result<Value> {
    out.send("one".to_owned()).await?;
    Err(Status::internal("kaboom after one chunk"))
}

fn one_number() -> Schema {
    let schema =
        json!({ "type": "object", "properties": { "n": { "type": "number" } }, "required": ["n"] });
    Schema::from_json(schema).expect("it is written here")
}

async fn bad_output(_: Value) -> Result<Value> {
    Ok(json!({ "n": "nope" }))
}

async fn slow(ms: Option<u64>, _: Context, out: Emitter<String>) -> Result<&'static str> {
    out.send("started".to_owned()).await?;
    tokio::time::sleep(Duration::from_millis(ms.unwrap_or(5000))).await;
    Ok("done")
}

/// Looks at no signal, and is cancelled all the same: it is not polled again.
async fn stubborn(ms: Option<u64>) -> Result<&'static str> {
    tokio::time::sleep(Duration::from_millis(ms.unwrap_or(3000))).await;
    Ok("finished anyway")
}

#[derive(Deserialize, JsonSchema)]
struct Prefix {
    prefix: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct Count {
    count: u32,
}

async fn bidi_echo(
    init: Prefix,
    mut inputs: Inputs<String>,
    _: Context,
    out: Emitter<String>,
) -> Result<Count> {
    let prefix = init.prefix.unwrap_or_default();
    let mut count = 0;
    while let Some(text) = inputs.next().await? {
        count += 1;
        out.send(format!("{prefix}{}", text.to_uppercase())).await?;
    }
    Ok(Count { count })
}
