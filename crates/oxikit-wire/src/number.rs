//! Integers of JSON, which has one number type: `3`, `3.0` and `3e0` are the same
//! integer, and Python's runtime writes the second.
//!
//! For members of types that are read from others:
//!
//! ```
//! #[derive(serde::Deserialize)]
//! struct Page {
//!     #[serde(deserialize_with = "oxikit_wire::number::integer")]
//!     size: u32,
//!     #[serde(default, deserialize_with = "oxikit_wire::number::optional_integer")]
//!     limit: Option<u64>,
//! }
//!
//! let page: Page = serde_json::from_str(r#"{"size": 20.0, "limit": 1e3}"#).unwrap();
//! assert_eq!((page.size, page.limit), (20, Some(1000)));
//! ```

use std::any::type_name;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserializer, Error, Unexpected, Visitor};

/// Above this a float cannot tell an integer from the next one. All of them that fit into
/// the type are integers nevertheless.
const MAX_INTEGRAL: f64 = 170_141_183_460_469_231_731_687_303_715_884_105_727.0;

/// Reads an integer, however it is written.
///
/// # Errors
///
/// If it is no number, has a fraction, or does not fit.
pub fn integer<'de, D: Deserializer<'de>, T: TryFrom<i128>>(
    deserializer: D,
) -> Result<T, D::Error> {
    // Whoever buffers values, such as an untagged enum, tells the form only if asked for any.
    deserializer.deserialize_any(Integer(PhantomData))
}

/// Reads an integer that may be absent or `null`.
///
/// # Errors
///
/// As [`integer`].
pub fn optional_integer<'de, D: Deserializer<'de>, T: TryFrom<i128>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    deserializer.deserialize_any(OptionalInteger(PhantomData))
}

/// The integer that a float stands for.
pub fn integral(number: f64) -> Option<i128> {
    // The cast is exact for a float without a fraction in these limits.
    (number.fract() == 0.0 && number.abs() < MAX_INTEGRAL).then_some(number as i128)
}

struct Integer<T>(PhantomData<T>);

impl<T: TryFrom<i128>> Integer<T> {
    fn fit<E: Error>(&self, number: i128, unexpected: Unexpected<'_>) -> Result<T, E> {
        T::try_from(number).map_err(|_| E::invalid_value(unexpected, self))
    }
}

impl<T: TryFrom<i128>> Visitor<'_> for Integer<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an integer ({})", type_name::<T>())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        self.fit(number.into(), Unexpected::Unsigned(number))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        self.fit(number.into(), Unexpected::Signed(number))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<T, E> {
        let unexpected = Unexpected::Float(number);
        match integral(number) {
            Some(integer) => self.fit(integer, unexpected),
            None => Err(E::invalid_value(unexpected, &self)),
        }
    }
}

struct OptionalInteger<T>(PhantomData<T>);

impl<'de, T: TryFrom<i128>> Visitor<'de> for OptionalInteger<T> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an integer ({}) or nothing", type_name::<T>())
    }

    fn visit_unit<E: Error>(self) -> Result<Option<T>, E> {
        Ok(None)
    }

    fn visit_none<E: Error>(self) -> Result<Option<T>, E> {
        Ok(None)
    }

    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<Option<T>, D::Error> {
        integer(inner).map(Some)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Option<T>, E> {
        Integer(PhantomData).visit_u64(number).map(Some)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Option<T>, E> {
        Integer(PhantomData).visit_i64(number).map(Some)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Option<T>, E> {
        Integer(PhantomData).visit_f64(number).map(Some)
    }
}
