//! Recorded responses of the official tools to calls of runs, compared with ours: the runtime's
//! part is made from the recorded answer, ours is compared with it.

use serde_json::{Value, json};

use oxikit_testing::manager::{ScriptedRuntime, soon};
use oxikit_testing::tools::{Kit, kit};

#[tokio::test]
async fn recorded_runs_are_answered_as_the_official_tools_do() {
    let kit = kit().await;
    let mut runtime = kit.runtime("one").await;
    let mut played = 0;
    for exchange in oxikit_recordings::lines("tools-api/run-exchanges.v2-manager.jsonl") {
        let path = exchange["request"]["path"].as_str().unwrap();
        let is_run = path.starts_with("/api/runAction") || path.starts_with("/api/streamAction");
        if !is_run || exchange["request"]["body"].get("runtimeId").is_some() {
            continue;
        }
        play(&kit, &mut runtime, path, &exchange).await;
        played += 1;
    }
    assert!(played >= 40, "{played}");
}

async fn play(kit: &Kit, runtime: &mut ScriptedRuntime, path: &str, exchange: &Value) {
    let name = &exchange["name"];
    let recorded = &exchange["response"];
    let answer = kit.post_response(path, exchange["request"]["body"].clone());
    let (answer, ()) = tokio::join!(answer, act(runtime, recorded));
    assert_eq!(answer.status().as_u16(), recorded["status"], "{name}");
    for header in ["content-type", "x-genkit-trace-id"] {
        let ours = answer.headers().get(header).map(|value| value.to_str().unwrap());
        assert_eq!(ours, recorded["headers"][header].as_str(), "{name}: {header}");
    }
    let text = soon(answer.text()).await.unwrap();
    let mut ours: Vec<Value> =
        text.split('\n').map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut theirs = match recorded["lines"].as_array() {
        Some(lines) => lines.clone(),
        None => vec![recorded["body"].clone()],
    };
    if theirs.last().unwrap()["error"] == json!({"data": {}}) {
        // There the reason gets lost on the way.
        let error = ours.pop().unwrap();
        assert_eq!(error["error"]["message"], "action not found", "{name}");
        assert_eq!(error["error"]["code"], 5, "{name}");
        theirs.pop();
    }
    assert_eq!(ours, theirs, "{name}");
}

/// The runtime's part.
async fn act(runtime: &mut ScriptedRuntime, recorded: &Value) {
    let asked = runtime.expect_request("runAction").await;
    if let Some(trace_id) = recorded["headers"]["x-genkit-trace-id"].as_str() {
        runtime.state(&asked, trace_id).await;
    }
    let none = Vec::new();
    let lines = recorded["lines"].as_array().unwrap_or(&none);
    let (end, chunks) = match lines.split_last() {
        Some((end, chunks)) => (end, chunks),
        None => (&recorded["body"], &[][..]),
    };
    for chunk in chunks {
        runtime.chunk(&asked, chunk.clone()).await;
    }
    match end.get("error") {
        None => runtime.answer(&asked, end.clone()).await,
        Some(error) if error.get("code").is_none() => {
            let error = json!({"code": -32602, "message": "action not found"});
            runtime.fail(&asked, error).await;
        }
        Some(error) => {
            let data = json!({"code": error["code"], "message": error["message"], "details": error["details"]});
            let error = json!({"code": -32000, "message": error["message"], "data": data});
            runtime.fail(&asked, error).await;
        }
    }
}
