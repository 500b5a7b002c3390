//! Who may dial in: checked before anything is upgraded.
//!
//! The first gate stops rebinding, the second foreign pages, the third everybody
//! else; none replaces another.

use std::net::Ipv4Addr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::http::header::{HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderName, StatusCode, Uri};

use super::Token;

/// Where a browser says the page comes from.
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
/// Wrong tokens in a minute; the next ones are told to wait.
const MAX_WRONG: u32 = 10;
const WRONG_WINDOW: Duration = Duration::from_secs(60);

/// Why somebody is not let in.
pub(crate) type Refusal = (StatusCode, &'static str);

/// Whether the request can come from a program of this machine: no page may dial
/// in, whatever its origin.
pub(crate) fn check_sender(uri: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
    let host = host_of(uri, headers)?;
    if !is_loopback(host) {
        return Err((StatusCode::FORBIDDEN, "this host name is not served here"));
    }
    if headers.contains_key(ORIGIN) || headers.contains_key(SEC_FETCH_SITE) {
        return Err((StatusCode::FORBIDDEN, "pages may not call"));
    }
    Ok(())
}

/// Counts wrong tokens.
#[derive(Debug, Default)]
pub(crate) struct WrongTokens(Mutex<Option<(Instant, u32)>>);

impl WrongTokens {
    /// Lets the right token in, always: many wrong ones must not shut it out.
    pub(crate) fn check(&self, token: &Token, presented: &str) -> Result<(), Refusal> {
        if token.matches(presented) {
            return Ok(());
        }
        let mut wrong = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (since, count) = match *wrong {
            Some((since, count)) if since.elapsed() < WRONG_WINDOW => (since, count + 1),
            _ => (Instant::now(), 1),
        };
        *wrong = Some((since, count));
        match count {
            0..=MAX_WRONG => Err((StatusCode::UNAUTHORIZED, "the token in the path is wrong")),
            _ => Err((StatusCode::TOO_MANY_REQUESTS, "too many wrong tokens; wait a minute")),
        }
    }
}

/// The host that is asked for. A target can name one too, and must not name
/// another: it would be unclear which of them was checked.
fn host_of<'a>(uri: &'a Uri, headers: &'a HeaderMap) -> Result<&'a str, Refusal> {
    const UNCLEAR: Refusal = (StatusCode::BAD_REQUEST, "the host is missing or unclear");
    let mut hosts = headers.get_all(HOST).iter();
    let host = match (hosts.next(), hosts.next()) {
        (None, _) => None,
        (Some(host), None) => Some(host.to_str().map_err(|_| UNCLEAR)?),
        (Some(_), Some(_)) => return Err(UNCLEAR),
    };
    match (host, uri.authority().map(|authority| authority.as_str())) {
        (Some(host), Some(target)) if !host.eq_ignore_ascii_case(target) => Err(UNCLEAR),
        (host, target) => host.or(target).ok_or(UNCLEAR),
    }
}

/// Whether a host, with or without a port, can only be this machine. A trailing
/// dot makes another name.
pub(crate) fn is_loopback(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let name = name.to_ascii_lowercase();
    name == "localhost"
        || name.ends_with(".localhost")
        || name == "[::1]"
        || name.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback())
}
