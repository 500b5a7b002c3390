//! Which URLs may be requested, and the limits of a request.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use url::{Host, Url};

use crate::error::{AddressError, OutgoingError};
use crate::network::{LOOPBACK, Network, is_public};

/// Which URLs may be requested, and the limits of a request.
///
/// The default allows `http` and `https` to public addresses, 3 s to connect, 10 s in all and
/// 64 KiB of response. Exceptions are for development and for hosts that the operator trusts.
///
/// ```
/// use oxikit_outgoing::{OutgoingPolicy, Url};
///
/// let policy = OutgoingPolicy::default().https_only().allow_host("hooks.corp.example");
/// assert!(policy.check(&Url::parse("https://example.com/").unwrap()).is_ok());
/// assert!(policy.check(&Url::parse("http://example.com/").unwrap()).is_err());
/// assert!(policy.check(&Url::parse("https://10.0.0.1/").unwrap()).is_err());
/// ```
#[derive(Debug, Clone)]
pub struct OutgoingPolicy {
    is_https_only: bool,
    http_hosts: Vec<Host>,
    hosts: Vec<Host>,
    networks: Vec<Network>,
    pub(crate) connect_timeout: Duration,
    pub(crate) timeout: Duration,
    pub(crate) max_response_bytes: usize,
}

impl Default for OutgoingPolicy {
    fn default() -> Self {
        Self {
            is_https_only: false,
            http_hosts: Vec::new(),
            hosts: Vec::new(),
            networks: Vec::new(),
            connect_timeout: Duration::from_secs(3),
            timeout: Duration::from_secs(10),
            max_response_bytes: 64 * 1024,
        }
    }
}

impl OutgoingPolicy {
    /// Refuses plain http. Hosts of [`allow_http_host`](Self::allow_http_host) are excepted, and
    /// this machine (`localhost` and its addresses) if it is allowed at all.
    #[must_use]
    pub fn https_only(mut self) -> Self {
        self.is_https_only = true;
        self
    }

    /// Allows this machine: 127.0.0.0/8 and ::1, and names that resolve to them.
    #[must_use]
    pub fn allow_loopback(mut self) -> Self {
        self.networks.extend(LOOPBACK);
        self
    }

    /// Allows this machine if this URL names it, by `localhost` or a loopback address: the operator
    /// who configures such a URL wants it. A name that only resolves to this machine is refused.
    ///
    /// ```
    /// use oxikit_outgoing::{OutgoingPolicy, Url};
    ///
    /// let policy = OutgoingPolicy::default();
    /// let (here, there) = ("http://localhost:8080/keys", "https://login.example/keys");
    /// let (here, there) = (Url::parse(here).unwrap(), Url::parse(there).unwrap());
    /// assert!(policy.clone().allow_loopback_of(&here).check(&here).is_ok());
    /// assert!(policy.allow_loopback_of(&there).check(&here).is_err());
    /// ```
    #[must_use]
    pub fn allow_loopback_of(self, url: &Url) -> Self {
        let is_here = url.host_str().is_some_and(|host| {
            let address = host.trim_start_matches('[').trim_end_matches(']');
            let is_loopback = |address: IpAddr| address.is_loopback();
            host == "localhost" || address.parse().is_ok_and(is_loopback)
        });
        if is_here { self.allow_loopback() } else { self }
    }

    /// Allows a host, whatever its addresses are. `host` is a name or an address without a port;
    /// anything else matches no URL.
    #[must_use]
    pub fn allow_host(mut self, host: impl AsRef<str>) -> Self {
        self.hosts.extend(parse_host(host.as_ref()));
        self
    }

    /// Allows a host as [`allow_host`](Self::allow_host) does, and plain http for it despite
    /// [`https_only`](Self::https_only).
    #[must_use]
    pub fn allow_http_host(mut self, host: impl AsRef<str>) -> Self {
        self.http_hosts.extend(parse_host(host.as_ref()));
        self.allow_host(host)
    }

    /// Allows the addresses of a network.
    #[must_use]
    pub fn allow_network(mut self, network: impl Into<Network>) -> Self {
        self.networks.push(network.into());
        self
    }

    /// Sets the maximum time to resolve the host and to connect to it.
    #[must_use]
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Sets the maximum time from the start of a request to the end of its response.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets the maximum size of a response in bytes, after decompression. A larger one is
    /// [`OutgoingError::TooLarge`].
    #[must_use]
    pub fn max_response_bytes(mut self, bytes: usize) -> Self {
        self.max_response_bytes = bytes;
        self
    }

    /// Checks all of a URL that can be checked without a DNS request.
    ///
    /// # Errors
    ///
    /// The URL is not for http or https, has credentials, needs https, or names an address that
    /// is not allowed.
    pub fn check(&self, url: &Url) -> Result<(), OutgoingError> {
        let host = url.host().filter(|_| matches!(url.scheme(), "http" | "https"));
        let host = normal(host.ok_or(OutgoingError::Scheme)?);
        if !url.username().is_empty() || url.password().is_some() {
            return Err(OutgoingError::Credentials);
        }
        if url.scheme() == "http" && self.needs_https(&host) {
            return Err(OutgoingError::PlainHttp(host.to_string()));
        }
        let address = match &host {
            Host::Ipv4(address) => IpAddr::V4(*address),
            Host::Ipv6(address) => IpAddr::V6(*address),
            Host::Domain(_) if is_this_machine(&host) => IpAddr::V4(Ipv4Addr::LOCALHOST),
            Host::Domain(_) => return Ok(()),
        };
        match self.allows(&host, address) {
            true => Ok(()),
            false => Err(AddressError::NotAllowed(address).of(&host)),
        }
    }

    /// Whether requests to this host may connect to this address.
    pub(crate) fn allows(&self, host: &Host, address: IpAddr) -> bool {
        self.hosts.contains(host)
            || is_public(address)
            || self.networks.iter().any(|network| network.contains(address))
    }

    fn needs_https(&self, host: &Host) -> bool {
        self.is_https_only && !self.http_hosts.contains(host) && !is_this_machine(host)
    }
}

/// Whether a host is this machine by its name or address alone.
fn is_this_machine(host: &Host) -> bool {
    match host {
        Host::Domain(name) => name == "localhost",
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => *address == Ipv6Addr::LOCALHOST,
    }
}

/// The host in the one form in which hosts are compared. A name with a final dot is the same name.
pub(crate) fn normal(host: Host<&str>) -> Host {
    match host {
        Host::Domain(name) => Host::Domain(name.strip_suffix('.').unwrap_or(name).to_owned()),
        Host::Ipv4(address) => Host::Ipv4(address),
        Host::Ipv6(address) => Host::Ipv6(address),
    }
}

fn parse_host(text: &str) -> Option<Host> {
    let host = match text.parse() {
        Ok(address) => Host::Ipv6(address),
        Err(_) => Host::parse(text).ok()?,
    };
    Some(match &host {
        Host::Domain(name) => normal(Host::Domain(name)),
        Host::Ipv4(_) | Host::Ipv6(_) => host,
    })
}
