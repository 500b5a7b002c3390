//! Readers that come back must not start anything a second time.

use oxikit_devtools::route_table;
use reqwest::Method;
use serde_json::json;

use oxikit_testing::manager::{TRACE, soon};
use oxikit_testing::tools::{Kit, kit, read};

/// Headers of clients that want to resume.
const POSITIONS: [(&str, &str); 5] = [
    ("last-event-id", "0123456789abcdef0123456789abcdef/3"),
    ("last-event-id", "2"),
    ("last-event-id", ""),
    ("x-genkit-stream-id", "5f0c"),
    ("x-oxikit-stream-position", "4"),
];

/// Every route that has an effect; parts of paths are made up.
fn acting_routes() -> Vec<(Method, String)> {
    let filled = |path: String| {
        let part = |part: &str| match part.starts_with('{') {
            true => TRACE.to_owned(),
            false => part.to_owned(),
        };
        path.split('/').map(part).collect::<Vec<_>>().join("/")
    };
    let acts = |(method, path): &(&str, String)| *method != "GET" && path != "/api/streamTrace";
    let routes = route_table().into_iter().filter(acts);
    routes.map(|(method, path)| (method.parse().unwrap(), filled(path))).collect()
}

async fn check(kit: &Kit, method: &Method, path: &str, position: (&str, &str)) {
    let body = json!({"key": "/flow/order", "input": "one tea", "stream": true});
    let call = kit.call(method.clone(), path).header(position.0, position.1).json(&body);
    let (status, answer) = read(soon(call.send()).await.unwrap()).await;
    let message = answer["message"].as_str().unwrap_or_default();
    assert_eq!(status, 404, "{method} {path} {position:?}: {answer}");
    assert!(message.contains("nothing was run") && message.contains(position.0), "{answer}");
}

#[tokio::test]
async fn no_route_starts_anything_for_a_reader_that_comes_back() {
    let kit = kit().await;
    let mut runtime = kit.runtime("one").await;
    let routes = acting_routes();
    let starts = [
        "/api/v1/run",
        "/api/v1/stream",
        "/api/runAction",
        "/api/streamAction",
        "/api/v1/evaluations",
        "/api/v1/evaluations/stream",
    ];
    for path in starts {
        assert!(routes.iter().any(|(_, known)| known == path), "{path} is not tried");
    }
    for (method, path) in &routes {
        for position in POSITIONS {
            check(&kit, method, path, position).await;
        }
    }
    // The runtime was asked nothing before this.
    let body = json!({"key": "/flow/order", "input": "last"});
    let (answer, ()) = tokio::join!(kit.post("/api/v1/run", body), async {
        let asked = runtime.expect_request("runAction").await;
        assert_eq!(asked.params["input"], "last");
        runtime.answer(&asked, json!({"result": "done"})).await;
    });
    assert_eq!(answer.1["result"], "done");
}

#[tokio::test]
async fn a_turn_is_not_done_twice_for_a_reader_that_comes_back() {
    let kit = kit().await;
    let mut runtime = kit.runtime("one").await;
    let body = json!({"input": "one tea", "stream": true});
    let (first, ()) =
        tokio::join!(kit.post_response("/api/agents/free/execute", body.clone()), async {
            runtime.answer_agent_list().await;
            let turn = runtime.expect_run("/agent/free").await;
            runtime.chunk(&turn, json!({"modelChunk": {"content": [{"text": "a"}]}})).await;
            runtime.answer(&turn, json!({"result": {"finishReason": "stop"}})).await;
        });
    let text = soon(first.text()).await.unwrap();
    let id = text.lines().find_map(|line| line.strip_prefix("id: ")).unwrap().to_owned();
    let again = kit.call(Method::POST, "/api/agents/free/execute").header("Last-Event-ID", id);
    let (status, _) = read(soon(again.json(&body).send()).await.unwrap()).await;
    assert_eq!(status, 404);
    // The next that the runtime is asked is something else.
    tokio::join!(kit.get("/api/agents"), runtime.answer_agent_list());
}
