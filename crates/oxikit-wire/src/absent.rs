//! Members for which `null` means the same as absence.

use serde::{Deserialize, Deserializer};

/// Reads a member that has a default and takes it for `null` too. For `deserialize_with`,
/// together with `default`, which covers the absent member.
pub(crate) fn null_is_default<'de, T: Deserialize<'de> + Default, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
