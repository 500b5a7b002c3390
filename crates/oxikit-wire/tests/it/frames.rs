//! The messages that are written as text are what the types of the same shape write.

use oxikit_wire::rpc::*;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

#[track_caller]
fn check(typed: &impl Serialize, write: impl FnOnce(&mut Vec<u8>)) {
    let mut text = Vec::new();
    write(&mut text);
    assert_eq!(String::from_utf8(text).unwrap(), serde_json::to_string(typed).unwrap());
}

fn raw(json: &str) -> Box<RawValue> {
    RawValue::from_string(json.to_owned()).unwrap()
}

/// Appends JSON text.
fn append(json: &str) -> impl FnOnce(&mut Vec<u8>) -> Result<(), ()> {
    |text| {
        text.extend_from_slice(json.as_bytes());
        Ok(())
    }
}

#[test]
fn parameters_and_results_have_the_shape_of_their_types() {
    let (id, chunk) = (raw("\"7\""), raw("{\"a\": 1}"));
    let (request_id, trace_id) = (&*id, Some("t1".to_owned()));
    check(&ChunkParams { request_id, chunk: &chunk }, |text| {
        frame::chunk_params(text, id.get(), append(chunk.get())).unwrap();
    });
    check(&EndInputParams { request_id }, |text| frame::end_input_params(text, id.get()));
    let telemetry = Some(RunTelemetry { trace_id });
    check(&RunActionStateParams { request_id, state: telemetry.clone() }, |text| {
        frame::run_action_state_params(text, id.get(), "t1");
    });
    for (result, telemetry) in
        [(Some(&*chunk), telemetry.clone()), (None, telemetry), (Some(&*chunk), None), (None, None)]
    {
        let trace = telemetry.is_some().then_some("t1");
        check(&RunActionResult { result, telemetry }, |text| {
            let json = result.map_or("", RawValue::get);
            frame::run_action_result(text, trace, append(json)).unwrap();
        });
    }
}

#[test]
fn messages_are_read_back() {
    #[track_caller]
    fn check(text: &str, expected: [Option<&str>; 5]) {
        let read: RpcMessage<'_> = serde_json::from_str(text).unwrap();
        let members = [read.id, read.params, read.result, read.error];
        let [id, params, result, error] = members.map(|member| member.map(RawValue::get));
        assert_eq!([id, read.method.as_deref(), params, result, error], expected, "{text}");
        let version: serde_json::Value = serde_json::from_str(text).unwrap();
        assert_eq!(version["jsonrpc"], "2.0");
    }
    fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut text = Vec::new();
        write(&mut text);
        String::from_utf8(text).unwrap()
    }
    let (id, method) = ("\"7\"", method::LIST_VALUES);
    let params = r#"{"type":"middleware"}"#;
    let request = written(|text| frame::request(text, id, method, append(params)).unwrap());
    check(&request, [Some(id), Some(method), Some(params), None, None]);
    let request = written(|text| frame::request_without_params(text, id, method));
    check(&request, [Some(id), Some(method), None, None, None]);
    let notification = written(|text| frame::notification(text, method, append(params)).unwrap());
    check(&notification, [None, Some(method), Some(params), None, None]);
    let response = written(|text| frame::response(text, id, append("[1]")).unwrap());
    check(&response, [Some(id), None, None, Some("[1]"), None]);
    let error = RpcError { code: rpc_code::FAILED, message: "no \"luck\"".into(), data: None };
    let json = to_raw_value(&error).unwrap();
    let response = written(|text| frame::error_response(text, id, &error));
    check(&response, [Some(id), None, None, None, Some(json.get())]);
}

#[test]
fn a_part_that_cannot_be_written_fails_the_message() {
    let mut text = String::new();
    let failed = frame::response(&mut text, "1", |_| Err("unwritable"));
    assert_eq!(failed, Err("unwritable"));
}
