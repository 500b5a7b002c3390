//! Genkit's `generate.yaml`: `/util/generate` against a model that plays a script.

use std::collections::VecDeque;
use std::fs;
use std::sync::{Arc, Mutex};

use anyhow::Context;
use oxikit::{Call, Event, Model, Oxikit, Result, Tool};
use oxikit_wire::{GenerateResponse, GenerateResponseChunk};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::suite::{Outcome, Places, Report, expect_same};

const DATA: &str = "conformance/genkit/generate.yaml";

#[derive(Deserialize)]
struct Spec {
    tests: Vec<Test>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Test {
    name: String,
    #[serde(default)]
    stream: bool,
    input: Value,
    #[serde(default)]
    stream_chunks: Vec<Vec<GenerateResponseChunk>>,
    model_responses: VecDeque<GenerateResponse>,
    expect_chunks: Option<Value>,
    expect_response: Value,
}

pub(crate) fn run(places: &Places) -> anyhow::Result<Outcome> {
    let path = places.spec.join(DATA);
    if !path.exists() {
        return Ok(places.missing(DATA, 3));
    }
    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let spec: Spec = serde_saphyr::from_str(&text)?;
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let mut report = Report::default();
    for test in spec.tests {
        report.case(test.name.clone(), runtime.block_on(check(test)));
    }
    Ok(Outcome::Ran(report))
}

async fn check(test: Test) -> Result<(), String> {
    let ai = application(&test);
    let text = |status: oxikit::Status| status.to_string();
    let action = ai.registry().resolve_key("/util/generate").await.map_err(text)?;
    let call = Call::new(test.input).in_registry(ai.registry());
    let mut chunks = Vec::new();
    let output = if test.stream {
        let mut run = action.start(call).map_err(text)?;
        loop {
            match run.next().await {
                Some(Event::Chunk(chunk)) => chunks.push(chunk.to_value().map_err(text)?),
                Some(Event::Done(output)) => break output,
                Some(Event::Failed(status)) => return Err(text(status)),
                None => return Err("the run ended without a result".into()),
            }
        }
    } else {
        action.run(call).await.map_err(text)?
    };
    if let Some(expected) = &test.expect_chunks {
        expect_same("chunks", expected, &Value::Array(chunks))?;
    }
    let mut output = output.to_value().map_err(text)?;
    forget_keys(&mut output);
    expect_same("response", &test.expect_response, &output)
}

/// The file is older than the member `key` of tool definitions.
fn forget_keys(output: &mut Value) {
    let tools = output.pointer_mut("/request/tools").and_then(Value::as_array_mut);
    for tool in tools.into_iter().flatten().filter_map(Value::as_object_mut) {
        tool.remove("key");
    }
}

fn application(test: &Test) -> Oxikit {
    let ai = Oxikit::builder().build().expect("nothing is installed that could fail");
    let script = Arc::new(Mutex::new((test.stream_chunks.clone(), test.model_responses.clone())));
    ai.define_model(Model::builder("programmableModel").handler(move |_, _, out| {
        let (chunks, response) = {
            let mut script = script.lock().expect("nobody panics while holding it");
            let chunks = if script.0.is_empty() { Vec::new() } else { script.0.remove(0) };
            (chunks, script.1.pop_front())
        };
        async move {
            for chunk in chunks {
                out.send(chunk).await?;
            }
            response.ok_or_else(|| oxikit::Status::internal("the script is over"))
        }
    }));
    ai.define_tool(Tool::new("testTool", "description", |_: Value| async {
        Ok(json!("tool called"))
    }));
    ai
}
