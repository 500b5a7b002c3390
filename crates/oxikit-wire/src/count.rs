//! Whole numbers as JavaScript writes them.

use serde::{Deserialize, Deserializer};

/// Reads an optional count. JavaScript knows one number type, so `3.0` is a
/// count too; a negative or endless one is taken as zero or the largest.
pub(crate) fn lenient<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let number = Option::<serde_json::Number>::deserialize(deserializer)?;
    Ok(number.map(|number| {
        number
            .as_u64()
            // A float cast saturates, which is what is wanted of a count.
            .unwrap_or_else(|| number.as_f64().unwrap_or_default() as u64)
    }))
}
