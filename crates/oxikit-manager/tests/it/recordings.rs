//! Replays recorded exchanges between the official JavaScript runtime and manager:
//! the runtime's part is played from the recording, ours is compared with the
//! official manager's.

use std::collections::HashMap;

use oxikit_manager::{RunHandle, RunSpec};
use serde_json::Value;
use tokio::task::JoinHandle;

use oxikit_testing::manager::{
    Manager, ScriptedRuntime, manager, next_chunk, options, soon, until,
};

/// A result, or the code and the message of a failure.
type RunResult = Result<Value, (u8, String)>;

/// One recording being played.
struct Play<'a> {
    manager: &'a Manager,
    runtime: ScriptedRuntime,
    /// Our ids by those of the recording.
    ids: HashMap<String, Value>,
    runs: HashMap<String, RunHandle>,
    /// The calls other than runs, by their recorded ids.
    calls: HashMap<String, JoinHandle<RunResult>>,
    traces: HashMap<String, String>,
}

#[tokio::test]
async fn the_recorded_runtime_is_managed_as_the_official_manager_does() {
    let folder = oxikit_recordings::path("reflection-v2");
    let mut played = 0;
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        // The edge cases are those of a scripted manager, and of no real one.
        if !name.ends_with(".jsonl") || name.starts_with("js-runtime") {
            continue;
        }
        eprintln!("{name}");
        let manager = manager(options()).await;
        let runtime = manager.runtime("4242").await;
        let (ids, runs, calls, traces) = Default::default();
        let mut play = Play { manager: &manager, runtime, ids, runs, calls, traces };
        for line in std::fs::read_to_string(&path).unwrap().lines() {
            play.line(&serde_json::from_str(line).unwrap()).await;
        }
        assert!(play.runs.is_empty() && play.calls.is_empty(), "{name}");
        manager.is_idle().await;
        played += 1;
    }
    assert!(played > 50, "{played}");
}

impl Play<'_> {
    async fn line(&mut self, line: &Value) {
        let frame = &line["frame"];
        let is_register =
            frame["method"] == "register" || frame["result"]["telemetryServerUrl"] != Value::Null;
        if line["event"] == "proxy-drops-connection" {
            // As the recording does: it is gone, and comes back.
            self.runtime = {
                let gone = std::mem::replace(&mut self.runtime, self.manager.connect().await);
                drop(gone);
                until(|| self.manager.runtimes.list().is_empty()).await;
                self.manager.runtime("4242").await
            };
        } else if frame.is_object() && !is_register {
            match line["dir"].as_str() {
                Some("manager->runtime") => self.ours(frame).await,
                _ => self.theirs(frame).await,
            }
        }
    }

    /// A message of the official manager: makes this manager send the same.
    async fn ours(&mut self, frame: &Value) {
        let recorded_id = frame["id"].as_str().unwrap_or_default().to_owned();
        let params = &frame["params"];
        let runtimes = self.manager.runtimes.clone();
        match frame["method"].as_str().unwrap() {
            "runAction" => {
                let mut spec = RunSpec::new(params.to_string());
                spec.stream = params["stream"].as_bool().unwrap();
                spec.stream_input = params["streamInput"].as_bool().unwrap();
                self.runs.insert(recorded_id.clone(), self.manager.start(spec).await);
            }
            "listActions" => {
                self.call(&recorded_id, async move {
                    let list = runtimes.list_actions(None).await;
                    list.map(|list| list.actions.len().into())
                });
            }
            "listValues" => {
                let kind = params["type"].as_str().unwrap().to_owned();
                self.call(&recorded_id, async move {
                    runtimes.list_values(None, &kind).await.map(Value::Object)
                });
            }
            "cancelAction" => {
                let trace_id = params["traceId"].as_str().unwrap().to_owned();
                self.call(&recorded_id, async move {
                    runtimes.cancel(&trace_id, None).await.map(Value::String)
                });
            }
            "sendInputStreamChunk" => {
                let trace_id = &self.traces[params["requestId"].as_str().unwrap()];
                let chunk = params["chunk"].to_string();
                soon(runtimes.send_input(trace_id, chunk.as_bytes())).await.unwrap();
            }
            "endInputStream" => {
                let trace_id = &self.traces[params["requestId"].as_str().unwrap()];
                soon(runtimes.end_input(trace_id)).await.unwrap();
            }
            other => panic!("{other}"),
        }
        let sent = self.runtime.expect_request(frame["method"].as_str().unwrap()).await;
        self.ids.insert(recorded_id, sent.id);
        assert_eq!(sent.params, self.with_our_ids(params.clone()));
    }

    fn call<E>(&mut self, id: &str, call: E)
    where
        E: Future<Output = Result<Value, oxikit_wire::rpc::ErrorData>> + Send + 'static,
    {
        let call = async move { call.await.map_err(oxikit_testing::manager::code_and_message) };
        self.calls.insert(id.to_owned(), tokio::spawn(call));
    }

    /// A message of the runtime: checks that its caller receives it.
    async fn theirs(&mut self, frame: &Value) {
        let mut sent = frame.clone();
        if let Some(id) = frame["id"].as_str() {
            sent["id"] = self.ids[id].clone();
        }
        sent["params"] = self.with_our_ids(frame["params"].clone());
        self.runtime.send(sent).await;
        let request = frame["params"]["requestId"].as_str().map(str::to_owned);
        match frame["method"].as_str() {
            Some("runActionState") => {
                let trace_id = frame["params"]["state"]["traceId"].as_str().unwrap();
                let run = self.runs.get_mut(request.as_ref().unwrap()).unwrap();
                assert_eq!(soon(run.trace_id()).await.as_deref(), Some(trace_id));
                self.traces.insert(request.unwrap(), trace_id.to_owned());
            }
            Some("streamChunk") => {
                let run = self.runs.get_mut(&request.unwrap()).unwrap();
                assert_eq!(next_chunk(run).await.as_ref(), Some(&frame["params"]["chunk"]));
            }
            Some(other) => panic!("{other}"),
            None => self.answered(frame).await,
        }
    }

    async fn answered(&mut self, frame: &Value) {
        let id = frame["id"].as_str().unwrap();
        let error = &frame["error"];
        let message = || error["data"]["message"].as_str().or(error["message"].as_str());
        if let Some(run) = self.runs.remove(id) {
            match soon(run.finish()).await {
                Ok(outcome) => {
                    let result = outcome.result.map(|text| serde_json::from_slice(&text).unwrap());
                    assert_eq!(result.as_ref(), frame["result"].get("result"));
                    let trace_id = frame["result"]["telemetry"]["traceId"].as_str();
                    assert_eq!(outcome.trace_id.as_deref(), trace_id);
                }
                Err(received) => {
                    assert_eq!(received.message.as_deref(), message());
                    assert!(received.code.is_some_and(|code| code > 0));
                    if let Some(code) = error["data"]["code"].as_u64() {
                        assert_eq!(received.code.map(u64::from), Some(code));
                    }
                }
            }
            return;
        }
        match soon(self.calls.remove(id).unwrap()).await.unwrap() {
            Ok(Value::Number(count)) => {
                let listed = frame["result"]["actions"].as_object().unwrap();
                // A recording may say that the rest stands elsewhere.
                let known = listed.keys().filter(|key| key.starts_with('/')).count();
                assert_eq!(count.as_u64(), Some(known as u64));
            }
            Ok(Value::String(received)) => assert_eq!(received, frame["result"]["message"]),
            Ok(values) => assert_eq!(values, frame["result"]["values"]),
            Err((_, received)) => assert_eq!(Some(received.as_str()), message()),
        }
    }

    fn with_our_ids(&self, mut params: Value) -> Value {
        if let Some(id) = params["requestId"].as_str() {
            params["requestId"] = self.ids[id].clone();
        }
        params
    }
}
