//! The action protocol, byte by byte.

use oxikit::prelude::*;
use oxikit_serve::ApiKey;

use crate::kit::{Answer, app, app_with, app_within, post};

const STREAM: &str = "accept: text/event-stream\r\n";

#[tokio::test]
async fn a_unary_call_answers_its_result() {
    let app = app().await;
    for (body, result) in [
        (r#"{"data":{"a":1}}"#, r#"{"result":{"a":1}}"#),
        (r#"{"data":null}"#, r#"{"result":null}"#),
        (r#"{"data":1,"other":{"deep":[1]}}"#, r#"{"result":1}"#),
        (r#"{"data":"x","init":{"sessionId":"s"}}"#, r#"{"result":"x"}"#),
        ("{}", r#"{"result":null}"#),
        (" { } ", r#"{"result":null}"#),
        ("", r#"{"result":null}"#),
        (" \r\n", r#"{"result":null}"#),
        ("\u{feff}{\"data\":7}", r#"{"result":7}"#),
        ("\u{feff}", r#"{"result":null}"#),
        (
            r#"{"data":{"z":1,"a":18446744073709551615}}"#,
            r#"{"result":{"z":1,"a":18446744073709551615}}"#,
        ),
    ] {
        for path in ["/echo", "/tree"] {
            let answer = app.post(path, body).await;
            assert_eq!((answer.status, answer.text()), (200, result), "{path} {body}");
            assert_eq!(answer.header("content-type"), Some("application/json"));
            assert_named(&answer);
        }
    }
    assert_eq!(
        app.post("/typed", r#"{"data":{"name":"tea","x":1}}"#).await.text(),
        r#"{"result":"0 x tea"}"#
    );
    assert_eq!(app.post("/count", r#"{"data":3}"#).await.text(), r#"{"result":"done"}"#);
}

#[track_caller]
fn assert_named(answer: &Answer) {
    for (header, digits) in [("x-genkit-trace-id", 32), ("x-genkit-span-id", 16)] {
        let id = answer.header(header).unwrap_or_else(|| panic!("no {header}: {answer:?}"));
        assert!(id.len() == digits && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
    }
}

#[tokio::test]
async fn content_types_are_json_or_refused() {
    let app = app().await;
    for (media_type, status) in [
        ("application/json", 200),
        ("application/json; charset=utf-8", 200),
        ("Application/JSON;charset=\"UTF-8\"", 200),
        ("application/json; charset=us-ascii", 200),
        ("application/vnd.example.v1+json", 200),
        ("application/json; charset=latin1", 415),
        ("application/json; charset=utf-16", 415),
        ("text/plain", 415),
        ("text/json", 415),
        ("text/plain; x=application/json", 415),
        ("application/x-www-form-urlencoded", 415),
        ("multipart/form-data; boundary=x", 415),
        ("application/xml", 415),
        ("application/jsonp", 415),
        ("json", 415),
    ] {
        let headers = format!("content-type: {media_type}\r\n");
        let answer = app.ask(post("/echo", &headers, r#"{"data":1}"#)).await;
        assert_eq!(answer.status, status, "{media_type}");
        if status != 200 {
            answer.assert_error(415, "INVALID_ARGUMENT");
        }
    }
    let untyped =
        "POST /echo HTTP/1.1\r\nhost: localhost\r\ncontent-length: 10\r\n\r\n{\"data\":1}";
    assert_eq!(app.ask(untyped).await.text(), r#"{"result":1}"#);
    for encoding in ["gzip", "br", "deflate", "identity, gzip", "zstd"] {
        let headers = format!("content-encoding: {encoding}\r\n");
        app.ask(post("/echo", &headers, r#"{"data":1}"#))
            .await
            .assert_error(415, "INVALID_ARGUMENT");
    }
}

#[tokio::test]
async fn a_body_at_the_limit_is_read_and_one_byte_more_is_refused() {
    let app = app_within(|limits| limits.body_bytes = 1000).await;
    let body = |length: usize| format!(r#"{{"data":"{}"}}"#, "x".repeat(length - 11));
    assert_eq!(app.post("/echo", &body(1000)).await.status, 200);
    app.post("/echo", &body(1001)).await.assert_error(413, "RESOURCE_EXHAUSTED");
    app.stream("/echo", &body(1001)).await.assert_error(413, "RESOURCE_EXHAUSTED");

    let chunked = |length: usize| {
        let (body, mut request) = (body(length), chunked_head("/echo"));
        for piece in body.as_bytes().chunks(300) {
            request.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
            request.extend_from_slice(piece);
            request.extend_from_slice(b"\r\n");
        }
        request.extend_from_slice(b"0\r\n\r\n");
        request
    };
    assert_eq!(app.ask(chunked(1000)).await.status, 200);
    app.ask(chunked(1001)).await.assert_error(413, "RESOURCE_EXHAUSTED");
}

fn chunked_head(path: &str) -> Vec<u8> {
    format!("POST {path} HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n").into()
}

#[tokio::test]
async fn a_refusal_arrives_though_the_body_was_not_read() {
    // The body is far larger than what sockets buffer: the client is still
    // sending when the server has answered.
    let app = app().await;
    let body = vec![b' '; 17 << 20];
    for _ in 0..5 {
        app.ask(post("/echo", "", &body)).await.assert_error(413, "RESOURCE_EXHAUSTED");
        app.ask(post("/nowhere", "", &body)).await.assert_error(404, "NOT_FOUND");
        let headers = "content-type: text/plain\r\n";
        app.ask(post("/echo", headers, &body)).await.assert_error(415, "INVALID_ARGUMENT");
    }
}

#[tokio::test]
async fn what_is_not_the_wrapper_is_refused() {
    let app = app().await;
    for body in ["[1]", "1", "\"x\"", "null", "true", r#"{"x":1}"#, "[", "{", r#"{"data":}"#, "x"] {
        app.post("/echo", body).await.assert_error(400, "INVALID_ARGUMENT");
        app.stream("/echo", body).await.assert_error(400, "INVALID_ARGUMENT");
    }
    assert_eq!(app.effects(), 0);
}

#[tokio::test]
async fn input_that_does_not_fit_is_refused_by_http_or_in_band() {
    let app = app().await;
    for body in [r#"{"data":{"name":1}}"#, r#"{"data":[]}"#, r#"{"data":"x"}"#, "{}"] {
        let answer = app.post("/typed", body).await;
        answer.assert_error(400, "INVALID_ARGUMENT");
        let answer = app.stream("/typed", body).await;
        assert_eq!(answer.status, 200);
        assert_eq!(in_band(&answer)["status"], "INVALID_ARGUMENT", "{body}");
    }
    assert_eq!(app.effects(), 0);
    let answer = app.post("/typed", r#"{"data":{"name":1}}"#).await.json();
    assert_eq!(answer["details"]["errors"][0]["path"], "name", "{answer}");
}

/// The error of a stream's last block.
#[track_caller]
fn in_band(answer: &Answer) -> Value {
    let last = answer.text().trim_end_matches('\n').rsplit("\n\n").next().unwrap();
    let json = last.strip_prefix("error: ").unwrap_or_else(|| panic!("{answer:?}"));
    answer.assert_says_nothing();
    serde_json::from_str::<Value>(json).unwrap()["error"].clone()
}

#[tokio::test]
async fn every_status_has_its_http_status_and_its_block() {
    let app = app().await;
    let statuses = [
        ("CANCELLED", 499),
        ("UNKNOWN", 500),
        ("INVALID_ARGUMENT", 400),
        ("DEADLINE_EXCEEDED", 504),
        ("NOT_FOUND", 404),
        ("ALREADY_EXISTS", 409),
        ("PERMISSION_DENIED", 403),
        ("RESOURCE_EXHAUSTED", 429),
        ("FAILED_PRECONDITION", 400),
        ("ABORTED", 409),
        ("OUT_OF_RANGE", 400),
        ("UNIMPLEMENTED", 501),
        ("INTERNAL", 500),
        ("UNAVAILABLE", 503),
        ("DATA_LOSS", 500),
        ("UNAUTHENTICATED", 401),
    ];
    for (status, http) in statuses {
        let body = format!(r#"{{"data":"{status}"}}"#);
        let answer = app.post("/failing", &body).await;
        answer.assert_error(http, status);
        assert_named(&answer);
        let wished = json!({"code": http, "status": status, "message": "as you wish", "details": {"wish": status}});
        assert_eq!(answer.json(), wished);

        let answer = app.stream("/failing", &body).await;
        let head = "data: {\"message\":1}\n\n";
        let error = answer.text().strip_prefix(head).unwrap();
        let expected =
            json!({"status": status, "message": "as you wish", "details": {"wish": status}});
        assert!(error.starts_with("error: {\"error\":{") && error.ends_with("}\n\n"), "{error}");
        assert_eq!((answer.status, in_band(&answer)), (200, expected));
        assert_named(&answer);
    }
}

#[tokio::test]
async fn a_stranger_is_refused_by_http_also_on_a_stream() {
    let app = app_with(|server| server.auth(ApiKey::new("right"))).await;
    for (key, http, status) in [("", 401, "UNAUTHENTICATED"), ("wrong", 403, "PERMISSION_DENIED")] {
        let headers =
            if key.is_empty() { String::new() } else { format!("authorization: {key}\r\n") };
        // The key is asked for before the body is looked at.
        for body in [r#"{"data":1}"#, "not json"] {
            app.ask(post("/echo", &headers, body)).await.assert_error(http, status);
            app.ask(post("/echo", &(headers.clone() + STREAM), body))
                .await
                .assert_error(http, status);
        }
    }
    let twice = "authorization: right\r\nauthorization: right\r\n";
    app.ask(post("/echo", twice, r#"{"data":1}"#)).await.assert_error(401, "UNAUTHENTICATED");
    assert_eq!(app.effects(), 0);
    for key in ["right", "Bearer right", "bearer right"] {
        let headers = format!("authorization: {key}\r\n");
        assert_eq!(app.ask(post("/echo", &headers, r#"{"data":1}"#)).await.status, 200, "{key}");
    }
}

#[tokio::test]
async fn streaming_is_chosen_by_accept_or_query() {
    let app = app().await;
    for (path, accept, is_stream) in [
        ("/count", "text/event-stream", true),
        ("/count", "Text/Event-Stream", true),
        ("/count", "application/json, text/event-stream;q=0.5", true),
        ("/count", "*/*", false),
        ("/count", "application/json", false),
        ("/count?stream=true", "*/*", true),
        ("/count?a=b&stream=true", "*/*", true),
        ("/count?stream=1", "*/*", true),
        ("/count?stream=True", "*/*", true),
        ("/count?stream=false", "*/*", false),
        ("/count?stream=yes", "*/*", false),
        ("/count?stream", "*/*", false),
        ("/count?xstream=true", "*/*", false),
        ("/count?stream=false", "text/event-stream", true),
    ] {
        let request = post(path, &format!("accept: {accept}\r\n"), r#"{"data":1}"#);
        let expected = if is_stream {
            "data: {\"message\":1}\n\ndata: {\"result\":\"done\"}\n\n"
        } else {
            r#"{"result":"done"}"#
        };
        assert_eq!(app.ask(request).await.text(), expected, "{path} {accept}");
    }
}

#[tokio::test]
async fn blocks_are_exact_and_the_last_is_always_there() {
    let app = app().await;
    for (path, data, expected) in [
        ("count", "0", "data: {\"result\":\"done\"}\n\n".into()),
        ("typed", r#"{"name":"a"}"#, "data: {\"result\":\"0 x a\"}\n\n".into()),
        ("echo", "null", twice("null")),
        ("echo", "0", twice("0")),
        ("echo", "{}", twice("{}")),
        ("echo", r#""a\n\nb""#, twice(r#""a\n\nb""#)),
        ("echo", r#""é 🎉""#, twice(r#""\u00e9 \ud83c\udf89""#)),
        ("echo", "\"\u{2028}\u{7f}\"", twice("\"\\u2028\u{7f}\"")),
        ("echo", r#"{"é":1}"#, twice(r#"{"\u00e9":1}"#)),
        ("echo", "{\n\n\"a\":\r\n[1,\n\n2]\n\n}", twice(r#"{"a":[1,2]}"#)),
        ("echo", r#"{"result":1,"error":2}"#, twice(r#"{"result":1,"error":2}"#)),
    ] {
        let answer = app.stream(&format!("/{path}"), &format!(r#"{{"data":{data}}}"#)).await;
        assert_eq!((answer.status, answer.text()), (200, expected.as_str()), "{data}");
        assert_eq!(answer.header("content-type"), Some("text/event-stream"));
        assert_eq!(answer.header("cache-control"), Some("no-cache"));
        assert_eq!(answer.header("x-accel-buffering"), Some("no"));
        assert_named(&answer);
    }
}

/// The chunks that `echo` streams.
fn twice(data: &str) -> String {
    format!("data: {{\"message\":{data}}}\n\ndata: {{\"result\":{data}}}\n\n")
}

#[tokio::test]
async fn a_large_chunk_is_one_block_and_many_chunks_keep_their_order() {
    let app = app().await;
    let large = format!("\"{}\"", "y".repeat(200_000));
    let answer = app.stream("/echo", &format!(r#"{{"data":{large}}}"#)).await;
    assert_eq!(answer.text(), twice(&large));

    let answer = app.stream("/count", r#"{"data":5000}"#).await;
    let numbers = (1..=5000).map(|number| format!("data: {{\"message\":{number}}}\n\n"));
    assert_eq!(answer.text(), numbers.collect::<String>() + "data: {\"result\":\"done\"}\n\n");
    // No block is cut over two writes: the official client would take that, but
    // proxies that flush by piece would not.
    for piece in &answer.pieces {
        assert!(piece.starts_with(b"data: ") && piece.ends_with(b"\n\n"));
    }
}

#[tokio::test]
async fn other_paths_and_methods_are_refused_as_json() {
    let app = app().await;
    for path in [
        "/",
        "/nowhere",
        "/Echo",
        "/echo/more",
        "/echo//",
        "//echo",
        "/flow/echo",
        "/../echo",
        "/%00",
    ] {
        app.post(path, r#"{"data":1}"#).await.assert_error(404, "NOT_FOUND");
    }
    for method in ["GET", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"] {
        let request = format!("{method} /echo HTTP/1.1\r\nhost: localhost\r\n\r\n");
        let answer = app.ask(request).await;
        answer.assert_error(405, "INVALID_ARGUMENT");
        assert_eq!(answer.header("allow"), Some("POST"));
    }
    assert_eq!(app.effects(), 0);
    assert_eq!(app.post("/echo/", r#"{"data":1}"#).await.text(), r#"{"result":1}"#);
    assert_eq!(app.post("/echo/?a=b", r#"{"data":1}"#).await.text(), r#"{"result":1}"#);
}

#[tokio::test]
async fn head_is_answered_without_a_body() {
    let app = app().await;
    let mut client = app.connect().await;
    client.send("HEAD /echo HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    let head = client.head().await.unwrap();
    assert_eq!((head.status, head.header("content-type")), (405, Some("application/json")));
    client.send(post("/echo", "", r#"{"data":1}"#)).await;
    assert_eq!(client.answer().await.unwrap().text(), r#"{"result":1}"#);
}

#[tokio::test]
async fn a_prefix_stands_before_every_path() {
    let app = app_with(|server| server.path_prefix("/api/v1/")).await;
    assert_eq!(app.post("/api/v1/echo", r#"{"data":1}"#).await.status, 200);
    for path in ["/echo", "/api/v1echo", "/api/v1", "/api/v1/", "/api/echo"] {
        app.post(path, r#"{"data":1}"#).await.assert_error(404, "NOT_FOUND");
    }
}

#[tokio::test]
async fn a_client_that_expects_100_continue_gets_it_or_an_error() {
    let app = app().await;
    let mut client = app.connect().await;
    client.send("POST /echo HTTP/1.1\r\nhost: localhost\r\ncontent-length: 10\r\nexpect: 100-continue\r\n\r\n").await;
    assert_eq!(client.head().await.unwrap().status, 100);
    client.send(r#"{"data":1}"#).await;
    assert_eq!(client.answer().await.unwrap().text(), r#"{"result":1}"#);

    let mut client = app.connect().await;
    client.send("POST /nowhere HTTP/1.1\r\nhost: localhost\r\ncontent-length: 10\r\nexpect: 100-continue\r\n\r\n").await;
    client.answer().await.unwrap().assert_error(404, "NOT_FOUND");
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order_after_errors_too() {
    let app = app().await;
    let mut client = app.connect().await;
    let requests = [
        post("/echo", "", r#"{"data":1}"#),
        post("/echo", "", "broken"),
        post("/nowhere", "", "{}"),
        post("/count", STREAM, r#"{"data":1}"#),
        post("/panicking", "", r#"{"data":1}"#),
        post("/echo", "", r#"{"data":2}"#),
    ];
    client.send(requests.concat()).await;
    let mut statuses = Vec::new();
    for _ in 0..requests.len() {
        statuses.push(client.answer().await.unwrap().status);
    }
    assert_eq!(statuses, [200, 400, 404, 200, 500, 200]);
    client.send(post("/echo", "connection: close\r\n", r#"{"data":3}"#)).await;
    assert_eq!(client.answer().await.unwrap().text(), r#"{"result":3}"#);
    assert_eq!(client.rest().await, b"");
}

#[tokio::test]
async fn http_1_0_gets_its_answer_and_the_end() {
    let app = app().await;
    let request = "POST /count HTTP/1.0\r\nhost: localhost\r\naccept: text/event-stream\r\ncontent-length: 10\r\n\r\n{\"data\":1}";
    let answer = app.ask(request).await;
    assert_eq!(answer.header("transfer-encoding"), None);
    assert_eq!(answer.text(), "data: {\"message\":1}\n\ndata: {\"result\":\"done\"}\n\n");
}

#[tokio::test]
async fn chunked_bodies_are_put_together() {
    let app = app().await;
    let body = b"3;ext=1\r\n{\"d\r\n1\r\na\r\n6\r\nta\":12\r\n2\r\n3}\r\n0\r\ntrailer: x\r\n\r\n";
    let request = [chunked_head("/echo").as_slice(), body].concat();
    assert_eq!(app.ask(&request).await.text(), r#"{"result":123}"#);
    // The same byte by byte.
    let mut client = app.connect().await;
    for byte in request {
        client.send([byte]).await;
    }
    assert_eq!(client.answer().await.unwrap().text(), r#"{"result":123}"#);
}

#[tokio::test]
async fn a_path_may_be_percent_encoded() {
    let app = app().await;
    assert_eq!(app.post("/%65cho", r#"{"data":1}"#).await.text(), r#"{"result":1}"#);
    for path in ["/%", "/%zz", "/%ff", "/echo%2f", "/%2e%2e/echo"] {
        assert_eq!(app.post(path, r#"{"data":1}"#).await.status, 404, "{path}");
    }
}
