//! Every form of answer that was tried on the official client, and what this one
//! makes of it.

use oxikit_client::StatusCode;
use serde_json::{Value, json};

use crate::peer::{Reply, peer, reply};

/// The chunks, then the output or the code and message of the failure.
type Seen = (Vec<Value>, Result<Value, (StatusCode, String)>);

fn ends(chunks: Value, output: Value) -> Seen {
    (chunks.as_array().unwrap().clone(), Ok(output))
}

fn fails(chunks: Value, code: StatusCode, message: &str) -> Seen {
    (chunks.as_array().unwrap().clone(), Err((code, message.to_owned())))
}

async fn stream(replies: Vec<Reply>) -> Seen {
    let peer = peer(replies).await;
    let action = peer.action();
    let mut chunks = Vec::new();
    let output = match action.stream::<Value, Value>(&json!({ "q": 1 })).await {
        Ok(mut stream) => {
            while let Some(Ok(chunk)) = stream.next().await {
                chunks.push(chunk);
            }
            stream.finish().await
        }
        Err(status) => Err(status),
    };
    (chunks, output.map_err(|status| (status.code(), without_address(&peer.url(), &status))))
}

async fn run(http: u16, body: &str) -> Seen {
    let peer = peer([reply(http, [body])]).await;
    let action = peer.action();
    let output: Result<Value, _> = action.run(&json!({ "q": 1 })).await;
    let output = output.map_err(|status| (status.code(), without_address(&peer.url(), &status)));
    (Vec::new(), output)
}

fn without_address(url: &str, status: &oxikit_client::Status) -> String {
    status.message().replace(url, "URL")
}

#[track_caller]
fn check(name: &str, seen: Seen, expected: Seen) {
    assert_eq!(seen, expected, "case {name}");
}

const OK: [&str; 2] = ["data: {\"message\":1}\n\n", "data: {\"result\":\"r\"}\n\n"];

/// `OK` in one piece, compressed.
const OK_GZIP: &[u8] = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\x4b\x49\x2c\x49\xb4\x52\xa8\x56\xca\x4d\x2d\x2e\x4e\x4c\x4f\x55\xb2\x32\xac\xe5\xe2\x4a\x81\x0a\x16\xa5\x16\x97\xe6\x94\x28\x59\x29\x15\x29\x01\x45\x01\xab\x46\x01\x7f\x2b\x00\x00\x00";

#[tokio::test]
async fn a_stream_is_read_in_every_dialect() {
    let r = || json!("r");
    let one = || ends(json!([1]), r());
    let good: [(&str, &[&str], Seen); 19] = [
        ("ok", &OK, one()),
        (
            "one_packet",
            &["data: {\"message\":1}\n\ndata: {\"message\":2}\n\ndata: {\"result\":\"r\"}\n\n"],
            ends(json!([1, 2]), r()),
        ),
        ("split_event", &["data: {\"mess", "age\":1}\n", "\ndata: {\"result\":\"r\"}\n\n"], one()),
        ("data_nospace", &["data:{\"message\":1}\n\n", "data:{\"result\":\"r\"}\n\n"], one()),
        ("crlf", &["data: {\"message\":1}\r\n\r\ndata: {\"result\":\"r\"}\r\n\r\n"], one()),
        (
            "crlf_split",
            &["data: {\"message\":1}\r\n\r", "\ndata: {\"result\":\"r\"}\r\n\r\n"],
            one(),
        ),
        ("comment_keepalive", &[": ping\n\n", OK[1]], ends(json!([]), r())),
        ("event_field", &["event: message\ndata: {\"message\":1}\n\n", OK[1]], one()),
        ("trailing_newline_extra", &["data: {\"message\":1}\n\n\n", OK[1]], one()),
        ("two_newlines_extra", &["data: {\"message\":1}\n\n\n\n", OK[1]], one()),
        ("spaces_after", &["data:   {\"message\":1}  \n\n", OK[1]], one()),
        ("pretty_json", &["data: {\n \"message\": 1\n}\n\n", OK[1]], one()),
        ("result_undefined", &["data: {}\n\n"], ends(json!([]), Value::Null)),
        ("result_null", &["data: {\"result\":null}\n\n"], ends(json!([]), Value::Null)),
        ("message_and_result", &["data: {\"message\":1,\"result\":\"x\"}\n\n", OK[1]], one()),
        (
            "after_result",
            &["data: {\"result\":\"r\"}\n\ndata: {\"message\":9}\n\n"],
            ends(json!([]), r()),
        ),
        ("next_end", &[OK[0], OK[1], "END"], one()),
        ("no_empty_line_at_the_end", &[OK[0], "data: {\"result\":\"r\"}"], one()),
        (
            "null_zero_and_empty_chunks",
            &[
                "data: {\"message\":null}\n\ndata: {\"message\":0}\n\ndata: {\"message\":{}}\n\n",
                OK[1],
            ],
            ends(json!([null, 0, {}]), r()),
        ),
    ];
    for (name, writes, expected) in good {
        check(name, stream(vec![reply(200, writes)]).await, expected);
    }
}

#[tokio::test]
async fn heads_of_all_kinds_lead_to_the_same_stream() {
    let one = || ends(json!([1]), json!("r"));
    for content_type in ["text/plain", "text/event-stream", "application/json"] {
        let answer = reply(200, OK).header("content-type", content_type);
        check(content_type, stream(vec![answer]).await, one());
    }
    check("no_ct", stream(vec![reply(200, OK)]).await, one());
    check("s201", stream(vec![reply(201, OK)]).await, one());
    let gzip = reply(200, [OK_GZIP]).header("content-encoding", "gzip");
    check("gzip", stream(vec![gzip]).await, one());
    let redirect = reply(307, [""]).header("location", "/ok");
    check("redirect", stream(vec![redirect, reply(200, OK)]).await, one());
}

#[tokio::test]
async fn a_character_that_arrives_in_two_reads_stays_whole() {
    let pieces: [&[u8]; 4] =
        [b"data: {\"message\":\"\xf0\x9f", b"\xa6\x80 \xc3", b"\xa4\"}\n\n", OK[1].as_bytes()];
    let seen = stream(vec![reply(200, pieces)]).await;
    check("split_utf8", seen, ends(json!(["🦀 ä"]), json!("r")));
}

#[tokio::test]
async fn errors_in_a_stream_keep_their_status_in_every_dialect() {
    use StatusCode::{Aborted, Internal, NotFound, Unavailable, Unknown};
    let none = || json!([]);
    let bad: [(&str, &[&str], Seen); 16] = [
        (
            "error_prefix",
            &[
                "error: {\"error\":{\"status\":\"NOT_FOUND\",\"message\":\"m\",\"details\":{\"a\":1}}}\n\n",
            ],
            fails(none(), NotFound, "m"),
        ),
        (
            "error_prefix_nodetails",
            &["error: {\"error\":{\"status\":\"NOT_FOUND\",\"message\":\"m\"}}\n\n"],
            fails(none(), NotFound, "m"),
        ),
        (
            "error_data_prefix",
            &["data: {\"error\":{\"status\":\"NOT_FOUND\",\"message\":\"m\"}}\n\n"],
            fails(none(), NotFound, "m"),
        ),
        (
            "error_after_chunk",
            &[OK[0], "error: {\"error\":{\"status\":\"ABORTED\",\"message\":\"m\"}}\n\n"],
            fails(json!([1]), Aborted, "m"),
        ),
        (
            "next_unwrapped",
            &[OK[0], "error: {\"status\":\"ABORTED\",\"message\":\"m\"}\n\n", "END"],
            fails(json!([1]), Aborted, "m"),
        ),
        (
            "event_error",
            &["event: error\ndata: {\"status\":\"ABORTED\",\"message\":\"m\"}\n\n"],
            fails(none(), Aborted, "m"),
        ),
        (
            "error_with_unknown_status",
            &["data: {\"error\":{\"status\":\"X\",\"message\":\"m\"}}\n\n"],
            fails(none(), Unknown, "m"),
        ),
        ("error_as_text", &["error: it broke\n\n"], fails(none(), Unknown, "it broke")),
        (
            "error_null",
            &["data: {\"error\":null}\n\n"],
            fails(none(), Unknown, "the server reported an error"),
        ),
        (
            "unknown_key",
            &["data: {\"foo\":1}\n\n", OK[1]],
            fails(none(), Internal, "URL sent a block that is not part of the protocol"),
        ),
        (
            "not_json",
            &[OK[0], "data: what\n\n", OK[1]],
            fails(json!([1]), Internal, "URL sent a block that is not part of the protocol"),
        ),
        (
            "page",
            &["<html>\n<body>\n</html>\n"],
            fails(none(), Internal, "URL sent something that is not a stream of blocks"),
        ),
        (
            "no_result_end",
            &[OK[0]],
            fails(json!([1]), Unavailable, "URL ended the stream without a result"),
        ),
        ("empty_200", &[], fails(none(), Unavailable, "URL ended the stream without a result")),
        (
            "half_a_block",
            &[OK[0], "data: {\"result\":"],
            fails(json!([1]), Unavailable, "URL ended the stream without a result"),
        ),
        (
            "half_a_word",
            &[OK[0], "dat"],
            fails(json!([1]), Unavailable, "URL ended the stream without a result"),
        ),
    ];
    for (name, writes, expected) in bad {
        check(name, stream(vec![reply(200, writes)]).await, expected);
    }
}

#[tokio::test]
async fn http_errors_of_a_stream_keep_their_status() {
    use StatusCode::{Internal, InvalidArgument, NotFound};
    let json = reply(400, ["{\"status\":\"INVALID_ARGUMENT\",\"message\":\"bad\"}"]);
    check("s400", stream(vec![json]).await, fails(json!([]), InvalidArgument, "bad"));
    let page = reply(500, ["<html>"]).header("content-type", "text/html");
    let expected = fails(json!([]), Internal, "URL answered HTTP 500");
    check("s500_html", stream(vec![page]).await, expected);
    let nothing = reply::<&str>(204, []);
    check("s204", stream(vec![nothing]).await, fails(json!([]), NotFound, "Stream not found"));
}

#[tokio::test]
async fn a_unary_answer_is_read_or_refused() {
    use StatusCode::{Internal, NotFound, Unknown};
    let garbage = "URL sent an answer that is not `{\"result\": …}`";
    let cases = [
        ("u_ok", 200, "{\"result\":{\"a\":1}}", ends(json!([]), json!({ "a": 1 }))),
        ("u_201", 201, "{\"result\":1}", ends(json!([]), json!(1))),
        ("u_noresult", 200, "{}", ends(json!([]), Value::Null)),
        ("u_null_result", 200, "{\"result\":null}", ends(json!([]), Value::Null)),
        ("u_errstr", 200, "{\"error\":\"boom\"}", fails(json!([]), Unknown, "boom")),
        (
            "u_errobj",
            200,
            "{\"error\":{\"status\":\"X\",\"message\":\"y\"}}",
            fails(json!([]), Unknown, "y"),
        ),
        ("u_notjson", 200, "hello", fails(json!([]), Internal, garbage)),
        ("u_array", 200, "[1]", fails(json!([]), Internal, garbage)),
        ("u_null", 200, "null", fails(json!([]), Internal, garbage)),
        ("u_empty", 200, "", fails(json!([]), Internal, garbage)),
        ("u_204", 204, "", fails(json!([]), Internal, garbage)),
        (
            "u_404",
            404,
            "{\"status\":\"NOT_FOUND\",\"message\":\"x\"}",
            fails(json!([]), NotFound, "x"),
        ),
    ];
    for (name, http, body, expected) in cases {
        check(name, run(http, body).await, expected);
    }
}

#[tokio::test]
async fn requests_look_as_official_servers_expect_them() {
    let peer = peer([
        reply(200, ["{\"result\":1}"]),
        reply(200, OK),
        reply(200, ["{}"]),
        reply(200, ["{}"]),
    ])
    .await;
    let action = peer.action().with_header("x-key", "k");
    action.run::<u8>(&json!({ "q": 1 })).await.unwrap();
    action.stream::<u8, String>(&1).await.unwrap().finish().await.unwrap();
    action.run::<()>(&()).await.unwrap();
    action.clone().with_init(json!({ "s": 2 })).run::<()>(&None::<u8>).await.unwrap();

    let requests: Vec<String> = peer.requests().await;
    let expected = [
        ("application/json", "{\"data\":{\"q\":1}}"),
        ("text/event-stream", "{\"data\":1}"),
        ("application/json", "{}"),
        ("application/json", "{\"data\":null,\"init\":{\"s\":2}}"),
    ];
    assert_eq!(requests.len(), expected.len());
    for (request, (accept, body)) in requests.iter().zip(expected) {
        let (head, sent) = request.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("POST /action HTTP/1.1\r\n"), "{head}");
        assert!(head.contains(&format!("\r\naccept: {accept}")), "{head}");
        assert!(head.contains("\r\ncontent-type: application/json"), "{head}");
        assert!(head.contains("\r\nx-key: k"), "{head}");
        assert_eq!(sent, body);
    }
}
