//! Checks of the sender of a request, by the `Host`, `Origin` and `Sec-Fetch-Site` headers.
//!
//! The check of the host stops DNS rebinding, the check of the origin stops pages of other
//! sites. Neither replaces authentication.

use std::net::{IpAddr, Ipv4Addr};

use axum::http::header::{HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri};
use oxikit_core::Status;

/// The header in which a browser says which site a request comes from.
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The check of hosts that a server answers to, and of pages that may call it.
///
/// ```
/// use axum::http::{HeaderMap, HeaderValue, Uri};
/// use oxikit_http::SenderCheck;
///
/// let check = SenderCheck::local();
/// let uri = Uri::from_static("/api");
/// let mut headers = HeaderMap::new();
/// headers.insert("host", HeaderValue::from_static("localhost:4000"));
/// assert!(check.check(&uri, &headers).is_ok());
/// headers.insert("origin", HeaderValue::from_static("https://evil.example"));
/// assert!(check.check(&uri, &headers).is_err());
/// ```
#[derive(Debug, Clone)]
pub struct SenderCheck {
    hosts: Hosts,
    pages: Pages,
    /// Whether a page of the server itself may have been loaded over TLS, by a proxy.
    allows_https: bool,
    /// Advice that is added to the error for a host, if not empty; the next one is for an origin.
    host_hint: &'static str,
    origin_hint: &'static str,
}

/// The host names that are served.
#[derive(Debug, Clone)]
enum Hosts {
    /// Every name; DNS rebinding is not checked.
    Any,
    /// Names of this machine, and these.
    Local(Vec<String>),
}

/// The pages that may call.
#[derive(Debug, Clone)]
enum Pages {
    /// No page may call, not even one of this server.
    None,
    /// Pages of this server, and those of these origins.
    Own(Vec<String>),
}

impl SenderCheck {
    /// Accepts every host name; only pages of the server itself may call. For a server that
    /// listens on a public address.
    pub fn any_host() -> Self {
        Self {
            hosts: Hosts::Any,
            pages: Pages::Own(Vec::new()),
            allows_https: true,
            host_hint: "",
            origin_hint: "",
        }
    }

    /// Accepts the names of this machine only; only pages of the server itself may call.
    pub fn local() -> Self {
        Self { hosts: Hosts::Local(Vec::new()), ..Self::any_host() }
    }

    /// Accepts the names of this machine only, and no page may call: for ports that only
    /// programs use.
    pub fn local_programs() -> Self {
        Self { pages: Pages::None, ..Self::local() }
    }

    /// Accepts these host names too. It has no effect after [`any_host`](Self::any_host).
    #[must_use]
    pub fn allow_hosts(mut self, names: impl IntoIterator<Item = String>) -> Self {
        if let Hosts::Local(hosts) = &mut self.hosts {
            hosts.extend(names);
        }
        self
    }

    /// Accepts the address that the server listens on as a host name too, unless it is unspecified:
    /// a server on all addresses is reached by names that only its user knows.
    ///
    /// ```
    /// use axum::http::{HeaderMap, HeaderValue, Uri};
    /// use oxikit_http::SenderCheck;
    ///
    /// let check = SenderCheck::local().allow_address([192, 0, 2, 7].into());
    /// let mut headers = HeaderMap::new();
    /// headers.insert("host", HeaderValue::from_static("192.0.2.7:4000"));
    /// assert!(check.check(&Uri::from_static("/greet"), &headers).is_ok());
    /// ```
    #[must_use]
    pub fn allow_address(self, address: IpAddr) -> Self {
        let name = match address {
            _ if address.is_unspecified() => None,
            IpAddr::V4(address) => Some(address.to_string()),
            IpAddr::V6(address) => Some(format!("[{address}]")),
        };
        self.allow_hosts(name)
    }

    /// Lets pages of these origins call, such as `https://app.example`.
    ///
    /// ```
    /// use axum::http::{HeaderMap, HeaderValue, Uri};
    /// use oxikit_http::SenderCheck;
    ///
    /// let check = SenderCheck::any_host().allow_origins(["https://app.example".to_owned()]);
    /// let mut headers = HeaderMap::new();
    /// headers.insert("host", HeaderValue::from_static("api.example"));
    /// headers.insert("origin", HeaderValue::from_static("https://app.example"));
    /// assert!(check.check(&Uri::from_static("/greet"), &headers).is_ok());
    /// ```
    #[must_use]
    pub fn allow_origins(mut self, origins: impl IntoIterator<Item = String>) -> Self {
        if let Pages::Own(known) = &mut self.pages {
            known.extend(origins);
        }
        self
    }

    /// Treats pages that were loaded over `https` from the host of the server as pages of another
    /// origin: for a server that never has a TLS proxy in front of it.
    #[must_use]
    pub fn without_https(mut self) -> Self {
        self.allows_https = false;
        self
    }

    /// Adds advice to the error texts: how the developer allows another host name, and how
    /// another origin.
    #[must_use]
    pub fn with_hints(mut self, host: &'static str, origin: &'static str) -> Self {
        (self.host_hint, self.origin_hint) = (host, origin);
        self
    }

    /// Checks a request. It is called before the body is read.
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT` if a header that decides was sent twice, is not text, or names
    /// another host than the target of the request; `PERMISSION_DENIED` if the host is not
    /// served here, or a page of another site calls.
    pub fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Status> {
        let host = host_of(uri, headers)?;
        if let Hosts::Local(also) = &self.hosts
            && !host.is_some_and(|host| is_local_host(host) || is_one_of(host, also))
        {
            let status = Status::permission_denied("this host name is not served here");
            return Err(with_hint(status, self.host_hint));
        }
        let origin = single(headers, &ORIGIN)?;
        // A page can send some requests without an `Origin`; its browser still says which
        // site they come from.
        let site = single(headers, &SEC_FETCH_SITE)?;
        // Programs send neither header. A browser sends `Origin` with every request that can have
        // an effect, and `Sec-Fetch-Site: none` for a URL that its user has typed.
        let is_allowed = match &self.pages {
            Pages::None => origin.is_none() && site.is_none(),
            Pages::Own(also) => match origin {
                Some(origin) if also.iter().any(|known| known == origin) => true,
                Some(origin) if !self.is_same_origin(origin, host) => false,
                _ => matches!(site, None | Some("same-origin" | "none")),
            },
        };
        if is_allowed {
            return Ok(());
        }
        let status = Status::permission_denied("pages of this origin may not call");
        Err(with_hint(status, self.origin_hint))
    }

    /// Whether this server itself has sent the page.
    fn is_same_origin(&self, origin: &str, host: Option<&str>) -> bool {
        let https = || origin.strip_prefix("https://").filter(|_| self.allows_https);
        let authority = origin.strip_prefix("http://").or_else(https);
        authority.is_some() && authority == host
    }

    /// Whether a request is certainly from a page of this server, as the browser says: by
    /// `Sec-Fetch-Site: same-origin`, or for browsers without that header by an `Origin` that is this
    /// server. A page of another port of the same host is not: it gets the cookies of this server, but
    /// must not use them. [`check`](Self::check) comes first.
    ///
    /// ```
    /// use axum::http::{HeaderMap, HeaderValue, Uri};
    /// use oxikit_http::SenderCheck;
    ///
    /// let (check, uri) = (SenderCheck::local(), Uri::from_static("/api"));
    /// let mut headers = HeaderMap::new();
    /// headers.insert("host", HeaderValue::from_static("localhost:4000"));
    /// assert!(!check.is_own_page(&uri, &headers), "a program");
    /// headers.insert("sec-fetch-site", HeaderValue::from_static("same-origin"));
    /// assert!(check.is_own_page(&uri, &headers));
    /// ```
    pub fn is_own_page(&self, uri: &Uri, headers: &HeaderMap) -> bool {
        let (Ok(site), Ok(origin), Ok(host)) =
            (single(headers, &SEC_FETCH_SITE), single(headers, &ORIGIN), host_of(uri, headers))
        else {
            return false;
        };
        let is_own_origin = origin.map(|origin| self.is_same_origin(origin, host));
        match site {
            Some(site) => site == "same-origin" && is_own_origin != Some(false),
            None => is_own_origin == Some(true),
        }
    }

    /// The origin of the calling page if it is one of [`allow_origins`](Self::allow_origins):
    /// the value of the CORS headers. `None` for all other requests.
    pub fn allowed_origin<'a>(&self, headers: &'a HeaderMap) -> Option<&'a HeaderValue> {
        let Pages::Own(also) = &self.pages else { return None };
        if also.is_empty() {
            return None;
        }
        let origin = headers.get(ORIGIN)?;
        origin
            .to_str()
            .is_ok_and(|origin| also.iter().any(|known| known == origin))
            .then_some(origin)
    }
}

/// Whether a person has opened the URL in a browser: typed it, or followed a bookmark.
pub fn is_navigation(headers: &HeaderMap) -> bool {
    headers.get_all(SEC_FETCH_SITE).iter().any(|site| site == "none")
}

/// Whether a host, with or without a port, can only be this machine. A trailing dot makes
/// another name.
pub fn is_local_host(host: &str) -> bool {
    let name = host_name(host).to_ascii_lowercase();
    name == "localhost"
        || name.ends_with(".localhost")
        || name == "[::1]"
        || name.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback())
}

/// Whether the name of a host is in a list, without regard to case and port.
fn is_one_of(host: &str, names: &[String]) -> bool {
    names.iter().any(|name| name.eq_ignore_ascii_case(host_name(host)))
}

fn with_hint(status: Status, hint: &'static str) -> Status {
    if hint.is_empty() { status } else { status.with_hint(hint) }
}

/// The value of a header that must not be sent twice: of two values, two readers could
/// take different ones.
///
/// # Errors
///
/// `INVALID_ARGUMENT` if it was sent twice or is not text.
pub fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, Status> {
    let mut values = headers.get_all(name).iter();
    let first = values.next();
    if values.next().is_some() {
        return Err(Status::invalid_argument(format!("the header `{name}` was sent twice")));
    }
    match first.map(HeaderValue::to_str) {
        None => Ok(None),
        Some(Ok(value)) => Ok(Some(value)),
        Some(Err(_)) => Err(Status::invalid_argument(format!("the header `{name}` is not text"))),
    }
}

/// The host that is asked for. The target of a request can name one too, and must not name
/// another: it would be unclear which of them was checked.
fn host_of<'a>(uri: &'a Uri, headers: &'a HeaderMap) -> Result<Option<&'a str>, Status> {
    let host = single(headers, &HOST)?;
    match (host, uri.authority().map(|authority| authority.as_str())) {
        (Some(host), Some(target)) if !host.eq_ignore_ascii_case(target) => {
            Err(Status::invalid_argument("the target and the header `host` name two hosts"))
        }
        (host, target) => Ok(host.or(target)),
    }
}

/// The name without its port.
fn host_name(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}
