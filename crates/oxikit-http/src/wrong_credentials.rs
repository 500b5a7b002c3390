//! Counts wrong credentials per address, so that they cannot be guessed. The caller decides
//! how a request beyond the limit is answered.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Time window within which wrong credentials are counted.
pub const WINDOW: Duration = Duration::from_secs(60);

/// Maximum number of addresses that are counted. While this many have sent wrong credentials
/// within the window, the first wrong credential of any other address is already too many.
const MAX_ADDRESSES: usize = 1024;

/// Counts wrong credentials per address. A /64 network of IPv6 counts as one address, because
/// one machine can use all addresses of its network.
///
/// ```
/// use oxikit_http::WrongCredentials;
///
/// let wrong = WrongCredentials::default();
/// let peer = [192, 0, 2, 1].into();
/// assert!(!wrong.is_too_many(peer, 1));
/// assert!(wrong.is_too_many(peer, 1));
/// ```
#[derive(Debug, Default)]
pub struct WrongCredentials(Mutex<HashMap<IpAddr, (Instant, u32)>>);

impl WrongCredentials {
    /// Counts one wrong credential of this address. Returns whether it has sent more than `max`
    /// within the window.
    pub fn is_too_many(&self, peer: IpAddr, max: u32) -> bool {
        let peer = network(peer);
        let mut peers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Expired entries are removed only when the table is full, which is rare.
        if peers.len() >= MAX_ADDRESSES && !peers.contains_key(&peer) {
            peers.retain(|_, (since, _)| since.elapsed() < WINDOW);
        }
        if peers.len() >= MAX_ADDRESSES && !peers.contains_key(&peer) {
            return true;
        }
        let (since, count) = peers.entry(peer).or_insert_with(|| (Instant::now(), 0));
        if since.elapsed() >= WINDOW {
            (*since, *count) = (Instant::now(), 0);
        }
        *count = count.saturating_add(1);
        // Logged once per address and window.
        if *count == max.saturating_add(1) {
            tracing::warn!(%peer, "too many wrong keys or tokens from one address");
        }
        *count > max
    }
}

fn network(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_address_is_counted_and_memory_has_a_limit() {
        let wrong = WrongCredentials::default();
        let address = |number: u32| IpAddr::from(number.to_be_bytes());
        let tries = |peer| (0..12).map(|_| wrong.is_too_many(peer, 10)).collect::<Vec<_>>();
        let expected = [[false; 10].as_slice(), &[true; 2]].concat();
        assert_eq!(tries(address(1)), expected);
        assert_eq!(tries(address(2)), expected, "another address");
        assert_eq!(tries("2001:db8::1".parse().unwrap()), expected);
        assert_eq!(tries("2001:db8::2:3".parse().unwrap()), [true; 12], "the same network");
        assert_eq!(tries("::ffff:0.0.0.1".parse().unwrap()), [true; 12], "the first address");
        for number in 0..5000 {
            wrong.is_too_many(address(number), 10);
        }
        assert_eq!(wrong.0.lock().unwrap().len(), MAX_ADDRESSES);
        assert!(wrong.is_too_many(address(9999), 10), "no room");
    }
}
