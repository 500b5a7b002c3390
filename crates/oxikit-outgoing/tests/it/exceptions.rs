//! What the exceptions of a policy allow, and what they do not.

use oxikit_core::{Status, StatusCode};
use oxikit_outgoing::{Network, OutgoingClient, OutgoingError, OutgoingPolicy, Url};

use crate::peer::{Dns, Peer, client};

fn url(text: &str) -> Url {
    Url::parse(text).unwrap()
}

#[tokio::test]
async fn each_exception_lets_requests_through() {
    let server = Peer::ok().await;
    let network: Network = "127.0.0.0/8".parse().unwrap();
    let base = OutgoingPolicy::default;
    let cases = [
        (base().allow_loopback(), "127.0.0.1"),
        (base().allow_loopback(), "localhost"),
        (base().allow_loopback(), "hook.example.com"),
        (base().allow_network(network), "127.0.0.1"),
        (base().allow_network(network), "localhost"),
        (base().allow_network(network), "hook.example.com"),
        (base().allow_host("127.0.0.1"), "2130706433"),
        (base().allow_host("localhost"), "LOCALHOST."),
        (base().allow_host("Hook.Example.COM."), "hook.example.com"),
        (base().allow_host("hook.example.com"), "HOOK.example.com."),
        (base().https_only().allow_loopback(), "127.0.0.1"),
        (base().https_only().allow_loopback(), "localhost"),
        (base().https_only().allow_http_host("hook.example.com"), "hook.example.com"),
    ];
    let count = cases.len();
    for (policy, host) in cases {
        let client = client(policy, Dns::new(&[&["127.0.0.1"]]));
        client.check(&server.url(host)).await.unwrap();
        let request = client.post(server.url(host), "{\"a\":1}");
        let response = request.header("authorization", "Bearer secret").unwrap().send().await;
        assert_eq!(response.unwrap().body(), "ok", "{host}");
    }
    let requests = server.requests();
    assert_eq!(requests.len(), count);
    for request in requests {
        assert!(request.starts_with("POST /hook HTTP/1.1\r\n"), "{request}");
        assert!(request.contains("\r\nauthorization: Bearer secret\r\n"), "{request}");
        assert!(request.ends_with("\r\n\r\n{\"a\":1}"), "{request}");
    }
}

#[tokio::test]
async fn the_system_resolves_names_by_default() {
    let server = Peer::ok().await;
    let url = server.url("localhost");
    let refused = OutgoingClient::new(OutgoingPolicy::default()).unwrap();
    assert!(refused.get(url.clone()).send().await.is_err());
    assert_eq!(server.connections().await, 0);
    let allowed = OutgoingClient::new(OutgoingPolicy::default().allow_loopback()).unwrap();
    assert_eq!(allowed.get(url).send().await.unwrap().status(), 200);
}

#[tokio::test]
async fn an_exception_is_for_its_own_host_and_network_only() {
    let canary = Peer::ok().await;
    let base = OutgoingPolicy::default;
    for (policy, host) in [
        (base().allow_host("hook.example.com"), "127.0.0.1"),
        (base().allow_host("hook.example.com"), "localhost"),
        (base().allow_host("hook.example.com"), "other.example.com"),
        (base().allow_host("hook.example.com"), "a.hook.example.com"),
        (base().allow_host("example.com"), "hook.example.com"),
        (base().allow_host("*.example.com"), "hook.example.com"),
        (base().allow_host(""), "hook.example.com"),
        (base().allow_host(format!("127.0.0.1:{}", canary.port)), "127.0.0.1"),
        (base().allow_host("::1"), "127.0.0.1"),
        (base().allow_loopback(), "0.0.0.0"),
        (base().allow_loopback(), "[::ffff:127.0.0.1]"),
        (base().allow_loopback(), "10.0.0.1"),
        (base().allow_network("127.0.0.2/32".parse::<Network>().unwrap()), "127.0.0.1"),
        (base().allow_network("10.0.0.0/8".parse::<Network>().unwrap()), "hook.example.com"),
    ] {
        let client = client(policy, Dns::new(&[&["127.0.0.1"]]));
        let error = client.get(canary.url(host)).send().await.unwrap_err();
        assert!(matches!(error, OutgoingError::Address { .. }), "{host}: {error:?}");
    }
    assert_eq!(canary.connections().await, 0);
}

#[test]
fn plain_http_is_for_named_hosts_and_this_machine_where_https_is_required() {
    let policy = OutgoingPolicy::default().https_only().allow_host("private.example.com");
    let is_plain = |result| matches!(result, Err(OutgoingError::PlainHttp(_)));
    assert!(is_plain(policy.check(&url("http://example.com/"))));
    assert!(is_plain(policy.check(&url("http://private.example.com/"))));
    assert!(is_plain(policy.check(&url("http://8.8.8.8/"))));
    assert!(is_plain(policy.check(&url("http://app.localhost/"))));
    assert!(policy.check(&url("https://8.8.8.8/")).is_ok());
    assert!(policy.check(&url("https://private.example.com/")).is_ok());
    let refused = policy.check(&url("http://127.0.0.1/"));
    assert!(matches!(refused, Err(OutgoingError::Address { .. })), "loopback is not allowed");
    let policy = policy.allow_loopback().allow_http_host("private.example.com");
    for text in
        ["http://127.0.0.1/", "http://[::1]/", "http://localhost/", "http://private.example.com/"]
    {
        policy.check(&url(text)).unwrap();
    }
    assert!(is_plain(policy.check(&url("http://example.com/"))));
}

#[test]
fn a_caller_sees_refusals_and_not_failures() {
    let refused = OutgoingPolicy::default().check(&url("http://127.0.0.1/")).unwrap_err();
    let status = Status::from(refused);
    assert_eq!(status.code(), StatusCode::InvalidArgument);
    assert!(status.is_public(), "{status:?}");
    let failed = OutgoingError::TooLarge { host: "issuer.example.com".into(), limit: 1 };
    let status = Status::from(failed);
    assert_eq!(status.code(), StatusCode::Unavailable);
    assert!(!status.is_public(), "{status:?}");
}
