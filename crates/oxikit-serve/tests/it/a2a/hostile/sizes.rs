//! Requests that are too large.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use oxikit_core::ports::memory::{MemoryTaskOptions, MemoryTasks};
use oxikit_wire::a2a::ErrorKind::{InvalidRequest, UnsupportedOperation};
use oxikit_wire::a2a::Version;
use serde_json::{Value, json};

use super::{WAYS, Way, answer_json, assert_says_nothing_inside, target, target_with};

/// Maximum size of a body.
const LIMIT: usize = 16 << 20;

/// Valid parameters with a text of this size.
fn with_text(way: Way, bytes: usize) -> String {
    let mut params = way.send_params();
    params["message"][way.parts()][0]["text"] = Value::from("x".repeat(bytes));
    params.to_string()
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused_with_413_in_the_form_of_the_protocol() {
    let target = target().await;
    for way in WAYS {
        for is_streaming in [false, true] {
            let answer = target.send(way, is_streaming, &with_text(way, LIMIT)).await;
            assert_eq!(answer.status, 413, "{way:?} {}", answer.text());
            let body = answer_json(&answer);
            match way {
                Way::Rpc(version) => {
                    assert_eq!(body["error"]["code"], InvalidRequest.code(version), "{body}");
                    assert_eq!((&body["jsonrpc"], &body["id"]), (&json!("2.0"), &Value::Null));
                }
                Way::Rest(Version::V0_3) => {
                    assert_eq!(body["code"], InvalidRequest.code(Version::V0_3), "{body}");
                }
                Way::Rest(Version::V1_0) => assert_eq!(body["error"]["code"], 413, "{body}"),
            }
            assert_says_nothing_inside(answer.text(), "413");
        }
    }
    target.assert_untouched().await;
}

#[tokio::test]
async fn a_part_that_the_store_cannot_keep_is_refused_and_no_agent_runs() {
    let mut options = MemoryTaskOptions::default();
    options.max_task_bytes = 64 << 10;
    let store = Arc::new(MemoryTasks::new(options));
    let target = target_with(|server| server.task_store(store)).await;
    for way in WAYS {
        for is_streaming in [false, true] {
            let answer = target.send(way, is_streaming, &with_text(way, 65 << 10)).await;
            way.assert_refused(&answer, UnsupportedOperation, "a large part");
        }
    }
    target.assert_untouched().await;
}

#[tokio::test]
async fn a_part_below_the_limit_is_kept() {
    let target = target().await;
    for way in WAYS {
        let answer = target.send(way, false, &with_text(way, 1 << 20)).await;
        assert_eq!(answer.status, 200, "{way:?}");
        assert!(answer.body.len() > 1 << 20, "{way:?}: the history has the message");
    }
    assert_eq!(target.runs.load(Ordering::SeqCst), WAYS.len());
}
