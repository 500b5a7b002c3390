//! Limits of time and bytes, and the headers of a request.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use oxikit_outgoing::{OutgoingClient, OutgoingError, OutgoingPolicy, Resolver, Url};
use tokio::net::TcpListener;

use crate::peer::{Dns, Peer, client};

/// A response with a body of this many bytes; its end is the end of the connection.
async fn sends(bytes: usize) -> Peer {
    Peer::new(format!("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{}", "x".repeat(bytes))).await
}

fn local() -> OutgoingPolicy {
    OutgoingPolicy::default().allow_loopback()
}

#[tokio::test]
async fn a_response_has_at_most_64_kib() {
    let limit = 64 * 1024;
    let client = client(local(), Dns::new(&[]));
    let response = client.get(sends(limit).await.url("127.0.0.1")).send().await.unwrap();
    assert_eq!(response.body().len(), limit);
    let error = client.get(sends(limit + 1).await.url("127.0.0.1")).send().await.unwrap_err();
    assert!(matches!(error, OutgoingError::TooLarge { limit: 65_536, .. }), "{error:?}");
}

#[tokio::test]
async fn the_policy_says_how_large_a_response_may_be() {
    let client = client(local().max_response_bytes(10), Dns::new(&[]));
    assert!(client.get(sends(10).await.url("127.0.0.1")).send().await.is_ok());
    let error = client.get(sends(11).await.url("127.0.0.1")).send().await.unwrap_err();
    assert!(matches!(error, OutgoingError::TooLarge { limit: 10, .. }), "{error:?}");
}

/// 65,537 zeros, compressed by gzip.
const COMPRESSED: [u8; 97] = [
    31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 237, 193, 1, 1, 0, 0, 0, 130, 32, 255, 175, 174, 33, 64, 1, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 192, 13,
    243, 67, 13, 229, 1, 0, 1, 0,
];

#[tokio::test]
async fn the_size_of_a_response_is_that_after_decompression() {
    let head = "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\nconnection: close\r\n\r\n";
    let server = Peer::new([head.as_bytes(), &COMPRESSED].concat()).await;
    let large = client(local().max_response_bytes(65_537), Dns::new(&[]));
    let response = large.get(server.url("127.0.0.1")).send().await.unwrap();
    assert_eq!(response.body(), &[0; 65_537][..]);
    let small = client(local(), Dns::new(&[]));
    let error = small.get(server.url("127.0.0.1")).send().await.unwrap_err();
    assert!(matches!(error, OutgoingError::TooLarge { .. }), "{error:?}");
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_left() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", silent.local_addr().unwrap());
    let client = client(local().timeout(Duration::from_millis(50)), Dns::new(&[]));
    let error = client.get(Url::parse(&url).unwrap()).send().await.unwrap_err();
    assert!(matches!(error, OutgoingError::NoResponse { .. }), "{error:?}");
}

#[tokio::test]
async fn an_incomplete_response_is_a_failure() {
    let server = Peer::new("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nonly").await;
    let client = client(local(), Dns::new(&[]));
    let error = client.get(server.url("127.0.0.1")).send().await.unwrap_err();
    assert!(matches!(error, OutgoingError::NoResponse { .. }), "{error:?}");
}

/// A name server that never answers.
struct SilentDns;

#[async_trait]
impl Resolver for SilentDns {
    async fn resolve(&self, _: &str) -> io::Result<Vec<IpAddr>> {
        std::future::pending().await
    }
}

#[tokio::test]
async fn a_name_server_that_does_not_answer_is_left() {
    let policy = OutgoingPolicy::default().connect_timeout(Duration::from_millis(50));
    let client = OutgoingClient::with_resolver(policy, Arc::new(SilentDns)).unwrap();
    let url = Url::parse("https://slow.example.com/").unwrap();
    let error = client.check(&url).await.unwrap_err();
    assert!(matches!(error, OutgoingError::Address { .. }), "{error:?}");
    let error = client.get(url).send().await.unwrap_err();
    assert!(matches!(error, OutgoingError::NoResponse { .. }), "{error:?}");
}

#[tokio::test]
async fn the_text_does_not_say_how_a_server_failed() {
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let not_http = Peer::new("SSH-2.0-OpenSSH_9.9\r\n").await.port;
    let cut = Peer::new("").await.port;
    // Neither of the two servers ends the TLS handshake.
    let client = client(local().connect_timeout(Duration::from_millis(300)), Dns::new(&[]));
    for port in [closed, not_http, cut] {
        for scheme in ["http", "https"] {
            let url = Url::parse(&format!("{scheme}://127.0.0.1:{port}/secret-path")).unwrap();
            let error = client.get(url).send().await.unwrap_err();
            let text = "`127.0.0.1` did not respond, or its response was incomplete";
            assert_eq!(error.to_string(), text);
        }
    }
}

#[tokio::test]
async fn headers_have_no_line_breaks() {
    let client = client(local(), Dns::new(&[]));
    let url = Url::parse("http://127.0.0.1/").unwrap();
    for (name, value) in [
        ("authorization", "Bearer a\r\nx: y"),
        ("authorization", "Bearer a\nx: y"),
        ("authorization", "Bearer a\r"),
        ("authorization", "Bearer \0"),
        ("x\r\ny", "a"),
        ("x y", "a"),
        ("", "a"),
    ] {
        let error = client.get(url.clone()).header(name, value).unwrap_err();
        assert!(matches!(error, OutgoingError::Header(_)), "{error:?}");
        assert!(!error.to_string().contains(['\r', '\n']), "{error}");
        assert!(!error.to_string().contains("Bearer"), "the value may be a secret: {error}");
    }
}

#[test]
fn debug_texts_have_no_secrets() {
    let client = client(local(), Dns::new(&[]));
    let url = Url::parse("http://127.0.0.1/hook?token=planted").unwrap();
    let request = client.post(url, "planted").header("authorization", "planted").unwrap();
    assert!(!format!("{request:?}").contains("planted"), "{request:?}");
}
