//! Collections of integers, each of which may be written as a float: see [`crate::number`].

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};

use crate::number::integer;

#[derive(Deserialize)]
struct Integer(#[serde(deserialize_with = "integer")] u64);

/// Reads integers with names.
pub(super) fn integers<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, u64>, D::Error> {
    BTreeMap::deserialize(deserializer).map(plain)
}

/// Reads integers with names that may be absent or `null`.
pub(super) fn optional_integers<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<BTreeMap<String, u64>>, D::Error> {
    Ok(Option::deserialize(deserializer)?.map(plain))
}

/// Reads integers with names; `null` is none of them.
pub(super) fn integers_or_default<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, u64>, D::Error> {
    Ok(optional_integers(deserializer)?.unwrap_or_default())
}

/// Reads pairs of integers; `null` is none of them.
pub(super) fn pairs_or_default<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<(u64, u64)>, D::Error> {
    let pairs = Option::<Vec<(Integer, Integer)>>::deserialize(deserializer)?.unwrap_or_default();
    Ok(pairs.into_iter().map(|(Integer(one), Integer(other))| (one, other)).collect())
}

fn plain(integers: BTreeMap<String, Integer>) -> BTreeMap<String, u64> {
    integers.into_iter().map(|(name, Integer(number))| (name, number)).collect()
}
