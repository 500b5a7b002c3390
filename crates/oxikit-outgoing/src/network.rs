//! Networks of IP addresses, and which addresses are public.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// A network of IP addresses, such as `10.0.0.0/8`. A single address is a network too.
///
/// An IPv6 network contains no IPv4 address and the other way round, also not as an IPv4-mapped
/// address.
///
/// ```
/// use oxikit_outgoing::Network;
///
/// let network: Network = "10.0.0.0/8".parse()?;
/// assert!(network.contains("10.1.2.3".parse().unwrap()));
/// assert!(!network.contains("11.0.0.0".parse().unwrap()));
/// # Ok::<(), oxikit_outgoing::InvalidNetwork>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    /// How many leading bits the addresses of the network share.
    prefix: u8,
}

impl Network {
    const fn v4(a: u8, b: u8, c: u8, d: u8, prefix: u8) -> Self {
        Self { address: IpAddr::V4(Ipv4Addr::new(a, b, c, d)), prefix }
    }

    /// The network of the addresses that begin with these 48 bits, or with fewer of them.
    const fn v6(a: u16, b: u16, c: u16, prefix: u8) -> Self {
        Self { address: IpAddr::V6(Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0)), prefix }
    }

    /// Whether the address belongs to the network.
    pub fn contains(&self, address: IpAddr) -> bool {
        // A shift by the whole width is needed for a prefix of 0; then nothing is compared.
        match (self.address, address) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                let differing = own.to_bits() ^ other.to_bits();
                differing.checked_shr(32 - u32::from(self.prefix)).unwrap_or(0) == 0
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                let differing = own.to_bits() ^ other.to_bits();
                differing.checked_shr(128 - u32::from(self.prefix)).unwrap_or(0) == 0
            }
            _ => false,
        }
    }
}

impl From<IpAddr> for Network {
    fn from(address: IpAddr) -> Self {
        let prefix = if address.is_ipv4() { 32 } else { 128 };
        Self { address, prefix }
    }
}

impl FromStr for Network {
    type Err = InvalidNetwork;

    fn from_str(text: &str) -> Result<Self, InvalidNetwork> {
        let invalid = || InvalidNetwork(text.to_owned());
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let whole = Self::from(address.parse::<IpAddr>().map_err(|_| invalid())?);
        let Some(prefix) = prefix else { return Ok(whole) };
        let prefix = prefix.parse().map_err(|_| invalid())?;
        if prefix > whole.prefix {
            return Err(invalid());
        }
        Ok(Self { prefix, ..whole })
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

/// A text is not a [`Network`].
#[derive(Debug, thiserror::Error)]
#[error(
    "`{0}` is not a network: write an address and the length of its prefix, as in `10.0.0.0/8`"
)]
pub struct InvalidNetwork(String);

/// The addresses of this machine.
pub(crate) const LOOPBACK: [Network; 2] = [
    Network::v4(127, 0, 0, 0, 8),
    Network { address: IpAddr::V6(Ipv6Addr::LOCALHOST), prefix: 128 },
];

/// IPv4 networks that are not public, after the registry of special addresses (RFC 6890).
const NOT_PUBLIC_V4: [Network; 16] = [
    Network::v4(0, 0, 0, 0, 8),     // this network; connects to this machine
    Network::v4(10, 0, 0, 0, 8),    // private
    Network::v4(100, 64, 0, 0, 10), // shared, behind the NAT of a provider
    Network::v4(127, 0, 0, 0, 8),   // loopback
    Network::v4(168, 63, 129, 16, 32), // the host's own services in Azure, at a public address
    Network::v4(169, 254, 0, 0, 16), // link-local, and metadata services of clouds
    Network::v4(172, 16, 0, 0, 12), // private
    Network::v4(192, 0, 0, 0, 24),  // protocol assignments
    Network::v4(192, 0, 2, 0, 24),  // documentation
    Network::v4(192, 88, 99, 0, 24), // relays of 6to4
    Network::v4(192, 168, 0, 0, 16), // private
    Network::v4(198, 18, 0, 0, 15), // benchmarks
    Network::v4(198, 51, 100, 0, 24), // documentation
    Network::v4(203, 0, 113, 0, 24), // documentation
    Network::v4(224, 0, 0, 0, 4),   // multicast
    Network::v4(240, 0, 0, 0, 4),   // reserved, and broadcast
];

/// Only these IPv6 addresses are assigned to hosts of the internet. Outside are loopback,
/// unspecified, IPv4-mapped, IPv4-compatible, NAT64, link-local, unique local and multicast.
const ASSIGNED_V6: Network = Network::v6(0x2000, 0, 0, 3);

/// The parts of [`ASSIGNED_V6`] that are not public.
const NOT_PUBLIC_V6: [Network; 4] = [
    Network::v6(0x2001, 0, 0, 23), // protocol assignments: Teredo, benchmarks, ORCHID
    Network::v6(0x2001, 0xdb8, 0, 32), // documentation
    Network::v6(0x2002, 0, 0, 16), // 6to4, which contains any IPv4 address
    Network::v6(0x3fff, 0, 0, 20), // documentation
];

/// Whether an address belongs to a host of the internet. An IPv6 address that contains an IPv4
/// address is not public, whatever it contains.
pub(crate) fn is_public(address: IpAddr) -> bool {
    let is_in = |networks: &[Network]| networks.iter().any(|network| network.contains(address));
    match address {
        IpAddr::V4(_) => !is_in(&NOT_PUBLIC_V4),
        IpAddr::V6(_) => ASSIGNED_V6.contains(address) && !is_in(&NOT_PUBLIC_V6),
    }
}

#[cfg(test)]
mod tests;
