//! Random tokens in URLs and headers, and the check of presented ones.

use std::fmt;
use std::net::IpAddr;
use std::ops::RangeInclusive;

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use oxikit_core::Status;
use subtle::ConstantTimeEq;
use uuid::Uuid;

use crate::wrong_credentials::{WINDOW, WrongCredentials};

/// Number of characters of a token.
const LENGTH: usize = 96;
/// Number of characters of a token that a person has chosen. Shorter ones can be guessed.
const CHOSEN_LENGTH: RangeInclusive<usize> = 32..=256;
/// Maximum number of wrong tokens per address and minute. More are answered with 429.
const MAX_WRONG: u32 = 10;

/// A random secret that a server makes when it starts. Callers have to present it.
///
/// ```
/// use oxikit_http::Token;
///
/// let token = Token::random();
/// assert!(token.matches(token.reveal()));
/// assert!(!token.matches("guess"));
/// assert_eq!(format!("{token:?}"), "Token([redacted])");
/// ```
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// A new token, of more than 256 random bits of the operating system.
    pub fn random() -> Self {
        Self((0..3).map(|_| Uuid::new_v4().simple().to_string()).collect())
    }

    /// A token that was made earlier, such as that of a server before a restart; `None` if the
    /// text does not have the form of a token.
    pub fn known(text: &str) -> Option<Self> {
        let is_token = text.len() == LENGTH && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_token.then(|| Self(text.to_owned()))
    }

    /// A token that a person has chosen; `None` if the text is shorter than 32 characters, longer than
    /// 256, or has others than letters and digits of ASCII.
    ///
    /// ```
    /// use oxikit_http::Token;
    ///
    /// assert!(Token::chosen("0123456789abcdefghijklmnopqrstuv").is_some());
    /// assert!(Token::chosen("secret").is_none());
    /// ```
    pub fn chosen(text: &str) -> Option<Self> {
        let is_token = CHOSEN_LENGTH.contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
        is_token.then(|| Self(text.to_owned()))
    }

    /// The text of the token. It must not be logged.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether the presented text is this token. The time of the comparison depends on the
    /// length only.
    pub fn matches(&self, presented: &str) -> bool {
        self.0.as_bytes().ct_eq(presented.as_bytes()).into()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token([redacted])")
    }
}

/// Compares presented tokens with the right one, and counts wrong ones by address.
///
/// ```
/// use oxikit_http::{Token, TokenCheck};
///
/// let token = Token::random();
/// let check = TokenCheck::new(token.clone());
/// let peer = [127, 0, 0, 1].into();
/// assert!(check.check(peer, token.reveal(), "the token is wrong").is_ok());
/// assert!(check.check(peer, "guess", "the token is wrong").is_err());
/// ```
#[derive(Debug)]
pub struct TokenCheck {
    token: Token,
    wrong: WrongCredentials,
}

impl TokenCheck {
    /// A check for this token.
    pub fn new(token: Token) -> Self {
        Self { token, wrong: WrongCredentials::default() }
    }

    /// The token that presented ones are compared with.
    pub fn token(&self) -> &Token {
        &self.token
    }

    /// Compares a token that this address has presented. The right token is always
    /// accepted: wrong ones must not lock out its owner.
    ///
    /// # Errors
    ///
    /// `UNAUTHENTICATED` with `hint` for a wrong token, `RESOURCE_EXHAUSTED` after too many
    /// wrong ones of one address within a minute.
    pub fn check(&self, peer: IpAddr, presented: &str, hint: &str) -> Result<(), Status> {
        if self.token.matches(presented) { Ok(()) } else { Err(self.refused(peer, hint)) }
    }

    /// Counts a wrong credential of this address that the caller has compared itself, such as a
    /// one-time code, and makes the error for it, as [`check`](Self::check) does.
    pub fn refused(&self, peer: IpAddr, hint: &str) -> Status {
        if self.wrong.is_too_many(peer, MAX_WRONG) {
            let status = Status::resource_exhausted("too many wrong tokens; wait a minute");
            return status.with_retry_after(WINDOW);
        }
        Status::unauthenticated(hint)
    }
}

/// The token of `Authorization: Bearer …`; `None` if there is no such header, or more than
/// one.
///
/// ```
/// use axum::http::{HeaderMap, HeaderValue};
///
/// let mut headers = HeaderMap::new();
/// headers.insert("authorization", HeaderValue::from_static("Bearer 0123"));
/// assert_eq!(oxikit_http::bearer(&headers), Some("0123"));
/// ```
pub fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return None };
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}
