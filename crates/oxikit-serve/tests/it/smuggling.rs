//! Requests that two readers of one connection could see differently: each is 400,
//! the connection is closed, and nothing runs, neither it nor what follows it.

use crate::hostile::assert_refused;
use crate::kit::{App, app, post};

const LINE: &str = "POST /echo HTTP/1.1\r\n";
const HOST: &str = "host: localhost\r\n";
const CHUNKED: &str = "transfer-encoding: chunked\r\n";
const BODY: &str = r#"{"data":1}"#;
const CHUNKS: &str = "a\r\n{\"data\":1}\r\n0\r\n\r\n";

/// Fields that say how long a body is, and others that hide them.
const FRAMINGS: [&str; 51] = [
    // A length and a coding.
    "content-length: 10\r\ntransfer-encoding: chunked\r\n",
    "transfer-encoding: chunked\r\ncontent-length: 10\r\n",
    "Transfer-Encoding: Chunked\r\nContent-Length: 0\r\n",
    "CONTENT-LENGTH: 20\r\nTRANSFER-ENCODING: CHUNKED\r\n",
    "transfer-encoding: chunked\r\nx: y\r\ncontent-length: 400\r\n",
    "content-length:10\r\ntransfer-encoding:\tchunked\r\n",
    "transfer-encoding: chunked\r\ncontent-length: \r\n",
    "content-length: 10\r\ntransfer-encoding: identity\r\n",
    "content-length: 10\r\ntransfer-encoding: \r\n",
    // Two lengths.
    "content-length: 10\r\ncontent-length: 11\r\n",
    "content-length: 10\r\ncontent-length: 10\r\n",
    "content-length: 0\r\ncontent-length: 10\r\n",
    "content-length: 10, 11\r\n",
    "content-length: 10, 10\r\n",
    // A length that is none.
    "content-length: +10\r\n",
    "content-length: -1\r\n",
    "content-length: 0x0a\r\n",
    "content-length: 10abc\r\n",
    "content-length: 1 0\r\n",
    "content-length: 1e1\r\n",
    "content-length: 10.0\r\n",
    "content-length:\r\n",
    "content-length: 99999999999999999999999\r\n",
    "content-length: 18446744073709551626\r\n",
    // Names that are cut off.
    "content-length : 10\r\n",
    "content-length\t: 10\r\n",
    " content-length: 10\r\n",
    "\tcontent-length: 10\r\n",
    "content-length\r\n: 10\r\n",
    "transfer-encoding : chunked\r\n",
    "transfer-encoding\t: chunked\r\n",
    // Codings that we do not have, or have twice.
    "transfer-encoding: gzip\r\n",
    "transfer-encoding: gzip, chunked\r\n",
    "transfer-encoding: chunked, gzip\r\n",
    "transfer-encoding: chunked, chunked\r\n",
    "transfer-encoding: chunked, identity\r\n",
    "transfer-encoding: identity\r\n",
    "transfer-encoding: xchunked\r\n",
    "transfer-encoding: \"chunked\"\r\n",
    "transfer-encoding: chunked;q=1\r\n",
    "transfer-encoding:\x0bchunked\r\n",
    "transfer-encoding: chunked\r\ntransfer-encoding: identity\r\n",
    "transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n",
    "transfer-encoding: chunked\0\r\n",
    // Lines that are none.
    "x: a\r\n b: folded\r\n",
    "transfer-encoding:\r\n chunked\r\n",
    "x: a\0b\r\n",
    "x y: 1\r\n",
    "x\t: 1\r\n",
    ": 1\r\n",
    "x: 1\rcontent-length: 10\r\n",
];

/// Bodies in chunks that are framed wrongly.
const CHUNKINGS: [&str; 24] = [
    "zz\r\n{\"data\":1}\r\n0\r\n\r\n",
    "-a\r\n{\"data\":1}\r\n0\r\n\r\n",
    "+a\r\n{\"data\":1}\r\n0\r\n\r\n",
    "0xa\r\n{\"data\":1}\r\n0\r\n\r\n",
    "a \r\n{\"data\":1}\r\n0\r\n\r\n",
    " a\r\n{\"data\":1}\r\n0\r\n\r\n",
    "a\t;x\r\n{\"data\":1}\r\n0\r\n\r\n",
    "a \rx\r\n{\"data\":1}\r\n0\r\n\r\n",
    "\r\na\r\n{\"data\":1}\r\n0\r\n\r\n",
    ";x\r\n{\"data\":1}\r\n0\r\n\r\n",
    "ffffffffffffffffff\r\n{\"data\":1}\r\n0\r\n\r\n",
    "10000000000000000a\r\n{\"data\":1}\r\n0\r\n\r\n",
    "0000000000000000000a\r\n{\"data\":1}\r\n0\r\n\r\n",
    "a_0\r\n{\"data\":1}\r\n0\r\n\r\n",
    "a\n{\"data\":1}\r\n0\r\n\r\n",
    "a;x\n{\"data\":1}\r\n0\r\n\r\n",
    "a\r{\"data\":1}\r\n0\r\n\r\n",
    "a\r\n{\"data\":1}\n0\r\n\r\n",
    "a\r\n{\"data\":1}0\r\n\r\n",
    "a\r\n{\"data\":1}xx\r\n0\r\n\r\n",
    "a\r\n{\"data\":1}\r\n0\n\r\n",
    "a\r\n{\"data\":1}\r\n0\r\n\n",
    "a\r\n{\"data\":1}\r\n0\r\nx: y\n\r\n",
    "a\r\n{\"data\":1}\r\n0\r\n x: y\r\n\r\n",
];

/// First lines.
const LINES: [&str; 14] = [
    "POST /echo HTTP/1.1 x\r\n",
    "POST  /echo HTTP/1.1\r\n",
    "POST /echo\tHTTP/1.1\r\n",
    "POST /echo HTTP/1.2\r\n",
    "POST /echo HTTP/3\r\n",
    "POST /echo http/1.1\r\n",
    "POST /ec ho HTTP/1.1\r\n",
    "PO ST /echo HTTP/1.1\r\n",
    "POST /echo\0 HTTP/1.1\r\n",
    "P\u{d6}ST /echo HTTP/1.1\r\n",
    "POST\r\n",
    "PRI * HTTP/2.0\r\n",
    " POST /echo HTTP/1.1\r\n",
    "\x16\x03\x01\x02\x01\x01\r\n",
];

fn requests() -> Vec<String> {
    let mut requests = Vec::new();
    for framing in FRAMINGS {
        // The body is whole, whichever of the two is believed.
        for body in [BODY, CHUNKS] {
            requests.push(format!("{LINE}{HOST}{framing}\r\n{body}"));
            requests.push(format!("{LINE}{framing}{HOST}\r\n{body}"));
        }
    }
    for chunks in CHUNKINGS {
        requests.push(format!("{LINE}{HOST}{CHUNKED}\r\n{chunks}"));
    }
    let extension = "x".repeat(20_000);
    requests.push(format!("{LINE}{HOST}{CHUNKED}\r\na;{extension}\r\n{BODY}\r\n0\r\n\r\n"));
    for line in LINES {
        requests.push(format!("{line}{HOST}content-length: 0\r\n\r\n"));
    }
    let whole = format!("{LINE}{HOST}content-length: 10\r\n\r\n");
    // One bare line feed or carriage return, in every place.
    for (place, _) in whole.match_indices("\r\n") {
        for end in ["\n", "\r", "\r\r\n", "\n\r\n", "\n\r"] {
            let (before, after) = (&whole[..place], &whole[place + 2..]);
            requests.push(format!("{before}{end}{after}{BODY}"));
        }
    }
    requests.push(format!("\n{whole}{BODY}"));
    requests.push(format!("\r{whole}{BODY}"));
    requests.push(format!("{}{BODY}", whole.replace("\r\n", "\n")));
    requests.push(format!("POST /echo HTTP/1.0\r\n{HOST}{CHUNKED}\r\n{CHUNKS}"));
    requests
}

#[tokio::test]
async fn every_request_that_could_hide_another_is_400_and_closes() {
    let app = app().await;
    let requests = requests();
    assert!(requests.len() > 200, "{}", requests.len());
    let mut answered = 0;
    for request in &requests {
        answered += usize::from(assert_refused(&app, request, &[400]).await);
    }
    assert!(answered * 10 > requests.len() * 9, "{answered} of {}", requests.len());
    assert!(app.is_alive().await);
}

/// Fails unless the server answers 400 and nothing else, however the bytes come.
async fn assert_refused_in_pieces(app: &App, before: &[u8], request: &str) {
    let mut client = app.connect().await;
    client.send(before).await;
    if !before.is_empty() {
        assert_eq!(client.answer().await.unwrap().text(), r#"{"result":"first"}"#);
    }
    let effects = app.effects();
    for piece in request.as_bytes().chunks(7) {
        if !client.try_send(piece).await {
            break;
        }
        tokio::task::yield_now().await;
    }
    client.try_send(post("/echo", "", r#"{"data":"smuggled"}"#)).await;
    // A connection that is reset because of what follows may lose its answer.
    if let Some(answer) = client.answer().await {
        assert_eq!(answer.status, 400, "{request:?}: {answer:?}");
    }
    assert_eq!(client.rest().await, b"", "{request:?}");
    assert_eq!(app.effects(), effects, "{request:?}");
}

#[tokio::test]
async fn neither_pieces_nor_a_good_request_before_hide_it() {
    let app = app().await;
    let first = post("/echo", "", r#"{"data":"first"}"#);
    for request in requests().iter().step_by(3) {
        assert_refused_in_pieces(&app, b"", request).await;
        assert_refused_in_pieces(&app, &first, request).await;
    }
    assert!(app.is_alive().await);
}

/// Nothing follows the head, so that no reset can lose the answer.
#[tokio::test]
async fn a_refused_head_is_answered_wherever_it_is_cut() {
    let app = app().await;
    let head = "POST /echo HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n\
                content-length: 3\r\n\r\n";
    for cut in 1..head.len() {
        let mut client = app.connect().await;
        client.send(&head.as_bytes()[..cut]).await;
        tokio::task::yield_now().await;
        client.try_send(&head.as_bytes()[cut..]).await;
        assert_eq!(client.answer().await.map(|answer| answer.status), Some(400), "cut at {cut}");
    }
}

#[tokio::test]
async fn a_target_of_another_host_than_the_field_is_refused() {
    let app = app().await;
    for (target, host) in [
        ("http://evil.example/echo", "localhost"),
        ("http://localhost/echo", "evil.example"),
        ("http://localhost@evil.example/echo", "localhost"),
        ("//evil.example/echo", "localhost"),
    ] {
        let request = format!(
            "POST {target} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n\
             content-length: 10\r\nconnection: close\r\n\r\n{BODY}"
        );
        let answer = app.ask(request).await;
        assert!(matches!(answer.status, 400 | 403 | 404), "{target} {host}: {answer:?}");
        assert_eq!(app.effects(), 0, "{target} {host}");
    }
}

#[tokio::test]
async fn requests_in_common_forms_are_served_one_after_another() {
    let app = app().await;
    let mut client = app.connect().await;
    let extended = "a;name=value\r\n{\"data\":1}\r\n0\r\nx-trailer: 1\r\n\r\n";
    let upper = "A\r\n{\"data\":1}\r\n0\r\n\r\n";
    let split = "5\r\n{\"dat\r\n5\r\na\":1}\r\n000\r\n\r\n";
    let typed = "content-type: application/json\r\n";
    let mut all = String::new();
    for (framing, body) in [
        ("Content-Length: 10\r\n", BODY),
        ("content-length:10\r\n", BODY),
        ("content-length:\t 010 \r\n", BODY),
        (CHUNKED, CHUNKS),
        ("TRANSFER-ENCODING:CHUNKED\r\n", upper),
        (CHUNKED, extended),
        (CHUNKED, split),
        ("upgrade: h2c\r\ncontent-length: 10\r\n", BODY),
        // An empty line after a body, as old clients send it.
        ("content-length: 10\r\n", "{\"data\":1}\r\n"),
    ] {
        let request = format!("{LINE}{HOST}{typed}{framing}\r\n{body}");
        client.send(&request).await;
        let answer = client.answer().await.unwrap();
        assert_eq!(answer.text(), r#"{"result":1}"#, "{request:?}");
        all.push_str(&request);
    }
    // And all at once.
    client.send(&all).await;
    for _ in 0..9 {
        assert_eq!(client.answer().await.unwrap().text(), r#"{"result":1}"#);
    }
    // A request to upgrade gets a normal response, and the connection stays open.
    let socket =
        format!("GET /echo HTTP/1.1\r\n{HOST}connection: upgrade\r\nupgrade: websocket\r\n\r\n");
    client.send(&socket).await;
    assert_eq!(client.answer().await.unwrap().status, 405);
    client.send(post("/echo", "", r#"{"data":2}"#)).await;
    assert_eq!(client.answer().await.unwrap().text(), r#"{"result":2}"#);
}
