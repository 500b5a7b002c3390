//! A manager behind TLS, with a certificate that only a file vouches for.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use oxikit_core::Registry;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ServerConfig, crypto};
use tokio_tungstenite::tungstenite::protocol::Message;
use tokio_util::sync::CancellationToken;

use super::kit::{flow, identity, runs};
use crate::v2::{Backoff, ManagerAddress, Settings, serve_manager};

/// Far more than anything here takes.
const LONG: Duration = Duration::from_secs(60);

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tls").join(name)
}

fn acceptor() -> TlsAcceptor {
    let certificates = CertificateDer::pem_file_iter(file("server.pem")).unwrap();
    let certificates = certificates.collect::<Result<_, _>>().unwrap();
    let key = PrivateKeyDer::from_pem_file(file("server.key")).unwrap();
    let provider = Arc::new(crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(certificates, key)
        .unwrap();
    TlsAcceptor::from(Arc::new(config))
}

/// An application that connects to this manager until it is shut down.
fn connect_to(url: &str, roots: Option<&Path>) -> CancellationToken {
    let registry = Registry::default();
    flow(&registry, "echo", async |input: Value| Ok(input));
    let ending = CancellationToken::new();
    let settings = Settings {
        manager: ManagerAddress::parse(url, roots).unwrap(),
        identity: identity(),
        telemetry: None,
        backoff: Backoff::default(),
    };
    tokio::spawn(serve_manager(settings, runs(registry), ending.clone()));
    ending
}

#[tokio::test]
async fn a_manager_behind_tls_is_served_if_its_certificate_is_trusted() {
    for host in ["localhost", "127.0.0.1"] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("wss://{host}:{}/r/secret", listener.local_addr().unwrap().port());
        let ending = connect_to(&url, Some(&file("root.pem")));
        let (stream, _) = timeout(LONG, listener.accept()).await.unwrap().unwrap();
        let stream = timeout(LONG, acceptor().accept(stream)).await.unwrap().unwrap();
        let mut socket = tokio_tungstenite::accept_async(stream).await.unwrap();
        let mut ask = async |message: Value| {
            socket.send(Message::text(message.to_string())).await.unwrap();
            loop {
                let message = timeout(LONG, socket.next()).await.unwrap().unwrap().unwrap();
                let Message::Text(text) = message else { continue };
                let message: Value = serde_json::from_str(&text).unwrap();
                if message["method"].is_null() {
                    return message;
                }
            }
        };
        let params = json!({"key": "/flow/echo", "input": "x".repeat(200_000)});
        let answer = ask(json!({"method": "runAction", "params": params, "id": "1"})).await;
        assert_eq!(answer["result"]["result"], params["input"]);
        ending.cancel();
    }
}

#[tokio::test]
async fn a_manager_with_an_untrusted_certificate_receives_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("wss://localhost:{}/r/secret", listener.local_addr().unwrap().port());
    let ending = connect_to(&url, None);
    let (stream, _) = timeout(LONG, listener.accept()).await.unwrap().unwrap();
    let refused = timeout(LONG, acceptor().accept(stream)).await.unwrap();
    assert!(refused.is_err(), "the path holds a secret");
    ending.cancel();
}

#[test]
fn a_file_without_certificates_is_refused() {
    for roots in [file("nothing.pem"), file("server.key")] {
        assert!(ManagerAddress::parse("wss://localhost:1", Some(&roots)).is_err(), "{roots:?}");
    }
}
