//! Requests that two readers could see differently, at every port of the tools.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use oxikit_testing::manager::soon;
use oxikit_testing::tools::kit;

/// Header lines with ambiguous body lengths.
const FRAMINGS: [&str; 9] = [
    "host: {host}\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n",
    "host: {host}\r\ntransfer-encoding: chunked\r\ncontent-length: 2\r\n\r\n",
    "host: {host}\r\ncontent-length: 2\r\ncontent-length: 2\r\n\r\n",
    "host: {host}\r\ntransfer-encoding: gzip, chunked\r\n\r\n",
    "host: {host}\ncontent-length: 2\r\n\r\n",
    "host: {host}\r\ncontent-length: 2\n\n",
    "host: {host}\r\nx: y\rcontent-length: 2\r\n\r\n",
    "host: {host}\r\nupgrade: websocket\r\ncontent-length: 2\r\ncontent-length: 2\r\n\r\n",
    "host: {host}\r\nx: a\r\n folded: b\r\n\r\n",
];

#[tokio::test]
async fn every_port_refuses_them_and_closes() {
    let kit = kit().await;
    let urls = kit.server.urls();
    for url in [urls.base(), &urls.reflection, &urls.telemetry] {
        let place = url.split_once("://").unwrap().1;
        let (host, path) = place.split_once('/').unwrap_or((place, ""));
        for framing in FRAMINGS {
            let mut stream = TcpStream::connect(host).await.unwrap();
            let framing = framing.replace("{host}", host);
            let next = format!("GET /{path} HTTP/1.1\r\nhost: {host}\r\n\r\n");
            let request = format!("GET /{path} HTTP/1.1\r\n{framing}{{}}{next}");
            stream.write_all(request.as_bytes()).await.unwrap();
            let mut answer = Vec::new();
            // The rest of the request, sent after the rejection, may reset the connection.
            _ = soon(stream.read_to_end(&mut answer)).await;
            let answer = String::from_utf8_lossy(&answer);
            assert!(answer.starts_with("HTTP/1.1 400 "), "{url} {framing:?}: {answer}");
            assert_eq!(answer.matches("HTTP/1.1").count(), 1, "{url} {framing:?}: {answer}");
        }
    }
    // Sockets are as before.
    kit.runtime("one").await;
}
