//! Peers that want in and must not, and peers that are in and misbehave.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};

use oxikit_testing::manager::{Manager, end, flow, manager, options, soon, until};

/// The status of an answer to a handshake with these headers.
async fn handshake(manager: &Manager, target: &str, headers: &[(&str, &str)]) -> u16 {
    let mut stream = TcpStream::connect(manager.address).await.unwrap();
    let mut request = format!("GET {target} HTTP/1.1\r\n");
    for (name, value) in headers {
        request += &format!("{name}: {value}\r\n");
    }
    request += "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
        Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut head = [0; 12];
    soon(stream.read_exact(&mut head)).await.unwrap();
    std::str::from_utf8(&head[9..]).unwrap().parse().unwrap()
}

const ORIGINS: [&str; 30] = [
    "http://evil.example",
    "https://evil.example",
    "null",
    "http://localhost",
    "http://localhost:3200",
    "http://localhost:4000",
    "http://127.0.0.1",
    "http://127.0.0.1:4000",
    "http://[::1]:4000",
    "https://localhost:4000",
    "http://localhost.evil.example",
    "http://evil.localhost",
    "http://LOCALHOST",
    "http://0.0.0.0",
    "http://127.1",
    "http://192.168.0.1",
    "http://10.0.0.1:8080",
    "file://",
    "chrome-extension://abcdef",
    "moz-extension://abcdef",
    "vscode-webview://x",
    "app://local",
    "ws://localhost:3200",
    "data:",
    "about:blank",
    "",
    "*",
    "http://user@localhost",
    "http://localhost.",
    "http://xn--lclhost-9wa",
];

const HOSTS: [&str; 12] = [
    "localhost",
    "127.0.0.1:3200",
    "[::1]:3200",
    "evil.example",
    "localhost.evil.example",
    "localhost.",
    "127.0.0.1.evil.example",
    "0.0.0.0:3200",
    "192.168.0.1",
    "[::]:3200",
    "127.1",
    "rebind.example:3200",
];

#[tokio::test]
async fn no_page_and_no_foreign_host_gets_in() {
    let manager = manager(options()).await;
    let target = format!("/r/{}", manager.token.reveal());
    for host in HOSTS {
        for origin in ORIGINS {
            let status = handshake(&manager, &target, &[("Host", host), ("Origin", origin)]).await;
            assert_eq!(status, 403, "{host} {origin}");
        }
    }
    let expected = [101, 101, 101, 403, 403, 403, 403, 403, 403, 403, 403, 403];
    for (host, expected) in HOSTS.into_iter().zip(expected) {
        assert_eq!(handshake(&manager, &target, &[("Host", host)]).await, expected, "{host}");
    }
    for (headers, expected) in [
        (&[("Host", "app.localhost")][..], 101),
        (&[("Host", "LocalHost:1")], 101),
        (&[("Host", "127.8.9.10")], 101),
        (&[("Host", "localhost"), ("Sec-Fetch-Site", "none")], 403),
        (&[("Host", "localhost"), ("Sec-Fetch-Mode", "websocket")], 101),
        (&[("Host", "localhost"), ("Host", "evil.example")], 400),
        (&[("Host", "")], 403),
        (&[("Host", "localhost:x")], 403),
        (&[("Host", "user@localhost")], 403),
    ] {
        assert_eq!(handshake(&manager, &target, headers).await, expected, "{headers:?}");
    }
    let absolute = format!("http://evil.example{target}");
    assert_eq!(handshake(&manager, &absolute, &[("Host", "localhost")]).await, 400);
    assert_eq!(handshake(&manager, &absolute, &[("Host", "evil.example")]).await, 403);
    assert!(manager.runtimes.list().is_empty());
}

#[tokio::test]
async fn only_the_whole_token_opens() {
    let manager = manager(options()).await;
    let token = manager.token.reveal().to_owned();
    let another = oxikit_http::Token::random();
    let wrong = [
        "x".to_owned(),
        token[1..].to_owned(),
        token[..token.len() - 1].to_owned(),
        format!("{token}0"),
        token.to_uppercase() + "A",
        format!("%20{token}"),
        format!("{token}%00"),
        "%00".to_owned(),
        another.reveal().to_owned(),
        token.replace(|_| true, "0"),
    ];
    let host = [("Host", "localhost")];
    for presented in &wrong {
        assert_eq!(
            handshake(&manager, &format!("/r/{presented}"), &host).await,
            401,
            "{presented}"
        );
    }
    for target in ["/", "/r", "/r/", "/r/x/y", "/t/x"] {
        assert_eq!(handshake(&manager, target, &host).await, 404, "{target}");
    }
    // Many wrong tokens are rate limited; the right one is still accepted.
    assert_eq!(handshake(&manager, "/r/x", &host).await, 429);
    assert_eq!(handshake(&manager, &format!("/r/{token}"), &host).await, 101);
    assert_eq!(handshake(&manager, &format!("/r/{token}?x=1"), &host).await, 101);
    assert!(!format!("{:?}", manager.token).contains(&token));
}

#[tokio::test]
async fn a_request_that_is_not_a_handshake_is_rejected_with_a_reason() {
    let manager = manager(options()).await;
    let mut stream = TcpStream::connect(manager.address).await.unwrap();
    let request = format!("GET /r/{} HTTP/1.1\r\nHost: localhost\r\n\r\n", manager.token.reveal());
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut head = [0; 12];
    soon(stream.read_exact(&mut head)).await.unwrap();
    assert_eq!(&head, b"HTTP/1.1 400");
    assert_eq!(manager.runtimes.counts().sockets, 0);
}

#[tokio::test]
async fn there_are_only_so_many_sockets() {
    let mut options = options();
    options.max_sockets = 3;
    let manager = manager(options).await;
    let mut open = Vec::new();
    for _ in 0..3 {
        open.push(manager.connect().await);
    }
    let target = format!("/r/{}", manager.token.reveal());
    assert_eq!(handshake(&manager, &target, &[("Host", "localhost")]).await, 503);
    open.pop();
    until(|| manager.runtimes.counts().sockets == 2).await;
    assert_eq!(handshake(&manager, &target, &[("Host", "localhost")]).await, 101);
}

#[tokio::test]
async fn a_message_that_is_too_large_is_refused_with_its_code() {
    let mut options = options();
    options.max_message = 1 << 20;
    let manager = manager(options).await;
    let mut other = manager.runtime("other").await;
    for size in [(1 << 20) + 1, 8 << 20, 64 << 20] {
        let mut runtime = manager.runtime("large").await;
        // It goes on sending although it is sent away.
        _ = soon(runtime.socket.send(Message::text("x".repeat(size)))).await;
        assert_eq!(u16::from(runtime.closed().await.unwrap().code), 1009, "{size}");
        until(|| manager.runtimes.counts().runtimes == 1).await;
    }
    let mut pieces = manager.connect().await;
    let piece = |is_first: bool| {
        let code = if is_first { Data::Text } else { Data::Continue };
        Message::Frame(Frame::message(vec![b'x'; 300_000], OpCode::Data(code), false))
    };
    for n in 0..4 {
        _ = soon(pieces.socket.send(piece(n == 0))).await;
    }
    assert_eq!(u16::from(pieces.closed().await.unwrap().code), 1009);
    // Just as large as allowed, and unaffected others.
    let run = manager.start(flow("f", json!(1)).on("other")).await;
    let asked = other.expect_request("runAction").await;
    let size = (1 << 20) - 200;
    other.answer(&asked, json!({"result": "y".repeat(size)})).await;
    assert_eq!(end(run).await, Ok(Some(json!("y".repeat(size)))));
}

#[tokio::test]
async fn a_message_that_is_never_completed_is_given_up() {
    let mut options = options();
    options.message_timeout = Duration::from_millis(200);
    let manager = manager(options).await;
    let first = Message::Frame(Frame::message("{", OpCode::Data(Data::Text), false));
    // Fragments, also with pings between them.
    let mut runtime = manager.runtime("a").await;
    soon(runtime.socket.send(first)).await.unwrap();
    soon(runtime.socket.send(Message::Ping("x".into()))).await.unwrap();
    assert_eq!(u16::from(runtime.closed().await.unwrap().code), 1002);
    // One frame that stops in the middle: fin and text, masked, 100 bytes.
    let mut runtime = manager.runtime("b").await;
    let stream = runtime.socket.get_mut();
    stream.write_all(&[0x81, 0x80 | 100, 1, 2, 3, 4, b'{', 2, 3]).await.unwrap();
    let mut close = [0; 4];
    soon(stream.read_exact(&mut close)).await.unwrap();
    assert_eq!((close[0], u16::from_be_bytes([close[2], close[3]])), (0x88, 1002));
    // One that takes its time but comes is taken.
    let mut runtime = manager.runtime("c").await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    runtime.request("q", "unknown", json!({})).await;
    runtime.socket.send(Message::Ping("x".into())).await.unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    runtime.request("q", "unknown", json!({})).await;
}

#[tokio::test]
async fn unfinished_messages_share_their_memory_and_the_newest_has_to_go() {
    let mut options = options();
    options.max_unfinished = 1 << 20;
    let manager = manager(options).await;
    let piece = |is_first: bool, is_last: bool, text: &str| {
        let code = if is_first { Data::Text } else { Data::Continue };
        Message::Frame(Frame::message(text.to_owned(), OpCode::Data(code), is_last))
    };
    let big = "x".repeat(600 << 10);
    let (mut old, mut new) = (manager.runtime("old").await, manager.runtime("new").await);
    let head = format!(r#"{{"id":"q","method":"unknown","params":"{big}"#);
    soon(old.socket.send(piece(true, false, &head))).await.unwrap();
    // Small messages on other sockets still fit.
    tokio::time::sleep(Duration::from_millis(100)).await;
    new.request("q", "unknown", json!("x".repeat(60 << 10))).await;
    soon(new.socket.send(piece(true, false, &big))).await.unwrap();
    let closed = new.closed().await.unwrap();
    assert_eq!(u16::from(closed.code), 1013);
    assert!(closed.reason.contains("later"), "{closed:?}");
    // The first message can be completed, and has released its memory.
    soon(old.socket.send(piece(false, true, "\"}"))).await.unwrap();
    assert_eq!(old.next().await["id"], "q");
    old.request("r", "unknown", json!(big)).await;
}

#[tokio::test]
async fn a_socket_that_never_registers_is_closed() {
    let mut options = options();
    options.register_timeout = Duration::from_millis(200);
    let manager = manager(options).await;
    let (mut nobody, mut runtime) = (manager.connect().await, manager.runtime("a").await);
    // Other messages do not extend the time to register.
    nobody.request("q", "unknown", json!(1)).await;
    assert_eq!(u16::from(nobody.closed().await.unwrap().code), 1008);
    until(|| manager.runtimes.counts().sockets == 1).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    runtime.request("q", "unknown", json!(1)).await;
}

#[tokio::test]
async fn what_is_not_text_or_no_frame_is_refused_with_its_code() {
    let manager = manager(options()).await;
    let mut runtime = manager.connect().await;
    let bad = Frame::message(vec![0xff, 0xfe], OpCode::Data(Data::Text), true);
    soon(runtime.socket.send(Message::Frame(bad))).await.unwrap();
    assert_eq!(u16::from(runtime.closed().await.unwrap().code), 1007);
    let mut runtime = manager.connect().await;
    // Not masked.
    runtime.socket.get_mut().write_all(&[0x81, 2, b'{', b'}']).await.unwrap();
    assert_eq!(u16::from(runtime.closed().await.unwrap().code), 1002);
    // Binary frames with JSON are as good as text.
    let mut runtime = manager.connect().await;
    let register = json!({"id": "1", "method": "register", "params": {"id": "b", "pid": 1}});
    let binary = Message::binary(register.to_string());
    soon(runtime.socket.send(binary)).await.unwrap();
    assert_eq!(runtime.next().await["id"], "1");
}

#[tokio::test]
async fn invalid_messages_do_not_affect_other_runtimes() {
    let manager = manager(options()).await;
    let (mut bad, mut good) = (manager.runtime("bad").await, manager.runtime("good").await);
    let garbage = [
        "hello",
        "null",
        "[]",
        "[[[[",
        "{",
        "{}",
        "7",
        "\"x\"",
        r#"[{"method":"register","id":1}]"#,
        r#"{"method":7}"#,
        r#"{"id":{}}"#,
        r#"{"method":"streamChunk"}"#,
        r#"{"method":"streamChunk","params":{"requestId":5,"chunk":1}}"#,
        r#"{"method":"streamChunk","params":[1,2]}"#,
        r#"{"method":"runActionState","params":{"requestId":"1","state":7}}"#,
        r#"{"method":"runActionState","params":null}"#,
        r#"{"id":"99999999999999999999999999999999999999999","result":1}"#,
        r#"{"id":-1,"error":7}"#,
        r#"{"id":1.5,"result":{}}"#,
        r#"{"id":"1","id":"2","result":{}}"#,
        r#"{"method":"telemetry","params":{"__proto__":1}}"#,
    ];
    let flood = tokio::spawn(async move {
        for n in 0..100_000 {
            let text = garbage[n % garbage.len()];
            let message = match n % 3 {
                0 => Message::binary(text),
                1 => Message::binary(vec![0xff; 7]),
                _ => Message::text(text),
            };
            soon(bad.socket.feed(message)).await.unwrap();
        }
        soon(bad.socket.flush()).await.unwrap();
        bad.request("q", "unknown", json!(1)).await;
        bad
    });
    for n in 0..50 {
        let run = manager.start(flow("f", json!(n)).on("good")).await;
        let asked = good.expect_request("runAction").await;
        good.answer(&asked, json!({"result": n})).await;
        assert_eq!(end(run).await, Ok(Some(json!(n))));
    }
    drop(soon(flood).await.unwrap());
    manager.is_idle().await;
}

#[tokio::test]
async fn depth_that_is_only_passed_on_costs_nothing() {
    let manager = manager(options()).await;
    let mut runtime = manager.runtime("a").await;
    let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    for levels in [1_000, 100_000, 2_000_000] {
        let deep = deep(levels);
        let params = format!(r#"{{"key":"/flow/f","input":{deep}}}"#);
        let mut run = manager.start(oxikit_manager::RunSpec::new(params).streaming()).await;
        let text = soon(runtime.socket.next()).await.unwrap().unwrap().into_text().unwrap();
        assert!(text.contains(&deep));
        let id = text.split(r#""id":""#).nth(1).unwrap().split('"').next().unwrap();
        let chunk =
            format!(r#"{{"method":"streamChunk","params":{{"requestId":"{id}","chunk":{deep}}}}}"#);
        runtime.send_text(chunk).await;
        runtime.send_text(format!(r#"{{"id":"{id}","result":{{"result":{deep}}}}}"#)).await;
        assert_eq!(soon(run.next_chunk()).await.unwrap(), deep.as_bytes());
        assert_eq!(soon(run.finish()).await.unwrap().result.unwrap(), deep.as_bytes());
        // Where it has to be read, it is refused.
        let register = format!(r#"{{"id":"r","method":"register","params":{deep}}}"#);
        runtime.send_text(register).await;
        assert_eq!(runtime.next().await["error"]["code"], -32602);
    }
}
