//! The files and routes by which official commands reach connected runtimes.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use reqwest::{Method, Response};
use serde_json::{Value, json};

use oxikit_testing::manager::{TRACE, soon, until};
use oxikit_testing::tools::{Kit, kit, kit_with, read};

/// The files of the project that stand for runtimes.
fn files(kit: &Kit) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(kit.root().join(".genkit/runtimes")) else { return Vec::new() };
    let files = entries.map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|ending| ending == "json")).collect()
}

/// The only file, once it is there.
async fn file(kit: &Kit) -> Value {
    until(|| files(kit).len() == 1).await;
    let path = files(kit).remove(0);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// Calls as the official tools do: without a header that opens anything.
async fn call(kit: &Kit, file: &Value, path: &str, body: Option<Value>) -> Response {
    let url = format!("{}/api/{path}", file["reflectionServerUrl"].as_str().unwrap());
    let method = if body.is_some() { Method::POST } else { Method::GET };
    let mut request = kit.client.request(method, url);
    if let Some(body) = body {
        request = request.json(&body);
    }
    soon(request.send()).await.unwrap()
}

#[tokio::test]
async fn a_connected_runtime_has_a_file_until_it_disconnects() {
    let kit = kit().await;
    let runtime = kit.runtime("one/1 ü").await;
    let file = file(&kit).await;
    assert_eq!((&file["id"], &file["name"]), (&json!("one/1 ü"), &json!("app")));
    assert_eq!(
        (&file["genkitVersion"], &file["pid"]),
        (&json!("test/1"), &std::process::id().into())
    );
    assert_eq!(file["reflectionApiSpecVersion"], 1);
    let health = call(&kit, &file, "__health?id=one%2F1+%C3%BC", None).await;
    assert_eq!(health.status(), 200);
    assert_eq!(call(&kit, &file, "__health?id=two", None).await.status(), 503);
    assert_eq!(call(&kit, &file, "notify", Some(json!({}))).await.status(), 200);

    drop(runtime);
    until(|| files(&kit).is_empty()).await;
    assert_eq!(call(&kit, &file, "__health", None).await.status(), 503);

    let _two = kit.runtime("two").await;
    until(|| files(&kit).len() == 1).await;
    let root = kit.root().to_owned();
    kit.server.close().await;
    assert_eq!(fs::read_dir(root.join(".genkit/runtimes")).unwrap().count(), 0);
}

#[tokio::test]
async fn what_is_asked_there_is_asked_of_that_runtime() {
    let kit = kit().await;
    let mut one = kit.runtime("one").await;
    let file = file(&kit).await;
    // The second runtime becomes the default one.
    let _two = kit.runtime("two").await;

    let body = json!({"key": "/flow/greet", "input": 1, "runtimeId": "two"});
    let unary = call(&kit, &file, "runAction", Some(body.clone()));
    let (unary, ()) = tokio::join!(unary, async {
        let asked = one.expect_request("runAction").await;
        assert_eq!(asked.params["key"], "/flow/greet");
        one.state(&asked, TRACE).await;
        one.answer(&asked, json!({"result": "hi"})).await;
    });
    assert_eq!(unary.headers()["x-genkit-trace-id"], TRACE);
    assert_eq!(read(unary).await.1["result"], "hi");

    let streamed = call(&kit, &file, "runAction?stream=true", Some(body.clone()));
    let (streamed, ()) = tokio::join!(streamed, async {
        let asked = one.expect_request("runAction").await;
        assert_eq!(asked.params["stream"], true);
        one.chunk(&asked, json!(1)).await;
        one.answer(&asked, json!({"result": "hi"})).await;
    });
    assert_eq!(soon(streamed.text()).await.unwrap(), "1\n{\"result\":\"hi\"}");

    // The official tools read a reason only from an answer that is good.
    let failed = call(&kit, &file, "runAction", Some(body));
    let (failed, ()) = tokio::join!(failed, async {
        let asked = one.expect_request("runAction").await;
        let error = json!({"code": -32602, "message": "action /flow/greet not found"});
        one.fail(&asked, error).await;
    });
    let (status, failed) = read(failed).await;
    assert_eq!((status, &failed["error"]["code"]), (200, &json!(5)));
    assert!(failed["error"]["details"].is_object(), "{failed}");

    let cancelled = call(&kit, &file, "cancelAction", Some(json!({"traceId": TRACE})));
    let (cancelled, ()) = tokio::join!(cancelled, async {
        let asked = one.expect_request("cancelAction").await;
        let error = json!({"code": -32602, "message": "Action not found or already completed"});
        one.fail(&asked, error).await;
    });
    let message = json!({"message": "Action not found or already completed"});
    assert_eq!(read(cancelled).await, (404, message));
}

#[tokio::test]
async fn files_of_tools_that_were_killed_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let runtimes = folder.path().join(".genkit/runtimes");
    fs::create_dir_all(&runtimes).unwrap();
    let dead = runtimes.join(format!("oxikit-{}-1.json", i32::MAX));
    let alive = runtimes.join(format!("oxikit-{}-1.json", std::process::id()));
    let foreign = runtimes.join("4242-3100-1.txt");
    for path in [&dead, &alive, &foreign] {
        fs::write(path, "{}").unwrap();
    }
    let root = folder.path().to_owned();
    let _kit = kit_with(|options| {
        let mut options = options;
        options.root = root;
        options
    })
    .await;
    until(|| !dead.exists()).await;
    assert!(alive.exists() && foreign.exists());
}
