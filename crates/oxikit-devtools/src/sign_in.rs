//! The credentials of the API: the token of programs, and the cookies of browsers that have signed in.
//!
//! A browser signs in with a one-time code, which is in the fragment of the URL that a person opens,
//! and gets a cookie that scripts cannot read. Neither the token nor the cookie is ever part of a URL.
//! Cookies are shared between all ports of a host, so the name of the cookie contains the port, and a
//! cookie counts only in requests of the server's own page.

mod codes;
mod cookies;

use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use axum::http::header::COOKIE;
use axum::http::{HeaderMap, HeaderValue};
use oxikit_core::Status;
use oxikit_http::{Token, TokenCheck};

use codes::Codes;
use cookies::Cookies;

/// Time in which a code must be used that was made on request.
pub(crate) const CODE_TIME: Duration = Duration::from_secs(600);
/// Time after which a browser has to sign in again.
const COOKIE_TIME: Duration = Duration::from_secs(30 * 24 * 3600);

/// The error for a wrong token. After a restart, old pages and commands have the previous token.
const WRONG_TOKEN: &str = "this token is not known; it is another one after each start";
/// The error for a wrong code.
const WRONG_CODE: &str =
    "this code is not known, was used already, or is too old: `oxikit open` makes a new one";

/// The token, the open codes and the cookies of browsers.
#[derive(Debug)]
pub(crate) struct SignIn {
    token: TokenCheck,
    codes: Codes,
    cookies: Cookies,
    /// The name of the cookie.
    name: String,
}

/// The cookie with which a request was admitted. It is an extension of the request.
#[derive(Debug, Clone)]
pub(crate) struct SignedIn(String);

impl SignIn {
    /// The credentials of a server on this port. The cookies of earlier servers of the data folder
    /// count, too.
    pub(crate) fn new(token: Token, port: u16, data_dir: &Path) -> Self {
        Self {
            token: TokenCheck::new(token),
            codes: Codes::default(),
            cookies: Cookies::open(data_dir),
            name: format!("oxikit-{port}"),
        }
    }

    /// The token of programs.
    pub(crate) fn token(&self) -> &Token {
        self.token.token()
    }

    /// Compares a token that this address has presented.
    ///
    /// # Errors
    ///
    /// See [`TokenCheck::check`].
    pub(crate) fn check_token(&self, peer: IpAddr, presented: &str) -> Result<(), Status> {
        self.token.check(peer, presented, WRONG_TOKEN)
    }

    /// A new code. It works once, and without `time` until the server ends.
    pub(crate) fn new_code(&self, time: Option<Duration>) -> String {
        self.codes.add(time)
    }

    /// Exchanges a code for the `Set-Cookie` header of a new cookie.
    ///
    /// # Errors
    ///
    /// `UNAUTHENTICATED` for a wrong code, `RESOURCE_EXHAUSTED` after too many wrong codes and tokens
    /// of one address within a minute.
    pub(crate) fn exchange(&self, peer: IpAddr, code: &str) -> Result<String, Status> {
        if !self.codes.take(code) {
            return Err(self.token.refused(peer, WRONG_CODE));
        }
        let cookie = self.cookies.add(COOKIE_TIME);
        Ok(self.set_cookie(&cookie, COOKIE_TIME))
    }

    /// Ends the cookie of a request. Returns the `Set-Cookie` header that removes it.
    pub(crate) fn sign_out(&self, signed_in: Option<&SignedIn>) -> String {
        if let Some(SignedIn(cookie)) = signed_in {
            self.cookies.remove(cookie);
        }
        self.set_cookie("", Duration::ZERO)
    }

    /// The valid cookie among the headers of a request. The caller has checked that the request is
    /// from the server's own page.
    pub(crate) fn signed_in(&self, headers: &HeaderMap) -> Option<SignedIn> {
        let values = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs =
            values.flat_map(|value| value.split(';')).filter_map(|it| it.split_once('='));
        pairs.find_map(|(name, value)| {
            let value = value.trim();
            let is_valid = name.trim() == self.name && self.cookies.is_valid(value);
            is_valid.then(|| SignedIn(value.to_owned()))
        })
    }

    /// Whether a request has the cookie of this server, valid or not.
    pub(crate) fn has_cookie(&self, headers: &HeaderMap) -> bool {
        let has_name = |value: &HeaderValue| {
            let value = value.to_str().unwrap_or_default();
            value.split(';').any(|it| it.split('=').next().is_some_and(|it| it.trim() == self.name))
        };
        headers.get_all(COOKIE).iter().any(has_name)
    }

    fn set_cookie(&self, value: &str, time: Duration) -> String {
        let (name, seconds) = (&self.name, time.as_secs());
        format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_becomes_a_cookie_that_survives_a_restart_and_ends_with_signing_out() {
        let folder = tempfile::tempdir().unwrap();
        let start = || SignIn::new(Token::random(), 4000, folder.path());
        let (server, peer) = (start(), [127, 0, 0, 1].into());
        let cookie = server.exchange(peer, &server.new_code(None)).unwrap();
        let (pair, attributes) = cookie.split_once("; ").unwrap();
        assert_eq!(attributes, "Path=/; Max-Age=2592000; HttpOnly; SameSite=Strict");
        let headers = |cookies: &str| {
            HeaderMap::from_iter([(COOKIE, HeaderValue::from_str(cookies).unwrap())])
        };
        let others = headers(&format!("a=b; {pair}; c=d"));
        assert!(server.signed_in(&others).is_some());
        assert!(start().signed_in(&others).is_some(), "after a restart");
        let (name, value) = pair.split_once('=').unwrap();
        for forged in [
            format!("oxikit-4001={value}"),
            format!("{name}={}", value.to_ascii_uppercase() + "0"),
            format!("{name}={}", &value[1..]),
            format!("{name}="),
            value.to_owned(),
        ] {
            assert!(server.signed_in(&headers(&forged)).is_none(), "{forged}");
        }
        let signed_in = server.signed_in(&others);
        assert!(server.sign_out(signed_in.as_ref()).contains("Max-Age=0"));
        assert!(server.signed_in(&others).is_none());
        assert!(start().signed_in(&others).is_none(), "after a restart");
    }

    #[test]
    fn wrong_codes_count_as_wrong_tokens() {
        let folder = tempfile::tempdir().unwrap();
        let server = SignIn::new(Token::random(), 4000, folder.path());
        let (peer, code) = ([127, 0, 0, 1].into(), server.new_code(None));
        for _ in 0..5 {
            assert_eq!(server.exchange(peer, "guess").unwrap_err().code().http(), 401);
            assert_eq!(server.check_token(peer, "guess").unwrap_err().code().http(), 401);
        }
        assert_eq!(server.exchange(peer, "guess").unwrap_err().code().http(), 429);
        assert!(server.exchange(peer, &code).is_ok(), "the right code is always accepted");
        assert!(server.exchange(peer, &code).is_err(), "once");
    }
}
