//! Values that must not be printed.
//!
//! [`Secret`] protects values that are known to be secret. Secrets inside of texts and JSON are
//! found by [`redact`](crate::redact).

use std::fmt;

use serde::{Serialize, Serializer};

/// A key or a password. It prints and serialises as `[redacted]`, also inside of other values, so
/// that it cannot get into a log by accident.
///
/// ```
/// use oxikit_core::Secret;
///
/// let key = Secret::new("sk-123".to_owned());
/// assert_eq!(format!("{key} {key:?}"), "[redacted] [redacted]");
/// assert_eq!(serde_json::to_string(&key).unwrap(), "\"[redacted]\"");
/// assert_eq!(key.expose(), "sk-123");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Secret<T>(T);

impl<T> Secret<T> {
    /// Wraps a value.
    pub fn new(value: T) -> Self {
        Self(value)
    }

    /// The value itself, for the place that sends it, such as the header of a request.
    pub fn expose(&self) -> &T {
        &self.0
    }
}

impl<T> From<T> for Secret<T> {
    fn from(value: T) -> Self {
        Self(value)
    }
}

impl<T> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

impl<T> fmt::Display for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

impl<T> Serialize for Secret<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str("[redacted]")
    }
}
