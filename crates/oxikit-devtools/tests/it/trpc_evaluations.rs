//! The official procedures about data sets, evaluations and prompt files.

use std::collections::HashMap;

use oxikit_traces::TraceStore;
use reqwest::Method;
use serde_json::{Value, json};

use super::trpc::exchange;
use oxikit_testing::manager::{ReceivedRequest, ScriptedRuntime, soon};
use oxikit_testing::tools::{Kit, kit, read};

/// Exchanges that are played in their order: each needs those before it.
const PLAYED: [&str; 17] = [
    "listDatasets",
    "createDataset",
    "createDataset-bad-id",
    "getDataset",
    "getDataset-bad-id",
    "listDatasets-2",
    "updateDataset",
    "validateDatasetSchema",
    "validateDatasetSchema-bad",
    "runNewEvaluation",
    "listEvalRunKeys",
    "getEvalRun",
    "getEvalRun-missing",
    "deleteEvalRun",
    "runNewEvaluation-prompt",
    "runNewEvaluation-model",
    "createPrompt",
];

#[tokio::test]
async fn recorded_evaluations_are_answered_as_the_official_tools_do() {
    let kit = kit().await;
    let script = tokio::spawn(play(kit.runtime("one").await, kit.server.traces().clone()));
    let recorded: HashMap<String, Value> =
        oxikit_recordings::lines("tools-api/trpc-exchanges.jsonl")
            .into_iter()
            .map(|line| (line["name"].as_str().unwrap().to_owned(), line))
            .collect();
    let (mut ours, mut theirs) = (Ids::default(), Ids::default());
    for name in PLAYED {
        let exchanged = &recorded[name];
        // They know their own ids, and we ours.
        let request = exchanged["request"].to_string();
        let request = match (&theirs.evaluation, &ours.evaluation) {
            (Some(theirs), Some(ours)) => request.replace(theirs, ours),
            _ => request,
        };
        let request = serde_json::from_str(&request).unwrap();
        let (status, mut body) = exchange(&kit, &request).await;
        let mut response = exchanged["response"].clone();
        assert_eq!(json!(status), response["status"], "{name}: {body}");
        if let Some(data) = response.pointer_mut("/body/error/data") {
            data.as_object_mut().unwrap().remove("stack");
        }
        ours.cover(&mut body);
        theirs.cover(&mut response["body"]);
        assert_eq!(body, response["body"], "{name}");
    }
    script.abort();
}

/// Values that differ from run to run are replaced by their names.
#[derive(Default)]
struct Ids {
    evaluation: Option<String>,
}

impl Ids {
    fn cover(&mut self, value: &mut Value) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| self.cover(item)),
            Value::Object(members) => {
                for (name, value) in members {
                    let text = value.as_str().unwrap_or_default();
                    match name.as_str() {
                        "evalRunId" => self.evaluation = Some(text.to_owned()),
                        "testCaseId" if text.len() != 36 => continue,
                        "testCaseId" | "traceId" | "spanId" | "createdAt" | "createTime"
                        | "updateTime" => {}
                        // Our error messages differ from the official ones.
                        "message" if text.contains("nvalid") || text.contains("evalRuns/") => {}
                        "message" if text.contains("id of a data set") => {}
                        "traceIds" => {
                            *value = json!(value.as_array().unwrap().len());
                            continue;
                        }
                        _ => {
                            self.cover(value);
                            continue;
                        }
                    }
                    assert!(value.is_string(), "{name}: {value}");
                    *value = json!(format!("<{name}>"));
                }
            }
            _ => {}
        }
    }
}

/// The runtime that the recordings were made with, as far as it was asked.
async fn play(mut runtime: ScriptedRuntime, traces: TraceStore) {
    for number in 1_u64.. {
        let mut message = runtime.next().await;
        let method = message["method"].as_str().unwrap().to_owned();
        let asked = ReceivedRequest { id: message["id"].take(), params: message["params"].take() };
        if method == "listActions" {
            runtime.answer(&asked, json!({"actions": actions()})).await;
            continue;
        }
        let trace_id = format!("{number:032x}");
        runtime.state(&asked, &trace_id).await;
        let result = answer(&asked.params, &trace_id);
        let span = json!({"spanId": "1111111111111111", "traceId": trace_id, "startTime": 1,
            "endTime": 2, "attributes": {"genkit:state": "success"}, "displayName": "x",
            "instrumentationLibrary": {"name": "x"}, "spanKind": "INTERNAL"});
        let trace = json!({"traceId": trace_id, "spans": {"1111111111111111": span}});
        traces.ingest(trace.to_string().as_bytes()).await.unwrap();
        runtime.answer(&asked, json!({"result": result, "telemetry": {"traceId": trace_id}})).await;
    }
}

fn actions() -> Value {
    let action = |name: &str| json!({"name": name});
    json!({
        "/flow/greet": {"name": "greet", "inputSchema": {"type": "object",
            "properties": {"name": {"type": "string"}}, "required": ["name"]}},
        "/model/echo/model": action("echo/model"),
        "/executable-prompt/hello": action("hello"),
        "/util/generate": action("generate"),
        "/evaluator/otherEval": action("otherEval"),
        "/evaluator/lengthEval": {"name": "lengthEval", "metadata": {"evaluator": {
            "evaluatorDisplayName": "Length", "evaluatorDefinition": "score = output length"}}},
    })
}

fn answer(params: &Value, trace_id: &str) -> Value {
    let input = &params["input"];
    match params["key"].as_str().unwrap() {
        "/flow/greet" => json!({"text": format!("Hi {}", input["name"].as_str().unwrap())}),
        "/executable-prompt/hello" => json!({"model": "other/model",
            "messages": [{"role": "user", "content": [{"text": "Hello"}]}], "config": {}}),
        "/util/generate" => {
            assert_eq!(input["model"], "echo/model", "{input}");
            // As long as what was recorded.
            json!({"message": {"text": "x".repeat(273 - 23)}})
        }
        "/model/echo/model" => {
            let messages = json!([{"role": "user", "content": [{"text": "hi"}]}]);
            assert_eq!(input, &json!({"messages": messages}));
            json!({"message": {"text": "x".repeat(173 - 23)}})
        }
        "/evaluator/lengthEval" => {
            assert_eq!(input.get("batchSize"), None, "it is only for JavaScript");
            let judge = |case: &Value| {
                let length = case["output"].to_string().len();
                let evaluation = json!({"score": length, "details": {"reasoning": "len"}});
                json!({"testCaseId": case["testCaseId"], "evaluation": evaluation,
                    "traceId": trace_id, "spanId": "2222222222222222", "sampleIndex": 0})
            };
            input["dataset"].as_array().unwrap().iter().map(judge).collect()
        }
        other => panic!("{other} was not to be asked"),
    }
}

async fn call(kit: &Kit, name: &str, input: Value) -> (u16, Value) {
    kit.post(&format!("/api/{name}"), input).await
}

#[tokio::test]
async fn inputs_that_make_no_sense_are_bad_requests() {
    let kit = kit().await;
    for (name, input) in [
        ("createDataset", json!({"datasetType": "FLOW"})),
        ("createDataset", json!({"data": [], "datasetType": "NEW"})),
        ("createDataset", json!([])),
        ("deleteDataset", json!("../x")),
        ("deleteDataset", json!({})),
        ("deleteEvalRun", json!({})),
        ("runNewEvaluation", json!({"dataSource": {"data": []}})),
        ("validateDatasetSchema", json!({"dataSource": {}})),
        ("createPrompt", json!({"model": "m"})),
    ] {
        let (status, error) = call(&kit, name, input.clone()).await;
        assert_eq!(status, 400, "{name} {input}: {error}");
        assert_eq!(error["error"]["data"]["code"], "BAD_REQUEST", "{name} {input}");
    }
    for path in ["getDataset", "getEvalRun", "getEvalRun?input={}", "listEvalRunKeys?input=[]"] {
        assert_eq!(kit.get(&format!("/api/{path}")).await.0, 400, "{path}");
    }
    let (status, missing) = kit.get("/api/getDataset?input=\"nothing-here\"").await;
    assert_eq!((status, &missing["error"]["code"]), (500, &json!(-32603)));
    // As the recorded client has sent it, which is not JSON.
    let request = kit.call(Method::POST, "/api/deleteDataset");
    let request = request.header("content-type", "application/json").body("greetings");
    let (status, error) = read(soon(request.send()).await.unwrap()).await;
    assert_eq!((status, &error["error"]["code"]), (400, &json!(-32700)));
}

#[tokio::test]
async fn a_data_set_is_removed_and_a_missing_evaluation_is_no_failure() {
    let kit = kit().await;
    let new = json!({"data": [{"input": 1}], "datasetType": "UNKNOWN"});
    let (status, made) = call(&kit, "createDataset", new).await;
    let id = made["result"]["data"]["datasetId"].clone();
    assert_eq!(status, 200, "{made}");
    let gone = (200, json!({"result": {}}));
    assert_eq!(call(&kit, "deleteDataset", id.clone()).await, gone);
    assert_eq!(call(&kit, "deleteDataset", id).await.0, 500);
    assert_eq!(call(&kit, "deleteEvalRun", json!({"name": "evalRuns/nope"})).await, gone);
}
