//! Agents of a runtime in the shape of the REST API for agents.

use serde_json::{Value, json};

use oxikit_testing::manager::{ScriptedRuntime, TRACE, soon};
use oxikit_testing::tools::{Kit, kit};

/// A runtime with two agents.
pub(super) async fn agents() -> (Kit, ScriptedRuntime) {
    let kit = kit().await;
    let runtime = kit.runtime("one").await;
    (kit, runtime)
}

fn snapshot(status: &str) -> Value {
    json!({"snapshotId": "n1", "sessionId": "s1", "createdAt": "2026-11-15T06:15:56.549Z",
        "status": status, "state": {"sessionId": "s1", "custom": {"turns": 1}, "artifacts": [],
            "messages": [{"role": "user", "content": [{"text": "hi"}]}]}})
}

#[tokio::test]
async fn agents_are_listed_with_who_keeps_their_state() {
    let (kit, mut runtime) = agents().await;
    let (list, ()) = tokio::join!(kit.get("/api/agents"), runtime.answer_agent_list());
    let names: Vec<_> = list.1["agents"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(names, ["free", "kept"]);
    assert_eq!(list.1["agents"]["kept"]["hasStore"], true);
    let (agent, ()) =
        tokio::join!(kit.get("/api/agents/free?runtime=one"), runtime.answer_agent_list());
    assert_eq!((agent.0, &agent.1["hasStore"]), (200, &json!(false)));
    assert_eq!(agent.1["inputSchema"], json!({"type": "object"}));
    let (missing, ()) = tokio::join!(kit.get("/api/agents/nobody"), runtime.answer_agent_list());
    assert_eq!(missing.0, 404);
}

#[tokio::test]
async fn a_turn_is_answered_with_the_state_behind_its_snapshot() {
    let (kit, mut runtime) = agents().await;
    let body = json!({"input": "hi", "init": {"sessionId": "s1"}});
    let (answer, ()) = tokio::join!(kit.post("/api/agents/kept/execute", body), async {
        runtime.answer_agent_list().await;
        let turn = runtime.expect_run("/agent/kept").await;
        let message = json!({"role": "user", "content": [{"text": "hi"}]});
        assert_eq!(turn.params["input"], json!({"message": message}));
        assert_eq!(turn.params["init"], json!({"sessionId": "s1"}));
        let output = json!({"sessionId": "s1", "snapshotId": "n1", "finishReason": "stop"});
        runtime.answer(&turn, json!({"result": output})).await;
        let read = runtime.expect_run("/agent-snapshot/kept").await;
        assert_eq!(read.params["input"], json!({"snapshotId": "n1"}));
        runtime.answer(&read, json!({"result": snapshot("completed")})).await;
    });
    assert_eq!(answer.0, 200, "{}", answer.1);
    let result = &answer.1["result"];
    assert_eq!((&result["sessionId"], &result["state"]), (&json!("s1"), &json!({"turns": 1})));
    assert_eq!(result["messages"].as_array().unwrap().len(), 1);
    assert_eq!(answer.1["telemetry"]["traceId"], TRACE);
    let body = json!({"input": "hi", "init": {"messages": [{"role": "user", "content": []}]}});
    let refused = kit.post("/api/agents/kept/execute", body);
    let (refused, ()) = tokio::join!(refused, runtime.answer_agent_list());
    assert_eq!(refused.1["status"], "FAILED_PRECONDITION");
}

#[tokio::test]
async fn a_turn_is_sent_as_events() {
    let (kit, mut runtime) = agents().await;
    let body = json!({"input": {"role": "user", "content": [{"text": "hi"}]}, "stream": true});
    let (answer, ()) = tokio::join!(kit.post_response("/api/agents/free/execute", body), async {
        runtime.answer_agent_list().await;
        let turn = runtime.expect_run("/agent/free").await;
        let session = turn.params["init"]["state"]["sessionId"].clone();
        for chunk in [
            json!({"modelChunk": {"content": [{"text": "a"}]}}),
            json!({"customPatch": [{"op": "replace", "path": "", "value": {"turns": 1}}]}),
            json!({"artifact": {"name": "note", "parts": []}}),
            json!({"turnEnd": {"finishReason": "stop"}}),
        ] {
            runtime.chunk(&turn, chunk).await;
        }
        let state = json!({"sessionId": session, "messages": [], "custom": {"turns": 1}});
        let output = json!({"sessionId": session, "state": state, "finishReason": "stop"});
        runtime.answer(&turn, json!({"result": output})).await;
    });
    assert_eq!(answer.headers()["x-genkit-trace-id"], TRACE);
    let text = soon(answer.text()).await.unwrap();
    let events: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("event: ")).collect();
    let expected = ["chunk", "stateUpdate", "artifact", "turnEnd", "done", "telemetry"];
    assert_eq!(events, expected, "{text}");
    assert!(text.contains(r#""stateUpdate":{"turns":1}"#), "{text}");
    assert!(text.contains(TRACE), "{text}");
}

#[tokio::test]
async fn a_turn_that_fails_says_why() {
    let (kit, mut runtime) = agents().await;
    let body = json!({"input": "hi", "stream": true});
    let (answer, ()) = tokio::join!(kit.post_response("/api/agents/free/execute", body), async {
        runtime.answer_agent_list().await;
        let turn = runtime.expect_run("/agent/free").await;
        let data = json!({"code": 7, "message": "not for you", "details": {}});
        runtime.fail(&turn, json!({"code": -32000, "message": "x", "data": data})).await;
    });
    let text = soon(answer.text()).await.unwrap();
    assert!(text.starts_with("event: error\n") && text.contains("PERMISSION_DENIED"), "{text}");
}

#[tokio::test]
async fn the_work_of_a_session_is_stopped() {
    let (kit, mut runtime) = agents().await;
    let (stopped, ()) =
        tokio::join!(kit.post("/api/agents/kept/sessions/s1/abort", json!({})), async {
            runtime.answer_agent_list().await;
            let read = runtime.expect_run("/agent-snapshot/kept").await;
            assert_eq!(read.params["input"], json!({"sessionId": "s1"}));
            runtime.answer(&read, json!({"result": snapshot("pending")})).await;
            let stop = runtime.expect_run("/agent-abort/kept").await;
            assert_eq!(stop.params["input"], json!({"snapshotId": "n1"}));
            let stopped = json!({"snapshotId": "n1", "status": "pending"});
            runtime.answer(&stop, json!({"result": stopped})).await;
        });
    assert_eq!((stopped.0, &stopped.1["aborted"]), (200, &json!(["n1"])));
}

#[tokio::test]
async fn a_snapshot_is_read_by_its_id_or_by_its_session() {
    let (kit, mut runtime) = agents().await;
    for (query, input) in [
        ("sessionId=s1", json!({"sessionId": "s1"})),
        ("snapshotId=n1", json!({"snapshotId": "n1"})),
    ] {
        let path = format!("/api/agents/kept/snapshot?{query}");
        let (read, ()) = tokio::join!(kit.get(&path), async {
            runtime.answer_agent_list().await;
            let asked = runtime.expect_run("/agent-snapshot/kept").await;
            assert_eq!(asked.params["input"], input);
            runtime.answer(&asked, json!({"result": snapshot("completed")})).await;
        });
        assert_eq!(read, (200, snapshot("completed")));
    }
    let (missing, ()) = tokio::join!(kit.get("/api/agents/kept/snapshot?sessionId=s2"), async {
        runtime.answer_agent_list().await;
        let asked = runtime.expect_run("/agent-snapshot/kept").await;
        let data = json!({"code": 5, "message": "no such thing", "details": {}});
        runtime.fail(&asked, json!({"code": -32000, "message": "x", "data": data})).await;
    });
    assert_eq!((missing.0, &missing.1["message"]), (404, &json!("there is no session `s2`")));
    let free = kit.get("/api/agents/free/snapshot?sessionId=s1");
    let (free, ()) = tokio::join!(free, runtime.answer_agent_list());
    assert_eq!(free.1["status"], "FAILED_PRECONDITION");
    for query in ["", "?sessionId=", "?sessionId=a&snapshotId=b"] {
        let refused = kit.get(&format!("/api/agents/kept/snapshot{query}")).await;
        assert_eq!((refused.0, &refused.1["status"]), (400, &json!("INVALID_ARGUMENT")));
    }
}
