//! Members that are not there.

use serde::{Deserialize, Deserializer};

/// Reads a member that has a default; `null` is the same as none.
pub(crate) fn null_is_default<'de, T: Deserialize<'de> + Default, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
