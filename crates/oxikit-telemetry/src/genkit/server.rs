//! The address of a telemetry server.

use std::fmt;

use oxikit_core::Status;

/// The address of a telemetry server, `http://host:port[/path]`.
///
/// The path may hold a token, so it is not shown.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Server {
    url: String,
    /// The host for the lookup: an IPv6 address without its brackets.
    pub(super) host: String,
    pub(super) port: u16,
    /// Host and port for the header `host`.
    pub(super) authority: String,
    /// The path without a slash at its end.
    pub(super) path: String,
}

impl Server {
    /// Parses the URL. Only plain `http` without user, query and fragment is accepted; the error
    /// names the part that is wrong.
    pub(super) fn parse(url: &str) -> Result<Self, Status> {
        let refuse = |why: &str| {
            Status::invalid_argument(format!(
                "the URL of the telemetry server {why}; it looks like `http://localhost:4033`"
            ))
        };
        let rest =
            url.strip_prefix("http://").ok_or_else(|| refuse("does not begin with `http://`"))?;
        if !rest.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(refuse("has characters that a URL cannot have"));
        }
        if rest.contains(['?', '#']) {
            return Err(refuse("has a query or a fragment"));
        }
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        if authority.contains('@') {
            return Err(refuse("has a user name"));
        }
        let (host, port) = split_authority(authority).ok_or_else(|| refuse("has a bad host"))?;
        let port = match port {
            Some(port) => port.parse().map_err(|_| refuse("has a bad port"))?,
            None => 80,
        };
        Ok(Self {
            url: url.to_owned(),
            host: host.to_owned(),
            port,
            authority: authority.to_owned(),
            path: path.trim_end_matches('/').to_owned(),
        })
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}", self.authority)
    }
}

/// Host and port; `None` if there is no host.
fn split_authority(authority: &str) -> Option<(&str, Option<&str>)> {
    let (host, rest) = match authority.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    let port = match rest {
        "" => None,
        _ => Some(rest.strip_prefix(':')?),
    };
    (!host.is_empty()).then_some((host, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(url: &str, expected: (&str, u16, &str, &str)) {
        let server = Server::parse(url).unwrap();
        let Server { host, port, authority, path, .. } = &server;
        assert_eq!((host.as_str(), *port, authority.as_str(), path.as_str()), expected);
        assert_eq!(server.url(), url);
    }

    #[test]
    fn addresses_are_taken_apart() {
        check("http://localhost:4033", ("localhost", 4033, "localhost:4033", ""));
        check("http://localhost:4033/", ("localhost", 4033, "localhost:4033", ""));
        check("http://127.0.0.1:4033/t/s3cret", ("127.0.0.1", 4033, "127.0.0.1:4033", "/t/s3cret"));
        check("http://[::1]:4033/t/", ("::1", 4033, "[::1]:4033", "/t"));
        check("http://collector", ("collector", 80, "collector", ""));
    }

    #[test]
    fn what_is_no_address_is_refused_with_the_reason() {
        for (url, why) in [
            ("https://localhost:4033", "does not begin with"),
            ("localhost:4033", "does not begin with"),
            ("http://", "bad host"),
            ("http://:4033", "bad host"),
            ("http://[::1", "bad host"),
            ("http://[::1]4033", "bad host"),
            ("http://localhost:port", "bad port"),
            ("http://localhost:70000", "bad port"),
            ("http://a b:1", "characters"),
            ("http://localhost:1/\r\nx: y", "characters"),
            ("http://me:secret@localhost:1", "user name"),
            ("http://localhost:1/?a=b", "query"),
        ] {
            let refused = Server::parse(url).unwrap_err();
            assert!(refused.message().contains(why), "{url}: {}", refused.message());
        }
    }

    #[test]
    fn the_path_is_not_shown() {
        let server = Server::parse("http://localhost:4033/t/s3cret").unwrap();
        assert_eq!(format!("{server:?}"), "http://localhost:4033");
    }
}
