//! Variables that name a proxy. A child process has them, since a test cannot set its own.

use std::process::Command;

use oxikit_outgoing::OutgoingPolicy;

use crate::peer::{Dns, Peer, client};

/// Without variables this only shows that requests arrive.
#[tokio::test]
async fn requests_go_to_the_server_itself() {
    let server = Peer::ok().await;
    let policy = OutgoingPolicy::default().allow_host("hook.example.com").allow_loopback();
    let client = client(policy, Dns::new(&[&["127.0.0.1"]]));
    for host in ["hook.example.com", "127.0.0.1"] {
        assert_eq!(client.get(server.url(host)).send().await.unwrap().status(), 200);
    }
    assert_eq!(server.requests().len(), 2);
    assert!(server.requests().iter().all(|request| request.starts_with("GET /hook HTTP/1.1")));
}

#[tokio::test]
async fn proxy_variables_are_ignored() {
    let proxy = Peer::ok().await;
    let url = format!("http://127.0.0.1:{}", proxy.port);
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "proxy::requests_go_to_the_server_itself"]);
    for name in ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]
    {
        child.env(name, &url);
    }
    child.env_remove("NO_PROXY").env_remove("no_proxy");
    let output = tokio::task::spawn_blocking(move || child.output()).await.unwrap().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
    assert_eq!(proxy.connections().await, 0);
}
