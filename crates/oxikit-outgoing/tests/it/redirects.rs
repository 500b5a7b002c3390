//! Redirects are responses, not orders.

use oxikit_outgoing::OutgoingPolicy;

use crate::peer::{Dns, Peer, client};

#[tokio::test]
async fn no_redirect_is_followed() {
    let canary = Peer::ok().await;
    let port = canary.port;
    let targets = [
        format!("http://127.0.0.1:{port}/"),
        format!("//127.0.0.1:{port}/"),
        format!("http://hook.example.com:{port}/"),
        format!("http://2130706433:{port}/"),
    ];
    // The policy allows the targets: they are not followed even then.
    let client = client(OutgoingPolicy::default().allow_loopback(), Dns::new(&[&["127.0.0.1"]]));
    for status in [300, 301, 302, 303, 305, 307, 308] {
        for target in &targets {
            let server = Peer::new(format!(
                "HTTP/1.1 {status} X\r\nlocation: {target}\r\ncontent-length: 0\r\n\
                 refresh: 0; url={target}\r\nconnection: close\r\n\r\n"
            ))
            .await;
            let url = server.url("hook.example.com");
            assert_eq!(client.get(url.clone()).send().await.unwrap().status(), status);
            let response = client.post(url, "{}").send().await.unwrap();
            assert_eq!(response.status(), status);
            assert_eq!(response.headers()["location"], target.as_str());
            assert_eq!(server.connections().await, 2);
        }
    }
    assert_eq!(canary.connections().await, 0);
}
