//! Spans and log lines in rare but valid forms, and the errors of invalid ones.

use serde_json::{Value, json};

use super::kit::{Answer, Server, plain, server, span, trace};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const SPAN: &str = "b7ad6b7169203331";

async fn post(server: &Server, path: &str, json: &str) -> Answer {
    server.post_text(path, "application/json", json.to_owned()).await
}

#[tokio::test]
async fn a_span_is_taken_however_its_numbers_members_and_texts_are_written() {
    let server = server().await;
    let text =
        "\r\n{ \"spans\" : { \"s\\u0031\" : {\r\n\"status\": {\"message\": null, \"code\": 0.0},
        \"spanKind\":\"INTERNAL\",\"instrumentationLibrary\":{\"version\":null,\"name\":\"test\"},
        \"display\\u004eame\":\"gre\\u0065t\",\"unknown\":{\"a\":[null]},
        \"attributes\":{\"genkit:metadata:subtype\":\"flow\",\"genkit:type\":\"action\"},
        \"endTime\":1.0025E3,\"startTime\":1000.0,\"parentSpanId\":null,\"timeEvents\":null,
        \"traceId\":\"t1\",\"spanId\":\"s1\"}},\"endTime\":1002.5,\"startTime\":1e3,
        \"displayName\":\"greet\",\"traceId\":\"t1\",\"unknown\":null }\r\n";
    let answer = post(&server, "/api/traces", text).await;
    assert_eq!((answer.status, &*answer.text), (200, "OK"));
    let mut stored = server.trace("t1").await;
    let members = stored["spans"]["s1"].as_object_mut().unwrap();
    assert_eq!(members.remove("unknown"), Some(json!({"a": [null]})));
    assert!(!members.contains_key("parentSpanId") && !members.contains_key("timeEvents"));
    members["status"].as_object_mut().unwrap().shift_remove("message");
    members["instrumentationLibrary"].as_object_mut().unwrap().shift_remove("version");
    assert_eq!(plain(stored["spans"]["s1"].clone()), plain(span("t1")));
    let filter = r#"{"eq":{"status":0.0}}"#;
    let found = server.get(&format!("/api/traces?limit=1.0&filter={filter}")).await.json();
    assert_eq!(found["traces"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn slashes_may_be_doubled() {
    let server = server().await;
    for (number, path) in ["//api/traces", "/api//traces", "/api/traces//"].iter().enumerate() {
        let answer = server.post(path, &trace(&format!("t{number}"))).await;
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
    }
    assert_eq!(server.get("//api//traces/t1").await.json()["traceId"], "t1");
}

/// The span of all tests here, with these members replaced.
async fn stored_otlp(members: Value) -> Value {
    let server = server().await;
    let mut span = json!({"traceId": TRACE, "spanId": SPAN, "name": "chat",
        "startTimeUnixNano": "1000000000", "endTimeUnixNano": "1002500000"});
    span.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    let export = json!({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]});
    let answer = server.post("/api/otlp/v1/traces", &export).await;
    assert_eq!((answer.status, &*answer.text), (200, "{}"), "{export}");
    server.trace(TRACE).await["spans"][SPAN].clone()
}

#[tokio::test]
async fn protobuf_as_json_has_several_forms_of_the_same() {
    let expected = stored_otlp(json!({"kind": 3, "droppedEventsCount": 4, "flags": 1,
        "status": {"code": 2}, "attributes": [
            {"key": "n", "value": {"intValue": "12"}}, {"key": "d", "value": {"doubleValue": 2}},
            {"key": "e", "value": {}}, {"key": "l", "value": {"arrayValue": {"values": [
                {"intValue": 1}]}}}]}))
    .await;
    assert_eq!(expected["spanKind"], "CLIENT");
    let same = [
        json!({"kind": 3.0, "droppedEventsCount": 4e0, "flags": "1", "status": {"code": "2"},
            "startTimeUnixNano": 1_000_000_000, "endTimeUnixNano": 1.0025e9,
            "attributes": [{"value": {"intValue": 12.0}, "key": "n"},
                {"key": "d", "value": {"doubleValue": 2.0}}, {"key": "e", "value": null},
                {"key": "l", "value": {"arrayValue": {"values": [{"intValue": 1.0}]}}}]}),
        json!({"kind": "3", "droppedEventsCount": "4", "flags": 1, "status": {"code": 2,
            "message": null, "new": []}, "parentSpanId": null, "events": null, "links": null,
            "traceState": null, "droppedAttributesCount": null, "new": {"a": [1, null]},
            "traceId": TRACE.to_uppercase(), "spanId": SPAN.to_uppercase(),
            "attributes": [{"key": "n", "value": {"new": {}, "stringValue": null, "intValue": 12}},
                {"key": "d", "value": {"doubleValue": 2}}, {"key": "e", "value": {"new": 1}},
                {"key": "l", "value": {"arrayValue": {"values": [{"intValue": "1"}]}}}]}),
    ];
    for members in same {
        let stored = stored_otlp(members.clone()).await;
        assert_eq!(plain(stored), plain(expected.clone()), "{members}");
    }
}

#[tokio::test]
async fn a_log_line_may_have_null_for_all_that_it_lacks() {
    let server = server().await;
    let line = json!({"timeUnixNano": 1_000_000.0, "observedTimeUnixNano": null, "flags": null,
        "severityNumber": 9.0, "severityText": null, "body": {"stringValue": "hi"}, "new": null,
        "attributes": null, "droppedAttributesCount": null, "eventName": null,
        "traceId": TRACE.to_uppercase(), "spanId": SPAN.to_uppercase()});
    let logs = json!({"resourceLogs": [{"resource": null, "schemaUrl": null, "scopeLogs": [
        {"scope": null, "schemaUrl": null, "logRecords": [line]}]}]});
    let answer = server.post("/api/otlp/v1/logs", &logs).await;
    assert_eq!((answer.status, &*answer.text), (200, "{}"));
    for (trace, span) in
        [(TRACE.to_owned(), SPAN.to_owned()), (TRACE.to_uppercase(), SPAN.to_uppercase())]
    {
        let path = format!("/api/traces/{trace}/spans/{span}/logs");
        let found = server.get(&path).await.json();
        let line = &found["logs"][0];
        assert_eq!((&line["body"], &line["severityNumber"]), (&json!("hi"), &json!(9)), "{path}");
        assert_eq!((&line["severityText"], &line["timestamp"]), (&json!("INFO"), &json!(1.0)));
    }
}

#[tokio::test]
async fn an_id_of_bytes_is_the_same_in_both_cases() {
    let server = server().await;
    server.add(&trace(&TRACE.to_uppercase())).await;
    for id in [TRACE.to_owned(), TRACE.to_uppercase()] {
        assert_eq!(server.trace(&id).await["traceId"], TRACE, "{id}");
    }
}

#[tokio::test]
async fn what_is_no_export_is_refused_with_the_reason() {
    let server = server().await;
    let with = |members: &str| {
        format!(r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{{{members}}}]}}]}}]}}"#)
    };
    let cases = [
        (with(r#""kind":0.5"#), "0.5"),
        (with(r#""kind":"three""#), "three"),
        (with(r#""startTimeUnixNano":-1"#), "-1"),
        (with(r#""traceId":"zz""#), "invalid character"),
        (with(r#""attributes":{}"#), "map"),
        (r#"{"resourceSpans":[[]]}"#.to_owned(), "sequence"),
        (r#"{"resourceSpans":{}}"#.to_owned(), "map"),
        ("[]".to_owned(), "object"),
        ("{}{}".to_owned(), "trailing"),
    ];
    for (body, reason) in cases {
        let answer = post(&server, "/api/otlp", &body).await;
        assert_eq!(answer.status, 400, "{body}: {answer:?}");
        let message = answer.json()["message"].as_str().unwrap().to_owned();
        assert!(message.contains(reason), "{body}: {message}");
    }
}

#[tokio::test]
async fn an_invalid_query_is_a_client_error_with_its_reason() {
    let server = server().await;
    server.add(&trace("t1")).await;
    let cases = [
        ("/api/traces?filter={bad", "filter"),
        ("/api/traces?filter={\"eq\":{\"a\":true}}", "filter"),
        ("/api/traces?filter={\"like\":{}}", "filter"),
        ("/api/traces?filter=[]", "filter"),
        ("/api/traces?continuationToken=x", "continuation token"),
        ("/api/traces?continuationToken=-1e9", "continuation token"),
        ("/api/logs?continuationToken=x", "continuation token"),
        ("/api/traces/..%2f..%2fpackage.json", "trace id"),
        ("/api/traces/a%5Cb", "trace id"),
        ("/api/traces/..%2fx/stream", "trace id"),
        ("/api/traces/..%2fx/logs", "trace id"),
        ("/api/traces/..%2fx/spans/s1/logs", "trace id"),
    ];
    for (path, reason) in cases {
        let answer = server.get(path).await;
        assert_eq!(answer.status, 400, "{path}: {answer:?}");
        assert_eq!(answer.json()["code"], 3, "{path}");
        let message = answer.json()["message"].as_str().unwrap().to_owned();
        assert!(message.contains(reason), "{path}: {message}");
    }
}
