//! Who may knock at all: the gates in front of every route.
//!
//! The first stops rebinding, the second foreign pages. Neither replaces
//! authentication.

use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, HOST, ORIGIN, VARY,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use oxikit_core::Status;

/// Where the browser says the page comes from.
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// What hosts and origins are let in.
#[derive(Debug, Clone, Default)]
pub(crate) struct Gate {
    /// Whether only names of this machine are let in as `Host`.
    pub(crate) is_loopback: bool,
    /// Other names that are let in as `Host`.
    pub(crate) hosts: Vec<String>,
    /// Origins of pages that may call.
    pub(crate) origins: Vec<String>,
}

impl Gate {
    /// Refuses what must not come in. Called before a body is read.
    pub(crate) fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Status> {
        let host = host_of(uri, headers)?;
        if self.is_loopback && !host.is_some_and(|host| self.is_known_host(host)) {
            return Err(Status::permission_denied("this host name is not served here")
                .with_hint("name it by `Server::allow_host`"));
        }
        let origin = single(headers, &ORIGIN)?;
        if origin.is_some_and(|origin| self.is_allowed_origin(origin)) {
            return Ok(());
        }
        let is_foreign = origin.is_some_and(|origin| !is_same_origin(origin, host));
        // A page can send some requests without an `Origin`; its browser still
        // says where they come from.
        let site = single(headers, &SEC_FETCH_SITE)?;
        if is_foreign || site.is_some_and(|site| !matches!(site, "same-origin" | "none")) {
            return Err(Status::permission_denied("pages of this origin may not call")
                .with_hint("name it by `Server::allow_origin`"));
        }
        Ok(())
    }

    fn is_known_host(&self, host: &str) -> bool {
        let name = host_name(host).to_ascii_lowercase();
        let is_own = name == "localhost"
            || name.ends_with(".localhost")
            || name == "[::1]"
            || name.parse::<std::net::Ipv4Addr>().is_ok_and(|address| address.is_loopback());
        is_own || self.hosts.iter().any(|known| known.eq_ignore_ascii_case(&name))
    }

    fn is_allowed_origin(&self, origin: &str) -> bool {
        self.origins.iter().any(|known| known == origin)
    }

    /// Whether this is a browser that asks before it calls.
    pub(crate) fn is_preflight(method: &Method, headers: &HeaderMap) -> bool {
        *method == Method::OPTIONS
            && headers.contains_key(ORIGIN)
            && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
    }

    /// What lets a page of an allowed origin read the answer.
    pub(crate) fn add_cors(&self, asked: &HeaderMap, answered: &mut HeaderMap, is_preflight: bool) {
        let Some(origin) = asked.get(ORIGIN) else { return };
        if !origin.to_str().is_ok_and(|origin| self.is_allowed_origin(origin)) {
            return;
        }
        answered.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        answered.append(VARY, HeaderValue::from_static("Origin"));
        answered.insert(
            ACCESS_CONTROL_EXPOSE_HEADERS,
            HeaderValue::from_static("x-genkit-stream-id, x-genkit-trace-id, x-genkit-span-id"),
        );
        if is_preflight {
            answered.insert(
                ACCESS_CONTROL_ALLOW_METHODS,
                HeaderValue::from_static("POST, GET, DELETE"),
            );
            answered.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
            if let Some(wanted) = asked.get(ACCESS_CONTROL_REQUEST_HEADERS) {
                answered.insert(ACCESS_CONTROL_ALLOW_HEADERS, wanted.clone());
            }
        }
    }
}

/// A header that must not come twice: two readers would believe two values.
fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, Status> {
    let mut values = headers.get_all(name).iter();
    let first = values.next();
    if values.next().is_some() {
        return Err(Status::invalid_argument(format!("the header `{name}` came twice")));
    }
    match first.map(HeaderValue::to_str) {
        None => Ok(None),
        Some(Ok(value)) => Ok(Some(value)),
        Some(Err(_)) => Err(Status::invalid_argument(format!("the header `{name}` is not text"))),
    }
}

/// The host that is asked for. A target can name one too, and must not name
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

/// The name without its port. A trailing dot is another name and not removed.
fn host_name(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

/// A page that this server itself has sent.
fn is_same_origin(origin: &str, host: Option<&str>) -> bool {
    let authority = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    authority.is_some() && authority == host
}
