//! The gates in front of every route of the API, in this order: which host is asked
//! for, from which page, with which token, and whether it may have effects.
//!
//! The first stops rebinding, the second foreign pages, the third everybody else, the
//! fourth what a page can send unasked; none replaces another. All of them are passed
//! before a body is read.

use std::net::IpAddr;

use axum::body::Body;
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, AUTHORIZATION, CACHE_CONTROL, HOST,
    ORIGIN, VARY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode as HttpStatus, Uri,
};
use oxikit_core::Status;
use oxikit_serve::inside::{WRONG_WINDOW, WrongKeys, error, json_response};

use super::DevServerOptions;
use super::proof::{CHALLENGE, prove};
use crate::manager::Token;
use crate::manager::gate::is_loopback;

/// Where a browser says the page comes from.
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
/// Wrong tokens of one address in a minute; the next ones are told to wait.
const MAX_WRONG: u32 = 10;
/// Programs that take a URL as it is have the token in its path.
const PATH_TOKEN: &str = "/k/";

/// What it takes to be let in.
#[derive(Debug)]
pub(crate) struct Gate {
    hosts: Vec<String>,
    origins: Vec<String>,
    token: Token,
    wrong_tokens: WrongKeys,
}

/// Boxed: it is rare and large.
type Refused = Box<Response<Body>>;

impl Gate {
    pub(crate) fn new(options: &DevServerOptions, token: Token) -> Self {
        let mut hosts = options.allow_hosts.clone();
        if !options.host.is_unspecified() {
            hosts.push(match options.host {
                IpAddr::V4(address) => address.to_string(),
                IpAddr::V6(address) => format!("[{address}]"),
            });
        }
        let origins = options.allow_origins.clone();
        Self { hosts, origins, token, wrong_tokens: WrongKeys::default() }
    }

    /// Lets a request in, with the path that the routes know, or answers it.
    pub(crate) fn admit<B>(&self, peer: IpAddr, request: &mut Request<B>) -> Result<(), Refused> {
        let is_page = is_page(request);
        let refused = |status: Status| Box::new(error(&status));
        self.check_sender(request.uri(), request.headers(), is_page).map_err(refused)?;
        if *request.method() == Method::OPTIONS && self.page(request.headers()).is_some() {
            return Err(Box::new(self.preflight(request.headers())));
        }
        if is_page {
            return Ok(());
        }
        self.check_token(peer, request)
    }

    fn check_sender(&self, uri: &Uri, headers: &HeaderMap, is_page: bool) -> Result<(), Status> {
        let host = host_of(uri, headers)?;
        if !self.is_known_host(host) {
            let message = "this host name is not served here; `--allow-host` names others";
            return Err(Status::permission_denied(message));
        }
        let origin = single(headers, &ORIGIN)?;
        let site = single(headers, &SEC_FETCH_SITE)?;
        if origin.is_some_and(|origin| self.is_allowed_origin(origin)) {
            return Ok(());
        }
        let is_own = |origin: &str| origin.strip_prefix("http://") == Some(host);
        let is_near = |site: &str| site == "same-origin" || (site == "none" && is_page);
        // A page can send some requests without an `Origin`; its browser still says
        // where they come from.
        if origin.is_some_and(|origin| !is_own(origin)) || site.is_some_and(|site| !is_near(site)) {
            let message = "pages of this origin may not call; `--allow-origin` names others";
            return Err(Status::permission_denied(message));
        }
        Ok(())
    }

    fn is_known_host(&self, host: &str) -> bool {
        let name = match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
            _ => host,
        };
        is_loopback(host) || self.hosts.iter().any(|known| known.eq_ignore_ascii_case(name))
    }

    fn is_allowed_origin(&self, origin: &str) -> bool {
        self.origins.iter().any(|known| known == origin)
    }

    /// Takes the token out of the path, if it is there, and compares it. The right
    /// one is let in always: many wrong ones must not shut it out.
    fn check_token<B>(&self, peer: IpAddr, request: &mut Request<B>) -> Result<(), Refused> {
        let is_right = match request.uri().path().strip_prefix(PATH_TOKEN) {
            Some(rest) => {
                let (presented, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
                if self.token.matches(presented) {
                    let path = if path.is_empty() { "/" } else { path };
                    let query = request.uri().query();
                    *request.uri_mut() = without_token(path, query)?;
                    return Ok(());
                }
                Some(false)
            }
            None => bearer(request.headers()).map(|presented| self.token.matches(presented)),
        };
        match is_right {
            Some(true) => Ok(()),
            None => Err(unauthenticated("this needs a token: `Authorization: Bearer …`")),
            Some(false) if self.wrong_tokens.is_too_many(peer, MAX_WRONG) => {
                let status = Status::resource_exhausted("too many wrong tokens; wait a minute");
                Err(Box::new(error(&status.with_retry_after(WRONG_WINDOW))))
            }
            Some(false) => {
                Err(unauthenticated("this token is not known; it is another one after each start"))
            }
        }
    }

    /// The answer to a challenge, if the request of a command has one: see [`super::proof`].
    pub(crate) fn proof<B>(&self, request: &Request<B>) -> Option<HeaderValue> {
        let challenge = request.headers().get(CHALLENGE).filter(|_| is_page(request))?;
        prove(&self.token, challenge.to_str().ok()?)?.parse().ok()
    }

    /// The origin of the page that calls, if it is a foreign one that may.
    pub(crate) fn page(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        if self.origins.is_empty() {
            return None;
        }
        let origin = headers.get(ORIGIN)?;
        origin.to_str().is_ok_and(|origin| self.is_allowed_origin(origin)).then(|| origin.clone())
    }

    /// Puts on an answer what browsers are to know of it.
    pub(crate) fn finish(&self, page: Option<HeaderValue>, response: &mut Response<Body>) {
        let headers = response.headers_mut();
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
        if let Some(origin) = page {
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
            headers.append(VARY, HeaderValue::from_static("Origin"));
            let exposed = HeaderValue::from_static("x-genkit-trace-id");
            headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
        }
    }

    /// A browser asks before it calls.
    fn preflight(&self, asked: &HeaderMap) -> Response<Body> {
        let mut response = json_response(HttpStatus::NO_CONTENT, Body::empty());
        self.finish(self.page(asked), &mut response);
        let headers = response.headers_mut();
        let methods = HeaderValue::from_static("GET, POST, PUT, PATCH, DELETE");
        headers.insert(ACCESS_CONTROL_ALLOW_METHODS, methods);
        let allowed = HeaderValue::from_static("authorization, content-type, last-event-id");
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, allowed);
        headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
        response
    }
}

/// The page itself holds nothing secret; whoever opens it has the token in the
/// fragment, which a browser does not send.
fn is_page<B>(request: &Request<B>) -> bool {
    request.uri().path() == "/" && matches!(*request.method(), Method::GET | Method::HEAD)
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return None };
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn without_token(path: &str, query: Option<&str>) -> Result<Uri, Refused> {
    let target = match query {
        Some(query) => format!("{path}?{query}"),
        None => path.to_owned(),
    };
    target.parse().map_err(|_| {
        Box::new(error(&Status::invalid_argument("the path behind the token cannot be read")))
    })
}

fn unauthenticated(message: &str) -> Refused {
    Box::new(error(&Status::unauthenticated(message)))
}

/// A header that must not come twice: two readers would believe two values.
fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, Status> {
    let unclear = || Status::permission_denied(format!("the header `{name}` is unclear"));
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value.to_str().map(Some).map_err(|_| unclear()),
        (Some(_), Some(_)) => Err(unclear()),
    }
}

/// The host that is asked for. A target can name one too, and must not name another:
/// it would be unclear which of them was checked.
fn host_of<'a>(uri: &'a Uri, headers: &'a HeaderMap) -> Result<&'a str, Status> {
    let unclear = || Status::permission_denied("the host is missing or unclear");
    match (single(headers, &HOST)?, uri.authority().map(|authority| authority.as_str())) {
        (Some(host), Some(target)) if !host.eq_ignore_ascii_case(target) => Err(unclear()),
        (host, target) => host.or(target).ok_or_else(unclear),
    }
}
