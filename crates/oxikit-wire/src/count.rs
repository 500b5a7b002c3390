//! Whole numbers as JavaScript writes them.

use serde::{Deserialize, Deserializer};

/// Reads an optional count. JavaScript has one number type, so `3.0` is a count too. A
/// negative number becomes 0 and one that is too large becomes `u64::MAX`: a wrong figure
/// in a model's usage must not make the whole response unreadable.
pub(crate) fn lenient<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let number = Option::<serde_json::Number>::deserialize(deserializer)?;
    Ok(number.map(|number| {
        number
            .as_u64()
            // A cast of a float saturates at 0 and `u64::MAX`.
            .unwrap_or_else(|| number.as_f64().unwrap_or_default() as u64)
    }))
}
