//! Every body of the recordings is read into the model and written again without loss.

use std::fmt::Debug;

use oxikit_wire::a2a::{
    CancelTaskRequest, GetTaskRequest, ListPushConfigsRequest, ListPushConfigsResponse,
    ListTasksRequest, ListTasksResponse, PushConfig, PushConfigRequest, SendMessageRequest,
    StreamResponse, SubscribeRequest, Task, v0_3,
};
use oxikit_wire::a2a::{method, v0_3::rest};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::exchanges::{
    Exchange, JSON_RPC_V0_3, JSON_RPC_V1_0, REST_V0_3, REST_V1_0, check_same, read,
};

/// Requests that are wrong on purpose.
const WRONG_REQUESTS: [&str; 5] =
    ["invalid params", "empty body", "object id", "malformed", "wrong jsonrpc"];

/// Requests with what is not written again: a member that no version has, and a message of the
/// other binding.
const NOT_WRITTEN_AGAIN: [&str; 2] = ["raw unknown field", "JSON-RPC style body"];

/// Reads and writes the types of 1.0.
fn v1_0<T: Serialize + DeserializeOwned>(json: &Value) -> Result<Value, String> {
    let read: T = serde_json::from_value(json.clone()).map_err(|error| error.to_string())?;
    Ok(serde_json::to_value(read).unwrap())
}

/// Reads and writes the JSON-RPC binding of 0.3.
fn json_rpc<T>(json: &Value) -> Result<Value, String>
where
    v0_3::In<T>: DeserializeOwned,
    for<'a> v0_3::Out<'a, T>: Serialize,
{
    let v0_3::In(read) = serde_json::from_value(json.clone())
        .map_err(|error: serde_json::Error| error.to_string())?;
    Ok(serde_json::to_value(v0_3::Out::new(&read)).unwrap())
}

/// Reads and writes the HTTP binding of 0.3.
fn http<T>(json: &Value) -> Result<Value, String>
where
    rest::In<T>: DeserializeOwned,
    for<'a> v0_3::Out<'a, T>: Serialize,
{
    let rest::In(read) = serde_json::from_value(json.clone())
        .map_err(|error: serde_json::Error| error.to_string())?;
    Ok(serde_json::to_value(v0_3::Out::rest(&read)).unwrap())
}

#[derive(Default)]
struct Counts {
    checked: usize,
    refused: usize,
}

impl Counts {
    #[track_caller]
    fn check(&mut self, case: &str, recorded: &Value, written: Result<Value, impl Debug>) {
        match written {
            Ok(_) if NOT_WRITTEN_AGAIN.iter().any(|known| case.contains(known)) => {}
            Ok(written) => {
                self.checked += 1;
                check_same(case, recorded, &written);
            }
            Err(_) if WRONG_REQUESTS.iter().any(|wrong| case.contains(wrong)) => self.refused += 1,
            Err(error) => panic!("{case}: {error:?}: {recorded}"),
        }
    }
}

#[test]
fn json_rpc_of_version_0_3_is_read_and_written_without_loss() {
    let mut counts = Counts::default();
    for exchange in JSON_RPC_V0_3.into_iter().flat_map(read) {
        let method = exchange.request["method"].as_str().unwrap_or_default();
        let (params, result): (Codec, Codec) = match method {
            method::v0_3::SEND_MESSAGE | method::v0_3::SEND_STREAMING_MESSAGE => {
                (json_rpc::<SendMessageRequest>, event_v0_3)
            }
            method::v0_3::GET_TASK => (json_rpc::<GetTaskRequest>, json_rpc::<Task>),
            method::v0_3::CANCEL_TASK => (json_rpc::<CancelTaskRequest>, json_rpc::<Task>),
            method::v0_3::SUBSCRIBE_TO_TASK => (json_rpc::<SubscribeRequest>, event_v0_3),
            method::v0_3::CREATE_PUSH_CONFIG => (json_rpc::<PushConfig>, json_rpc::<PushConfig>),
            method::v0_3::GET_PUSH_CONFIG => {
                (json_rpc::<PushConfigRequest>, json_rpc::<PushConfig>)
            }
            method::v0_3::LIST_PUSH_CONFIGS => {
                (json_rpc::<ListPushConfigsRequest>, json_rpc::<ListPushConfigsResponse>)
            }
            method::v0_3::DELETE_PUSH_CONFIG => (json_rpc::<PushConfigRequest>, nothing),
            _ => continue,
        };
        check_json_rpc(&mut counts, &exchange, params, result);
    }
    assert_eq!((counts.checked, counts.refused), (561, 16));
}

#[test]
fn json_rpc_of_version_1_0_is_read_and_written_without_loss() {
    let mut counts = Counts::default();
    for exchange in JSON_RPC_V1_0.into_iter().flat_map(read) {
        let method = exchange.request["method"].as_str().unwrap_or_default();
        let (params, result): (Codec, Codec) = match method {
            method::SEND_MESSAGE | method::SEND_STREAMING_MESSAGE => {
                (v1_0::<SendMessageRequest>, v1_0::<StreamResponse>)
            }
            method::GET_TASK => (v1_0::<GetTaskRequest>, v1_0::<Task>),
            method::LIST_TASKS => (v1_0::<ListTasksRequest>, v1_0::<ListTasksResponse>),
            method::CANCEL_TASK => (v1_0::<CancelTaskRequest>, v1_0::<Task>),
            method::SUBSCRIBE_TO_TASK => (v1_0::<SubscribeRequest>, v1_0::<StreamResponse>),
            method::CREATE_PUSH_CONFIG => (v1_0::<PushConfig>, v1_0::<PushConfig>),
            method::GET_PUSH_CONFIG => (v1_0::<PushConfigRequest>, v1_0::<PushConfig>),
            method::LIST_PUSH_CONFIGS => {
                (v1_0::<ListPushConfigsRequest>, v1_0::<ListPushConfigsResponse>)
            }
            method::DELETE_PUSH_CONFIG => (v1_0::<PushConfigRequest>, nothing),
            _ => continue,
        };
        check_json_rpc(&mut counts, &exchange, params, result);
    }
    assert_eq!((counts.checked, counts.refused), (155, 2));
}

type Codec = fn(&Value) -> Result<Value, String>;

fn check_json_rpc(counts: &mut Counts, exchange: &Exchange, params: Codec, result: Codec) {
    let sent = &exchange.request["params"];
    counts.check(&format!("{} params", exchange.case), sent, params(sent));
    for response in exchange.responses.iter().filter_map(|response| response.get("result")) {
        counts.check(&format!("{} result", exchange.case), response, result(response));
    }
}

/// An event of 0.3 is written with the `final` that it was read with.
fn event_v0_3(json: &Value) -> Result<Value, String> {
    let event: v0_3::Event =
        serde_json::from_value(json.clone()).map_err(|error| error.to_string())?;
    let out = v0_3::Out::new(&event.response).with_final(event.is_final);
    Ok(serde_json::to_value(out).unwrap())
}

/// The same for the HTTP binding.
fn http_event(json: &Value) -> Result<Value, String> {
    let event: rest::Event =
        serde_json::from_value(json.clone()).map_err(|error| error.to_string())?;
    let out = v0_3::Out::rest(&event.response).with_final(event.is_final);
    Ok(serde_json::to_value(out).unwrap())
}

/// The result of a deletion.
fn nothing(json: &Value) -> Result<Value, String> {
    Ok(json.clone())
}

#[test]
fn http_of_version_0_3_is_read_and_written_without_loss() {
    let mut counts = Counts::default();
    for exchange in REST_V0_3.into_iter().flat_map(read) {
        let route = exchange.route.as_str();
        let (sent, received): (Codec, Codec) = if route.contains("message:") {
            (http::<SendMessageRequest>, http_event)
        } else if route.ends_with(":subscribe") {
            (nothing, http_event)
        } else if route.ends_with("/pushNotificationConfigs") {
            (http::<PushConfig>, http::<PushConfig>)
        } else if route.contains("/tasks/") {
            (nothing, http::<Task>)
        } else {
            continue;
        };
        check_http(&mut counts, &exchange, sent, received);
    }
    assert_eq!((counts.checked, counts.refused), (37, 4));
}

#[test]
fn http_of_version_1_0_is_read_and_written_without_loss() {
    let mut counts = Counts::default();
    for exchange in REST_V1_0.into_iter().flat_map(read) {
        let route = exchange.route.as_str();
        let (sent, received): (Codec, Codec) = if route.contains("message:") {
            (v1_0::<SendMessageRequest>, v1_0::<StreamResponse>)
        } else if route.ends_with(":subscribe") {
            (nothing, v1_0::<StreamResponse>)
        } else if route.starts_with("DELETE ") {
            (nothing, nothing)
        } else if route.ends_with("/pushNotificationConfigs") && route.starts_with("GET ") {
            (nothing, v1_0::<ListPushConfigsResponse>)
        } else if route.contains("/pushNotificationConfigs") {
            (v1_0::<PushConfig>, v1_0::<PushConfig>)
        } else if route.ends_with("/tasks") {
            (nothing, v1_0::<ListTasksResponse>)
        } else if route.contains("/tasks/") {
            (nothing, v1_0::<Task>)
        } else {
            continue;
        };
        check_http(&mut counts, &exchange, sent, received);
    }
    assert_eq!((counts.checked, counts.refused), (112, 0));
}

fn check_http(counts: &mut Counts, exchange: &Exchange, sent: Codec, received: Codec) {
    if !exchange.request.is_null() {
        let case = format!("{} request", exchange.case);
        counts.check(&case, &exchange.request, sent(&exchange.request));
    }
    for response in exchange.responses.iter().filter(|_| exchange.status < 300) {
        counts.check(&format!("{} response", exchange.case), response, received(response));
    }
}
