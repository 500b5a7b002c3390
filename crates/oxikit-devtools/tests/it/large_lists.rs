//! Very large lists of a runtime do not delay other requests.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use oxikit_testing::manager::{ScriptedRuntime, soon};
use oxikit_testing::tools::{Kit, kit};

/// A call of another runtime takes a few milliseconds; a debug build on a busy machine is
/// allowed this.
const OTHERS: Duration = Duration::from_secs(2);

/// Many small entries, about 26 MiB of them.
fn endless() -> String {
    let mut list = String::from("{");
    for number in 0..500_000 {
        let comma = if number == 0 { "" } else { "," };
        _ = write!(list, r#"{comma}"/flow/{number:010}":{{"name":"flow-{number:010}"}}"#);
    }
    list + "}"
}

/// Answers all that it is asked.
async fn serve(mut runtime: ScriptedRuntime, list: String) {
    loop {
        let asked = runtime.next().await;
        let (id, method) = (&asked["id"], asked["method"].as_str().unwrap_or_default());
        let result = match method {
            "listActions" => format!(r#"{{"actions":{list}}}"#),
            "listValues" => format!(r#"{{"values":{list}}}"#),
            _ => r#"{"result":"done"}"#.to_owned(),
        };
        runtime.send_text(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)).await;
    }
}

/// Calls a runtime until `over` is; the longest time that took.
async fn slowest_call(kit: &Kit, over: impl Future<Output = ()>) -> Duration {
    let mut slowest = Duration::ZERO;
    tokio::pin!(over);
    loop {
        let body = json!({"key": "/flow/x", "input": 1, "runtimeId": "small"});
        let began = Instant::now();
        let (_, answer) = kit.post("/api/v1/run", body).await;
        assert_eq!(answer["result"], "done", "{answer}");
        slowest = slowest.max(began.elapsed());
        tokio::select! {
            () = &mut over => return slowest,
            () = tokio::time::sleep(Duration::from_millis(5)) => {}
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_without_an_end_is_refused_and_others_do_not_notice() {
    let kit = kit().await;
    tokio::spawn(serve(kit.runtime("big").await, endless()));
    tokio::spawn(serve(kit.runtime("small").await, "{}".to_owned()));
    let refused = async {
        let paths = [
            "/api/v1/actions?runtime=big",
            "/api/v1/actions/flow/x?runtime=big",
            "/api/v1/values/middleware?runtime=big",
            "/api/agents?runtime=big",
            "/api/agents/x?runtime=big",
            "/reflection/big/api/actions",
            "/reflection/big/api/values?type=middleware",
            "/api/listActions?input=%7B%22runtimeId%22%3A%22big%22%7D",
        ];
        let kit = &kit;
        let answers = paths.map(|path| async move { (path, kit.get(path).await) });
        for (path, (status, answer)) in futures_util::future::join_all(answers).await {
            let text = answer.to_string();
            assert!(status >= 400 && text.contains("list"), "{path}: {status} {text:.300}");
            assert!(
                text.contains("the limit is ") || text.contains("more than 10000"),
                "{text:.300}"
            );
        }
    };
    let slowest = soon(slowest_call(&kit, refused)).await;
    assert!(slowest < OTHERS, "a call of another runtime took {slowest:?}");
}

#[tokio::test]
async fn who_asks_at_the_same_time_gets_the_same_list() {
    let kit = kit().await;
    let mut runtime = kit.runtime("one").await;
    let lists = futures_util::future::join_all((0..8).map(|_| kit.get("/api/v1/actions")));
    let (lists, ()) = tokio::join!(lists, async {
        let asked = runtime.expect_request("listActions").await;
        // All of them have asked when this one has been answered.
        let health = (0..20).map(|_| kit.get("/api/v1/runtimes"));
        futures_util::future::join_all(health).await;
        let schema = json!({"type": "object", "properties": {"n": {"const": 1.5}}});
        let action = json!({"name": "x", "inputSchema": schema, "metadata": {"a": null}});
        runtime.answer(&asked, json!({"actions": {"/flow/x": action}})).await;
    });
    for (status, list) in lists {
        assert_eq!(status, 200);
        let action = &list["actions"]["/flow/x"];
        assert_eq!((&action["key"], &action["name"]), (&json!("/flow/x"), &json!("x")));
        assert_eq!(action["inputSchema"]["properties"]["n"]["const"], 1.5);
        assert_eq!(action["description"], Value::Null);
        assert!(action.get("description").is_none() && action["metadata"] == json!({"a": null}));
    }
    // A later caller causes a new request: the response is not cached.
    let (later, ()) = tokio::join!(kit.get("/api/v1/actions"), async {
        let asked = runtime.expect_request("listActions").await;
        runtime.answer(&asked, json!({})).await;
    });
    assert_eq!(later.1["actions"], json!({}));
}

#[tokio::test]
async fn entries_that_are_too_large_or_too_deep_do_not_hide_the_others() {
    let kit = kit().await;
    let mut runtime = kit.runtime("one").await;
    let (list, ()) = tokio::join!(kit.get("/api/v1/actions"), async {
        let asked = runtime.expect_request("listActions").await;
        let (large, deep) = ("x".repeat(2 << 20), "[".repeat(500) + &"]".repeat(500));
        runtime
            .send_text(format!(
                r#"{{"jsonrpc":"2.0","id":{},"result":{{"actions":{{"/flow/good":{{"name":"good"}},
                "/flow/deep":{{"name":"deep","inputSchema":{deep}}},
                "/flow/large":{{"name":"large","description":"{large}"}}}}}}}}"#,
                asked.id
            ))
            .await;
    });
    let keys: Vec<_> = list.1["actions"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(keys, ["/flow/good"]);
    let skipped: Vec<_> = list.1["skipped"].as_array().unwrap().iter().collect();
    assert_eq!(
        skipped.iter().map(|it| &it["key"]).collect::<Vec<_>>(),
        ["/flow/deep", "/flow/large"]
    );
}

#[tokio::test]
async fn a_registration_without_an_end_is_refused() {
    let kit = kit().await;
    let long = "x".repeat(100_000);
    for params in [
        json!({"id": "a", "pid": 1, "name": long}),
        json!({"id": "a", "pid": 1, "envs": vec!["dev"; 50_000]}),
        json!({"id": "a", "pid": 1, "genkitVersion": long, "other": long}),
    ] {
        let mut runtime = kit.connect().await;
        let answer = runtime.request("1", "register", params).await;
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
    assert!(kit.server.runtimes().list().is_empty());
}
