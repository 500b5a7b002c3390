//! The secret in a URL that opens a door.

use std::fmt;

use subtle::ConstantTimeEq;
use uuid::Uuid;

/// A secret made at each start, for the URL that a runtime is given.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// A new one, of more than 256 random bits of the operating system.
    pub fn random() -> Self {
        Self((0..3).map(|_| Uuid::new_v4().simple().to_string()).collect())
    }

    /// One of a server before this one, if it is as long as ours are.
    pub(crate) fn known(text: &str) -> Option<Self> {
        let is_ours = text.len() == 96 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_ours.then(|| Self(text.to_owned()))
    }

    /// The text, to be put into a URL that only the right ones see.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether this is it. The time it takes tells nothing but the length.
    pub fn matches(&self, presented: &str) -> bool {
        self.0.as_bytes().ct_eq(presented.as_bytes()).into()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token([redacted])")
    }
}
