//! Resolves names and checks the addresses before a connection is opened.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use async_trait::async_trait;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::Host;

use crate::error::AddressError;
use crate::policy::{OutgoingPolicy, normal};

/// Finds the addresses of a name.
///
/// The default asks the system. Another one is for tests and for servers with a DNS of their own;
/// the policy checks its answers too. It is called for each new connection.
#[async_trait]
pub trait Resolver: Send + Sync {
    /// All addresses of a name. It is never called with an address.
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>>;
}

/// Asks the system.
pub(crate) struct SystemResolver;

#[async_trait]
impl Resolver for SystemResolver {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        Ok(tokio::net::lookup_host((name, 0)).await?.map(|address| address.ip()).collect())
    }
}

/// Answers only addresses that the policy allows. The connection is opened to one of them without
/// another DNS request, so it cannot lead elsewhere.
#[derive(Clone)]
pub(crate) struct CheckedResolver {
    pub(crate) policy: Arc<OutgoingPolicy>,
    pub(crate) resolver: Arc<dyn Resolver>,
}

impl CheckedResolver {
    /// The addresses of a name, if all of them are allowed. A name with an allowed and a
    /// forbidden address is refused: its owner may try to get past the check.
    pub(crate) async fn addresses(&self, name: &str) -> Result<Vec<IpAddr>, AddressError> {
        let addresses = self.resolver.resolve(name).await.map_err(AddressError::Unresolved)?;
        if addresses.is_empty() {
            return Err(AddressError::NoAddress);
        }
        let host = normal(Host::Domain(name));
        match addresses.iter().find(|address| !self.policy.allows(&host, **address)) {
            Some(address) => Err(AddressError::NotAllowed(*address)),
            None => Ok(addresses),
        }
    }
}

impl Resolve for CheckedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let resolver = self.clone();
        Box::pin(async move {
            let addresses = resolver.addresses(name.as_str()).await?;
            // Port 0 stands for the port of the URL.
            let addresses = addresses.into_iter().map(|address| SocketAddr::new(address, 0));
            Ok(Box::new(addresses) as Addrs)
        })
    }
}
