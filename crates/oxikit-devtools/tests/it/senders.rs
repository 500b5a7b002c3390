//! Whose spans are taken without a token: those of processes that the tools know.
#![cfg(target_os = "linux")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use oxikit_core::Status;
use oxikit_devtools::{AppControl, AppState, AppStatus};
use serde_json::{Value, json};
use tokio::process::Command;

use oxikit_testing::manager::soon;
use oxikit_testing::tools::{Kit, kit_with, read};

/// An application whose process is what a test says; 0 is none.
#[derive(Debug, Default)]
struct Fake(AtomicU32);

#[async_trait]
impl AppControl for Fake {
    fn status(&self) -> AppStatus {
        let pid = Some(self.0.load(Ordering::SeqCst)).filter(|pid| *pid > 0);
        let state = if pid.is_some() { AppState::Running } else { AppState::Stopped };
        let (command, last_lines) = (Vec::new(), Vec::new());
        AppStatus { state, pid, command, exit: None, last_lines, restarts: 0 }
    }

    async fn restart(&self) -> Result<(), Status> {
        Ok(())
    }

    async fn stop(&self) -> Result<(), Status> {
        Ok(())
    }
}

async fn strict_kit(is_strict: bool) -> (Kit, Arc<Fake>) {
    let app = Arc::new(Fake::default());
    let kit = kit_with(|mut options| {
        options.telemetry.strict = is_strict;
        options
    })
    .await;
    kit.server.set_app(app.clone());
    (kit, app)
}

/// Posts a span and a log line without a token, over a connection of its own.
async fn send(kit: &Kit, id: &str) -> (u16, u16) {
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let telemetry = &kit.server.urls().telemetry;
    let (base, _) = telemetry.split_once("/t/").unwrap();
    let span = json!({"spanId": "s1", "traceId": id, "startTime": 1, "endTime": 2,
        "attributes": {}, "displayName": "python", "instrumentationLibrary": {"name": "test"},
        "spanKind": "INTERNAL"});
    let trace = json!({"traceId": id, "spans": {"s1": span}});
    let logs = json!({"resourceLogs": [{"scopeLogs": [{"logRecords": [
        {"timeUnixNano": "1", "body": {"stringValue": id}}]}]}]});
    let spans = client.post(format!("{base}/api/traces")).json(&trace).send();
    let spans = soon(spans).await.unwrap().status().as_u16();
    let logs = soon(client.post(format!("{base}/api/otlp")).json(&logs).send()).await.unwrap();
    (spans, logs.status().as_u16())
}

/// The marks of a trace and of its log line.
async fn marks(kit: &Kit, id: &str) -> (Value, Value) {
    let telemetry = &kit.server.urls().telemetry;
    let get = |path: String| async { read(soon(kit.client.get(path).send()).await.unwrap()).await };
    let (_, trace) = get(format!("{telemetry}/api/traces/{id}")).await;
    let (_, logs) = get(format!("{telemetry}/api/logs")).await;
    let logs = logs["logs"].as_array().unwrap().clone();
    let log = logs.into_iter().find(|log| log["body"] == id).unwrap_or_default();
    (
        trace["spans"]["s1"]["attributes"]["oxikit:unverified"].clone(),
        log["attributes"]["oxikit:unverified"].clone(),
    )
}

#[tokio::test]
async fn spans_of_the_own_application_need_no_token() {
    for is_strict in [false, true] {
        let (kit, app) = strict_kit(is_strict).await;
        // This process sends: as the application itself, and as one that it has started.
        for pid in [std::process::id(), std::os::unix::process::parent_id()] {
            app.0.store(pid, Ordering::SeqCst);
            let id = format!("t{pid}");
            assert_eq!(send(&kit, &id).await, (200, 200), "strict: {is_strict}");
            assert_eq!(marks(&kit, &id).await, (Value::Null, Value::Null));
        }
    }
}

#[tokio::test]
async fn spans_of_a_runtime_that_has_registered_need_no_token() {
    let (kit, _app) = strict_kit(true).await;
    assert_eq!(send(&kit, "before").await, (401, 401));
    let _runtime = kit.runtime("python").await;
    assert_eq!(send(&kit, "after").await, (200, 200));
    assert_eq!(marks(&kit, "after").await, (Value::Null, Value::Null));
}

#[tokio::test]
async fn spans_of_another_process_stay_unverified() {
    let mut other = Command::new("sleep").arg("60").kill_on_drop(true).spawn().unwrap();
    for is_strict in [false, true] {
        let (kit, app) = strict_kit(is_strict).await;
        app.0.store(other.id().unwrap(), Ordering::SeqCst);
        let mut runtime = kit.connect().await;
        runtime.register("other", other.id().unwrap()).await;
        let answers = send(&kit, "t1").await;
        if is_strict {
            assert_eq!(answers, (401, 401));
        } else {
            assert_eq!(answers, (200, 200));
            assert_eq!(marks(&kit, "t1").await, (json!(true), json!(true)));
        }
    }
    other.kill().await.unwrap();
}

#[tokio::test]
async fn traces_are_found_by_the_runtime_whose_process_has_sent_them() {
    let (kit, _app) = strict_kit(false).await;
    send(&kit, "early").await;
    let _runtime = kit.runtime("python").await;
    send(&kit, "mine").await;
    let ids = async |query: &str| {
        let (status, list) = kit.get(&format!("/api/v1/traces?{query}")).await;
        assert_eq!(status, 200, "{list}");
        let traces = list["traces"].as_array().unwrap();
        let ids = traces.iter().map(|trace| trace["traceId"].as_str().unwrap().to_owned());
        (ids.collect::<Vec<_>>(), list["total"].clone())
    };
    assert_eq!(ids("").await, (vec!["mine".to_owned(), "early".to_owned()], json!(2)));
    assert_eq!(ids("runtime=python").await, (vec!["mine".to_owned()], json!(2)));
    assert_eq!(ids("runtime=other").await, (vec![], json!(2)));
    // A runtime cannot claim the traces of another one by an attribute of its spans.
    let forged = json!({"spanId": "s1", "traceId": "forged", "startTime": 1, "endTime": 2,
        "attributes": {"oxikit:runtime": "other"}, "displayName": "x",
        "instrumentationLibrary": {"name": "test"}, "spanKind": "INTERNAL"});
    let trace = json!({"traceId": "forged", "spans": {"s1": forged}});
    let url = format!("{}/api/traces", kit.server.urls().telemetry);
    assert_eq!(soon(kit.client.post(url).json(&trace).send()).await.unwrap().status(), 200);
    assert_eq!(ids("runtime=other").await, (vec![], json!(3)));
}
