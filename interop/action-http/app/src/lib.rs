//! The application that the exchanges of the specification were recorded with,
//! on oxikit: a flow for everything that the action protocol can carry.

mod callers;
mod failures;
mod slow;
mod turns;

use std::sync::Arc;
use std::time::Duration;

use oxikit::prelude::*;
use oxikit::{Action, ActionKind, Payload, Schema};
use oxikit_core::Inputs;
use oxikit_core::ports::memory::MemoryStreams;
use oxikit_serve::{Expose, Server};

use callers::Callers;

/// The application behind a server that is not bound yet.
pub fn server() -> Server {
    let ai = Oxikit::builder().build().expect("nothing is installed that could fail");
    let mut server = Server::new(&ai).auth(Callers::default());
    for action in actions() {
        server = server.expose(action);
    }
    let durable = [
        flow("durableCount").handler(count),
        flow("durableSlow").handler(slow::slow),
        flow("durableThrowing").handler(failures::throwing),
    ];
    for action in durable {
        server = server.expose(Expose::new(action).durable());
    }
    server.stream_store(Arc::new(MemoryStreams::default()))
}

fn actions() -> [Action; 16] {
    [
        flow("echo").bidi(echo),
        flow("typed").handler(typed),
        flow("voidIn").handler(|(): ()| async { Ok("banana") }),
        flow("undefOut").handler(|_: Value| async { Ok(()) }),
        flow("badOut").output_schema(one_number()).handler(bad_output),
        flow("count").handler(count),
        flow("uni").handler(unicode),
        flow("slow").handler(slow::slow),
        flow("cancelled").handler(slow::cancelled),
        flow("throwing").handler(failures::throwing),
        flow("authed").handler(|_: Value, ctx: Context| async move { Ok(with_context(&ctx)) }),
        flow("ctxFlow").handler(|i: Value, ctx: Context| async move {
            Ok(json!({ "i": i, "context": ctx.data().to_object() }))
        }),
        flow("big").handler(big),
        flow("initFlow").bidi(init_flow),
        flow("lines").handler(lines),
        flow("turn").bidi(turns::turn),
    ]
}

fn flow(name: &str) -> oxikit_core::ActionBuilder {
    Action::builder(ActionKind::Flow, name)
}

/// Answers what it got, and `"undefined"` when it got nothing. Bidirectional, as
/// only those see the difference to `null`.
async fn echo(_: Value, mut inputs: Inputs<Value>, _: Context, _: Emitter<Value>) -> Result<Value> {
    let got = inputs.next().await?.unwrap_or_else(|| "undefined".into());
    Ok(json!({ "got": got }))
}

#[derive(Deserialize, JsonSchema)]
struct Question {
    question: String,
    /// Only there to be checked.
    #[serde(rename = "n")]
    _n: Option<f64>,
}

async fn typed(input: Question) -> Result<String> {
    Ok(format!("q={}", input.question))
}

fn one_number() -> Schema {
    let schema =
        json!({ "type": "object", "properties": { "a": { "type": "number" } }, "required": ["a"] });
    Schema::from_json(schema).expect("it is written here")
}

async fn bad_output(_: Value) -> Result<Value> {
    Ok(json!({ "a": "nope" }))
}

#[derive(Deserialize, JsonSchema)]
struct Count {
    n: u64,
    /// Milliseconds before each chunk.
    #[serde(default)]
    delay: u64,
}

#[derive(Serialize, JsonSchema)]
struct Counted {
    count: u64,
}

async fn count(input: Count, _: Context, out: Emitter<Counted>) -> Result<&'static str> {
    for count in 0..input.n {
        if input.delay > 0 {
            tokio::time::sleep(Duration::from_millis(input.delay)).await;
        }
        out.send(Counted { count }).await?;
    }
    Ok("done")
}

async fn unicode(_: Value, _: Context, out: Emitter<Value>) -> Result<&'static str> {
    for chunk in [json!("héllo 😀 \n\n newline"), Value::Null, json!(0), json!({})] {
        out.send(chunk).await?;
    }
    Ok("é😀")
}

#[derive(Deserialize, JsonSchema)]
struct Lines {
    n: usize,
    text: String,
}

/// Streams the same text many times; the official client would garble a
/// character whose bytes come in two reads.
async fn lines(input: Lines, _: Context, out: Emitter<String>) -> Result<String> {
    for _ in 0..input.n {
        out.send(input.text.clone()).await?;
    }
    Ok(input.text)
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct Size {
    size: usize,
}

async fn big(input: Size, _: Context, out: Emitter<String>) -> Result<Value> {
    out.send("x".repeat(input.size)).await?;
    Ok(json!({ "len": serde_json::to_string(&input)?.len() }))
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct Init {
    sid: String,
}

async fn init_flow(
    init: Init,
    mut inputs: Inputs<Value>,
    _: Context,
    _: Emitter<Payload>,
) -> Result<Value> {
    Ok(json!({ "i": inputs.next().await?, "init": init }))
}

fn with_context(ctx: &Context) -> Value {
    json!({ "context": ctx.data().to_object() })
}
