//! Texts of protobuf, which are never missing but may be empty.

use oxikit_wire::a2a::A2aError;

/// A text that may be missing.
pub(crate) fn optional(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}

/// The text, or the empty one.
pub(crate) fn or_empty(text: Option<&String>) -> String {
    text.cloned().unwrap_or_default()
}

/// Refuses a message without this member.
pub(crate) fn required<T>(value: Option<T>, field: &str) -> Result<T, A2aError> {
    value.ok_or_else(|| violation(field, "must be there"))
}

/// An error about one member.
pub(crate) fn violation(field: &str, why: &str) -> A2aError {
    A2aError::new(oxikit_wire::a2a::ErrorKind::InvalidParams).with_violation(field, why)
}

/// A number for a field of 32 bits; one beyond its range becomes the nearest.
pub(crate) fn narrow(number: i64) -> i32 {
    i32::try_from(number).unwrap_or(if number < 0 { i32::MIN } else { i32::MAX })
}
