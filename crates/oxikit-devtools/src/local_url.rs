//! URLs in files: which of them lead to this machine, and hide nothing.

use std::net::{IpAddr, Ipv4Addr};

/// Whether a URL names a port of this machine and a path that is expected there. A query,
/// a fragment or a user would change where a request goes, or what it says.
pub(crate) fn is_local(url: &str, scheme: &str, is_path: impl Fn(&str) -> bool) -> bool {
    // What a parser would remove, decode or take for something else.
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b":/.[]-_".contains(&byte);
    if !url.bytes().all(is_plain) {
        return false;
    }
    let Ok(url) = reqwest::Url::parse(url) else { return false };
    url.scheme() == scheme
        && url.host_str().is_some_and(is_this_machine)
        && url.port().is_some()
        && is_path(url.path())
}

/// Whether a path is this prefix and a token of ours.
pub(crate) fn is_token_path(path: &str, prefix: &str) -> bool {
    let token = path.strip_prefix(prefix).map(|rest| rest.strip_suffix('/').unwrap_or(rest));
    token.is_some_and(|token| {
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        (16..=256).contains(&token.len()) && token.bytes().all(is_part)
    })
}

/// Whether a runtime (V1) may listen here: official ones have no path, ours have a token
/// in it.
pub(crate) fn is_runtime_url(url: &str) -> bool {
    is_local(url, "http", |path| path.is_empty() || path == "/" || is_token_path(path, "/s/"))
}

/// Names of other hosts that end in `.localhost` may be asked of a name server, so they
/// are not accepted.
fn is_this_machine(host: &str) -> bool {
    host == "localhost"
        || host == "[::1]"
        || host.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback())
        || host.trim_matches(['[', ']']).parse().is_ok_and(is_own_address)
}

/// Whether this machine has an address: `--host` may name one of a network.
fn is_own_address(address: IpAddr) -> bool {
    !address.is_unspecified() && std::net::UdpSocket::bind((address, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runtime_listens_on_this_machine_and_nowhere_else() {
        let token = "0123456789abcdef";
        for url in [
            "http://localhost:3100",
            "http://localhost:3100/",
            "http://127.0.0.1:3100",
            "http://127.9.9.9:3100",
            "http://[::1]:3100",
            &format!("http://127.0.0.1:3100/s/{token}"),
            &format!("http://127.0.0.1:3100/s/{token}/"),
        ] {
            assert!(is_runtime_url(url), "{url}");
        }
        for url in [
            "",
            "localhost:3100",
            "https://localhost:3100",
            "ws://localhost:3100",
            "file:///etc/passwd",
            // Without a port, or with the one of every other server.
            "http://localhost",
            "http://localhost:80",
            // Elsewhere.
            "http://192.0.2.1:3100",
            "http://8.8.8.8:3100",
            "http://0.0.0.0:3100",
            "http://[::]:3100",
            "http://[2001:db8::1]:3100",
            "http://example.com:3100",
            "http://localhost.example.com:3100",
            "http://x.localhost:3100",
            "http://localhost.:3100",
            // What hides where it goes.
            "http://localhost@192.0.2.1:3100",
            "http://user@localhost:3100",
            "http://user:pass@localhost:3100",
            "http://localhost:3100#",
            "http://localhost:3100/admin/#",
            "http://localhost:3100?x=1",
            "http://localhost:3100/?x",
            "http://localhost:3100/admin",
            "http://localhost:3100/s/",
            "http://localhost:3100/s/short",
            &format!("http://localhost:3100/s/{token}/more"),
            &format!("http://localhost:3100/s/../{token}"),
            &format!("http://localhost:3100/s/%2e%2e{token}"),
            "http://localhost:3100\\admin",
            "http:\\\\localhost:3100",
            "http://local\thost:3100",
            "http://localhost:3100\n",
            " http://localhost:3100",
        ] {
            assert!(!is_runtime_url(url), "{url:?}");
        }
    }
}
