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

use serde::de::{DeserializeOwned, Deserializer, Error, Unexpected, Visitor};

/// `i128::MAX` as a float, which rounds it to 2^127. Smaller magnitudes are cast to `i128`
/// exactly; floats from here on are rejected.
const MAX_INTEGRAL: f64 = 170_141_183_460_469_231_731_687_303_715_884_105_727.0;

/// Reads an integer, however it is written.
///
/// # Errors
///
/// If the value is not a number, has a fraction, or does not fit.
pub fn integer<'de, D: Deserializer<'de>, T: TryFrom<i128>>(
    deserializer: D,
) -> Result<T, D::Error> {
    // Deserialisers that buffer values, such as those of untagged enums, only keep the form of a
    // number for `deserialize_any`.
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

/// The integer that a float stands for; `None` if it has a fraction or does not fit.
pub fn integral(number: f64) -> Option<i128> {
    // The cast is exact for a float without a fraction in these limits.
    (number.fract() == 0.0 && number.abs() < MAX_INTEGRAL).then_some(number as i128)
}

/// Reads JSON into a type whose integers reject `3.0`, such as a type of an application with
/// derived `Deserialize`.
///
/// The first attempt reads the JSON as it is, so input without such floats costs nothing more.
/// After a failure the JSON is rewritten with integers and read a second time; the error of the
/// first attempt is returned if that fails too.
///
/// ```
/// let numbers: Vec<u8> = oxikit_wire::number::from_slice(b"[1.0, 2e1, 3]").unwrap();
/// assert_eq!(numbers, [1, 20, 3]);
/// ```
///
/// # Errors
///
/// As [`serde_json::from_slice`].
pub fn from_slice<T: DeserializeOwned>(json: &[u8]) -> serde_json::Result<T> {
    serde_json::from_slice(json).or_else(|error| match written_out(json) {
        Some(json) => serde_json::from_slice(&json).map_err(|_| error),
        None => Err(error),
    })
}

/// The same JSON with integral floats as integers; `None` if there are none.
// A scan of bytes and not a parser: outside of strings, digits occur only in numbers, and
// JSON that is not valid fails in the second attempt as it did in the first.
fn written_out(json: &[u8]) -> Option<Vec<u8>> {
    let is_of_number = |byte: &u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
    let (mut written, mut copied, mut place) = (Vec::new(), 0, 0);
    while let Some(byte) = json.get(place) {
        match byte {
            b'"' => place += text_length(&json[place..]),
            b'-' | b'0'..=b'9' => {
                let length = json[place..].iter().take_while(|byte| is_of_number(byte)).count();
                if let Some(integer) = integer_of(&json[place..place + length]) {
                    written.extend_from_slice(&json[copied..place]);
                    written.extend_from_slice(integer.to_string().as_bytes());
                    copied = place + length;
                }
                place += length;
            }
            _ => place += 1,
        }
    }
    (copied > 0).then(|| [&written, &json[copied..]].concat())
}

/// Length in bytes of the JSON string at the start of `json`, with its quotes. A string
/// without an end takes the rest; the second attempt to read it fails anyway.
fn text_length(json: &[u8]) -> usize {
    // Starts as escaped so that the opening quote does not end the string.
    let mut is_escaped = true;
    let end = json.iter().position(|byte| {
        let is_end = *byte == b'"' && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        is_end
    });
    end.map_or(json.len(), |end| end + 1)
}

/// The value of a number that is written as a float and is an integer. `None` for digits
/// alone, which need no rewriting.
fn integer_of(number: &[u8]) -> Option<i128> {
    if !number.iter().any(|byte| matches!(byte, b'.' | b'e' | b'E')) {
        return None;
    }
    integral(std::str::from_utf8(number).ok()?.parse().ok()?)
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
