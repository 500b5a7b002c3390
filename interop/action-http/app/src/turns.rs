//! A flow in the shape of an agent's turn, for the official Python client: what
//! it can call over HTTP is an agent.

use oxikit::prelude::*;
use oxikit_core::Inputs;

use crate::failures::code_of;

/// Streams the words of the message and answers them. A message `fail CODE [words]`
/// sends the words and fails with the code.
pub(crate) async fn turn(
    init: Value,
    mut inputs: Inputs<Value>,
    _: Context,
    out: Emitter<Value>,
) -> Result<Value> {
    let input = inputs.next().await?.unwrap_or_default();
    let text = input["message"]["content"][0]["text"].as_str().unwrap_or_default();
    let mut words: Vec<&str> = text.split(' ').collect();
    let failure = match words.as_slice() {
        ["fail", code, ..] => code_of(code),
        _ => None,
    };
    if failure.is_some() {
        words.drain(..2);
    }
    for word in &words {
        let content = json!([{ "text": word }]);
        out.send(json!({ "modelChunk": { "role": "model", "content": content } })).await?;
    }
    if let Some(code) = failure {
        return Err(Status::public(code, "as told").with_details(json!({ "d": 1 })));
    }
    out.send(json!({ "turnEnd": { "finishReason": "stop" } })).await?;
    Ok(json!({
        "message": { "role": "model", "content": [{ "text": text }] },
        "finishReason": "stop",
        "state": { "messages": [], "custom": { "init": init } },
    }))
}
