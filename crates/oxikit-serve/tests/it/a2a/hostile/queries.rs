//! Wrong parameters of reads and lists.

use oxikit_wire::a2a::ErrorKind::InvalidParams;
use oxikit_wire::a2a::Version;
use serde_json::{Value, json};

use super::{Way, answer_json, target};

#[tokio::test]
async fn lists_with_wrong_parameters_are_refused() {
    let target = target().await;
    let way = Way::Rpc(Version::V1_0);
    for params in [
        json!({ "pageSize": 0 }),
        json!({ "pageSize": 101 }),
        json!({ "pageSize": -1 }),
        json!({ "pageSize": u64::MAX }),
        json!({ "pageSize": "many" }),
        json!({ "pageSize": 1.5 }),
        json!({ "pageSize": {} }),
        json!({ "pageToken": "no" }),
        json!({ "pageToken": 7 }),
        json!({ "pageToken": "../../etc/passwd" }),
        json!({ "pageToken": "' OR 1=1 --" }),
        json!({ "pageToken": "MA==" }),
        json!({ "pageToken": "x".repeat(100_000) }),
        json!({ "historyLength": -1 }),
        json!({ "historyLength": "x" }),
        json!({ "status": "TASK_STATE_FLYING" }),
        json!({ "status": 99 }),
        json!({ "statusTimestampAfter": "yesterday" }),
        json!({ "statusTimestampAfter": 7 }),
        json!({ "includeArtifacts": "maybe" }),
        json!({ "contextId": 7 }),
        json!({ "tenant": {} }),
    ] {
        let request = json!({ "jsonrpc": "2.0", "id": 7, "method": "ListTasks", "params": params });
        let answer = target.post("/a2a/counted", "", request.to_string()).await;
        let what = params.to_string();
        way.assert_refused(&answer, InvalidParams, &what[..what.len().min(200)]);
    }
    target.assert_untouched().await;
}

#[tokio::test]
async fn queries_with_wrong_parameters_are_refused() {
    let target = target().await;
    let sent = target.send(Way::Rest(Version::V1_0), false, &message("hello")).await;
    let task = answer_json(&sent)["task"]["id"].as_str().unwrap().to_owned();
    let lists = [
        "pageSize=0",
        "pageSize=101",
        "pageSize=-1",
        "pageSize=",
        "pageSize=18446744073709551615",
        "pageSize=1&pageSize=0",
        "page_size=0",
        "pageToken=no",
        "pageToken=%00",
        "pageToken=%ff",
        "historyLength=-1",
        "history_length=-1",
        "historyLength=one",
        "status=FLYING",
        "statusTimestampAfter=now",
        "includeArtifacts=maybe",
        "include_artifacts=maybe",
    ];
    let reads =
        ["historyLength=-1", "historyLength=", "historyLength=1.5", "history_length=-1", "x=%ff"];
    for version in [Version::V0_3, Version::V1_0] {
        let prefix = if version == Version::V0_3 { "v1/" } else { "" };
        let lists = lists.iter().map(|query| format!("tasks?{query}"));
        let reads = reads.iter().map(|query| format!("tasks/{task}?{query}"));
        for query in lists.chain(reads) {
            let path = format!("/a2a/counted/{prefix}{query}");
            let answer = target.request("GET", &path, "", "").await;
            Way::Rest(version).assert_refused(&answer, InvalidParams, &query);
        }
    }
}

/// Proto JSON allows both spellings of a member, and clients use both.
#[tokio::test]
async fn queries_are_read_in_both_spellings() {
    let target = target().await;
    target.send(Way::Rest(Version::V1_0), false, &message("hello")).await;
    for query in ["historyLength=0&pageSize=1", "history_length=0&page_size=1"] {
        let path = format!("/a2a/counted/tasks?{query}");
        let list = answer_json(&target.request("GET", &path, "", "").await);
        assert_eq!(list["pageSize"], 1, "{list}");
        assert!(list["tasks"][0].get("history").is_none(), "{list}");
        let id = list["tasks"][0]["id"].as_str().unwrap();
        for prefix in ["", "v1/"] {
            let path = format!("/a2a/counted/{prefix}tasks/{id}?{query}");
            let task = answer_json(&target.request("GET", &path, "", "").await);
            assert!(task.get("history").is_none(), "{path} {task}");
        }
    }
    for query in ["includeArtifacts=true", "include_artifacts=true"] {
        let path = format!("/a2a/counted/tasks?{query}");
        let answer = target.request("GET", &path, "", "").await;
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
}

fn message(text: &str) -> String {
    let parts = json!([{ "text": text }]);
    let message: Value = json!({ "messageId": "m", "role": "ROLE_USER", "parts": parts });
    json!({ "message": message }).to_string()
}
