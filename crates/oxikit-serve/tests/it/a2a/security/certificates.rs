//! Certificates of clients, which a proxy has verified.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use oxikit_serve::ClientCert;
use serde_json::json;

use super::super::kit::{app_with, message};
use super::{accepted, check, declared, denied, unknown};

/// A sequence in DER, with this many bytes of content.
fn der(length: usize) -> Vec<u8> {
    let mut der = match u8::try_from(length) {
        Ok(short @ 1..=0x7f) => vec![0x30, short],
        Ok(long) => vec![0x30, 0x81, long],
        Err(_) => vec![0x30, 0x82, (length >> 8) as u8, length as u8],
    };
    der.resize(der.len() + length, 7);
    der
}

fn header(der: &[u8]) -> String {
    format!("client-cert: :{}:\r\n", STANDARD.encode(der))
}

#[tokio::test]
async fn a_certificate_of_the_proxy() {
    let challenge = "ClientCertificate";
    let mut longer = der(800);
    longer.push(0);
    let app = check(
        ClientCert::new(),
        &[
            accepted("a certificate", header(&der(800))),
            accepted("a short one", header(&der(100))),
            accepted("a middling one", header(&der(200))),
            unknown("none", "", challenge),
            unknown("no colons", header(&der(800)).replace(": :", ": "), challenge),
            unknown("not base64", "client-cert: :%%%:\r\n", challenge),
            unknown("not a certificate", header(b"hello"), challenge),
            unknown("a longer one", header(&longer), challenge),
            unknown("nothing", header(b""), challenge),
            unknown("two", header(&der(800)).repeat(2), challenge),
        ],
    )
    .await;
    let [(old, security), (new, _)] = declared(&app).await;
    assert_eq!(
        (&old["mutualTLS"]["type"], security),
        (&json!("mutualTLS"), json!([{ "mutualTLS": [] }]))
    );
    assert!(new["mutualTLS"]["mtlsSecurityScheme"].is_object(), "{new}");
}

#[tokio::test]
async fn only_the_proxy_may_send_certificates() {
    let certificate = header(&der(800));
    let there = ClientCert::new().trust([10, 0, 0, 7]);
    let cases =
        [denied("a forged one", &*certificate, None), unknown("none", "", "ClientCertificate")];
    check(there, &cases).await;
    let here = ClientCert::new().trust([10, 0, 0, 7]).trust([127, 0, 0, 1]).header("x-cert");
    let renamed = certificate.replace("client-cert", "x-cert");
    let cases = [
        accepted("of the proxy", renamed),
        unknown("in another header", certificate, "ClientCertificate"),
    ];
    check(here, &cases).await;
}

#[tokio::test]
async fn each_certificate_is_a_caller() {
    let app = app_with(|server| server.auth(ClientCert::new())).await;
    let params = json!({ "message": message("hello") });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params });
    app.raw("script", &header(&der(800)), &body.to_string()).await;
    for (length, tasks) in [(800, 1), (801, 0)] {
        let listed = app.request("GET", "/a2a/script/tasks", &header(&der(length)), "").await;
        assert_eq!(listed.json()["totalSize"], tasks, "{length}");
    }
}
