//! Sockets over TLS, `wss://`: the certificate of the manager is checked against the
//! roots of the system and those of a file, if one is named.

use std::io;
use std::path::Path;
use std::sync::Arc;

use oxikit_core::Status;
use rustls_platform_verifier::Verifier;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{self, ClientConfig, crypto};

/// A connection that is encrypted.
pub(super) type Secured = tokio_rustls::client::TlsStream<TcpStream>;

/// How a manager is known.
#[derive(Clone)]
pub(super) struct Tls {
    connector: TlsConnector,
    name: ServerName<'static>,
}

impl Tls {
    pub(super) fn new(host: &str, roots: Option<&Path>) -> Result<Self, Status> {
        let name = ServerName::try_from(host.to_owned()).map_err(|_| {
            Status::invalid_argument(format!("`{host}` is no name of a host that TLS can check"))
        })?;
        let config = config(roots).map_err(|error| {
            Status::invalid_argument(format!("TLS cannot be set up for the manager: {error}"))
        })?;
        Ok(Self { connector: TlsConnector::from(Arc::new(config)), name })
    }

    pub(super) async fn secure(&self, stream: TcpStream) -> io::Result<Secured> {
        self.connector.connect(self.name.clone(), stream).await
    }
}

fn config(roots: Option<&Path>) -> Result<ClientConfig, Box<dyn std::error::Error>> {
    let own: Vec<CertificateDer<'static>> = match roots {
        Some(file) => CertificateDer::pem_file_iter(file)?.collect::<Result<_, _>>()?,
        None => Vec::new(),
    };
    if let Some(file) = roots.filter(|_| own.is_empty()) {
        return Err(format!("{} holds no certificate", file.display()).into());
    }
    let provider = Arc::new(crypto::aws_lc_rs::default_provider());
    let verifier = Verifier::new_with_extra_roots(own, provider.clone())?;
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    Ok(config)
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tls").field("name", &self.name).finish_non_exhaustive()
    }
}
