//! Mutual TLS that ends at a proxy in front of the server.

use std::net::IpAddr;

use async_trait::async_trait;
use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use oxikit_core::{ActionContext, Result, Status};
use oxikit_wire::a2a::SecurityScheme;
use oxikit_wire::headers;
use serde_json::json;

use super::{ContextProvider, RequestInfo, Security};

/// Accepts callers whose TLS certificate a proxy in front of this server has verified.
///
/// The server itself has no TLS. The proxy demands the certificate, checks it, and sends it in the
/// header `Client-Cert` of RFC 9440 (base64 of the DER form between colons), after it has removed
/// that header from the client's request. The header is only taken from the proxy: from loopback
/// addresses, unless [`trust`](Self::trust) names others. Every other sender of it is refused with
/// 403. A server that trusts loopback trusts all programs of its machine.
///
/// Actions see `auth.uid`: `sha256:` and the SHA-256 fingerprint of the certificate, in
/// hexadecimal digits. A certificate that is renewed is a new caller.
///
/// ```
/// use oxikit_serve::ClientCert;
///
/// let auth = ClientCert::new().trust([10, 0, 0, 7]);
/// ```
#[derive(Debug, Clone)]
pub struct ClientCert {
    header: String,
    /// The proxies; those on this machine if it is empty.
    trusted: Vec<IpAddr>,
}

impl ClientCert {
    /// Certificates in the header `Client-Cert` of a proxy on this machine.
    pub fn new() -> Self {
        Self { header: headers::CLIENT_CERT.to_owned(), trusted: Vec::new() }
    }

    /// Takes certificates from the proxy at this address, and no longer from loopback addresses.
    /// It may be called several times.
    #[must_use]
    pub fn trust(mut self, proxy: impl Into<IpAddr>) -> Self {
        self.trusted.push(proxy.into().to_canonical());
        self
    }

    /// Takes certificates from this header, which has the form of `Client-Cert`.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>) -> Self {
        self.header = name.into();
        self
    }

    fn trusts(&self, peer: IpAddr) -> bool {
        let peer = peer.to_canonical();
        if self.trusted.is_empty() { peer.is_loopback() } else { self.trusted.contains(&peer) }
    }
}

impl Default for ClientCert {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl ContextProvider for ClientCert {
    async fn context(&self, request: RequestInfo<'_>) -> Result<ActionContext> {
        if request.headers.contains_key(&self.header) && !self.trusts(request.peer) {
            let header = &self.header;
            tracing::warn!(peer = %request.peer, header, "an untrusted address sent a certificate");
            let text = format!("the header `{header}` is only taken from the server's proxy");
            return Err(Status::permission_denied(text));
        }
        let sent = request.header(&*self.header).ok_or_else(|| {
            Status::unauthenticated("a TLS certificate of the client is needed")
                .with_challenge("ClientCertificate")
        })?;
        let certificate = certificate(sent).ok_or_else(|| {
            Status::unauthenticated(format!("the header `{}` is not a certificate", self.header))
                .with_challenge("ClientCertificate")
        })?;
        let fingerprint = digest(&SHA256, &certificate);
        let hex: String = fingerprint.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        let auth = json!({ "uid": format!("sha256:{hex}"), "certificate": { "sha256": hex } });
        Ok(ActionContext::default().with("auth", auth))
    }

    fn security(&self) -> Security {
        let description = Some("A TLS certificate of the client.".to_owned());
        Security::of("mutualTLS", SecurityScheme::MutualTls { description })
    }
}

/// The certificate in its DER form.
fn certificate(header: &str) -> Option<Vec<u8>> {
    let base64 = header.trim().strip_prefix(':')?.strip_suffix(':')?;
    let der = STANDARD.decode(base64).ok()?;
    // A sequence that is as long as it says. The proxy has checked the rest.
    let (content, length) = match der.as_slice() {
        [0x30, 0x81, length, content @ ..] => (content, usize::from(*length)),
        [0x30, 0x82, high, low, content @ ..] => {
            (content, usize::from(u16::from_be_bytes([*high, *low])))
        }
        [0x30, length @ 1..=0x7f, content @ ..] => (content, usize::from(*length)),
        _ => return None,
    };
    (content.len() == length).then_some(der)
}
