//! TLS for `wss://`. The certificate of the manager is verified against the roots of the system
//! and those of a PEM file, if one is set.

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

/// A TCP connection with TLS.
pub(super) type Secured = tokio_rustls::client::TlsStream<TcpStream>;

/// The TLS configuration and the name that the certificate must have.
#[derive(Clone)]
pub(super) struct Tls {
    connector: TlsConnector,
    name: ServerName<'static>,
}

impl Tls {
    /// Prepares TLS for this host. Files are read here, once, so that a wrong path is an error
    /// at the start and not at every attempt to connect.
    pub(super) fn new(host: &str, roots: Option<&Path>) -> Result<Self, Status> {
        let name = ServerName::try_from(host.to_owned()).map_err(|_| {
            Status::invalid_argument(format!("`{host}` is not a host name that TLS can verify"))
        })?;
        let config = config(roots).map_err(|error| {
            Status::invalid_argument(format!("TLS cannot be set up for the manager: {error}"))
        })?;
        Ok(Self { connector: TlsConnector::from(Arc::new(config)), name })
    }

    /// Performs the TLS handshake on a TCP connection.
    pub(super) async fn secure(&self, stream: TcpStream) -> io::Result<Secured> {
        self.connector.connect(self.name.clone(), stream).await
    }
}

/// The client configuration with the roots of the system and those of the file.
fn config(roots: Option<&Path>) -> Result<ClientConfig, Box<dyn std::error::Error>> {
    let own: Vec<CertificateDer<'static>> = match roots {
        Some(file) => CertificateDer::pem_file_iter(file)?.collect::<Result<_, _>>()?,
        None => Vec::new(),
    };
    if let Some(file) = roots.filter(|_| own.is_empty()) {
        return Err(format!("{} contains no certificate", file.display()).into());
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
