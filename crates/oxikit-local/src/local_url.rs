//! Checks of URLs that were read from files: whether they lead to this machine.

use std::net::{IpAddr, Ipv4Addr};

/// Whether a URL has this scheme, a host of this machine, an explicit port and a path for which
/// `is_path` is true. URLs with a query, a fragment or a user are rejected.
///
/// ```
/// use oxikit_local::local_url::is_local;
///
/// assert!(is_local("ws://localhost:3200/r", "ws", |path| path == "/r"));
/// assert!(!is_local("ws://localhost:3200/r?x", "ws", |path| path == "/r"));
/// assert!(!is_local("ws://example.com:3200/r", "ws", |path| path == "/r"));
/// ```
pub fn is_local(url: &str, scheme: &str, is_path: impl Fn(&str) -> bool) -> bool {
    // Parsers remove or decode some characters, and differ in which. Only characters that every
    // parser keeps are accepted, so the checked URL is the one that is used.
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b":/.[]-_".contains(&byte);
    if !url.bytes().all(is_plain) {
        return false;
    }
    let Ok(url) = url::Url::parse(url) else { return false };
    url.scheme() == scheme
        && url.host_str().is_some_and(is_this_machine)
        && url.port().is_some()
        && is_path(url.path())
}

/// Whether a path consists of `prefix` and a token of 16 to 256 characters.
///
/// ```
/// use oxikit_local::local_url::is_token_path;
///
/// assert!(is_token_path("/s/0123456789abcdef", "/s/"));
/// assert!(!is_token_path("/s/short", "/s/"));
/// ```
pub fn is_token_path(path: &str, prefix: &str) -> bool {
    let token = path.strip_prefix(prefix).map(|rest| rest.strip_suffix('/').unwrap_or(rest));
    token.is_some_and(|token| {
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        (16..=256).contains(&token.len()) && token.bytes().all(is_part)
    })
}

/// Whether a URL can be that of a V1 runtime on this machine. Official runtimes have no path;
/// those of oxikit have `/s/<token>`.
pub fn is_runtime_url(url: &str) -> bool {
    is_local(url, "http", |path| path.is_empty() || path == "/" || is_token_path(path, "/s/"))
}

/// Whether a host is this machine. Names that end in `.localhost` are rejected, because some
/// systems resolve them with a name server.
fn is_this_machine(host: &str) -> bool {
    host == "localhost"
        || host == "[::1]"
        || host.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback())
        || host.trim_matches(['[', ']']).parse().is_ok_and(is_own_address)
}

/// Whether an address belongs to this machine; `--host` may be one of its network addresses. Only
/// own addresses can be bound.
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
            // Without a port, or with the default one.
            "http://localhost",
            "http://localhost:80",
            // Other machines.
            "http://192.0.2.1:3100",
            "http://8.8.8.8:3100",
            "http://0.0.0.0:3100",
            "http://[::]:3100",
            "http://[2001:db8::1]:3100",
            "http://example.com:3100",
            "http://localhost.example.com:3100",
            "http://x.localhost:3100",
            "http://localhost.:3100",
            // Parts that disguise the host or the path.
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
