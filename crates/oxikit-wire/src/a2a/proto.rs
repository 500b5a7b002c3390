//! Reading of proto JSON: what its writers may do differently from ours.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer};

use crate::number::{integer, integral};

/// Reads an optional text. Proto JSON may write the default, which is the empty text.
pub(super) fn empty_is_none<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<String>, D::Error> {
    Ok(Option::<String>::deserialize(deserializer)?.filter(|text| !text.is_empty()))
}

/// Reads an optional integer. Proto JSON may write it as a text.
pub(super) fn optional_integer<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<i64>, D::Error> {
    Ok(Option::<Integer>::deserialize(deserializer)?.map(|Integer(number)| number))
}

/// Reads a number of things; 0 if missing.
pub(super) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let number = optional_integer(deserializer)?.unwrap_or_default();
    u64::try_from(number).map_err(|_| D::Error::custom(format!("{number} is less than zero")))
}

#[derive(Deserialize)]
#[serde(try_from = "IntegerForm")]
struct Integer(i64);

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected an integer, or one in a text")]
enum IntegerForm {
    Number(#[serde(deserialize_with = "integer")] i64),
    Text(String),
}

impl TryFrom<IntegerForm> for Integer {
    type Error = String;

    fn try_from(form: IntegerForm) -> Result<Self, String> {
        match form {
            IntegerForm::Number(number) => Ok(Self(number)),
            IntegerForm::Text(text) => {
                text.parse().map(Self).map_err(|_| format!("`{text}` is not an integer"))
            }
        }
    }
}

/// An enum of proto: written by name, read by name or number.
pub(super) trait ProtoEnum: Sized {
    /// Names the type in errors, such as "a role".
    const WHAT: &'static str;

    fn from_name(name: &str) -> Option<Self>;

    fn from_number(number: i128) -> Option<Self>;
}

/// Reads an enum of proto.
pub(super) fn read_enum<'de, T: ProtoEnum, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    deserializer.deserialize_any(EnumVisitor(PhantomData))
}

struct EnumVisitor<T>(PhantomData<T>);

impl<T: ProtoEnum> EnumVisitor<T> {
    fn number<E: Error>(number: i128) -> Result<T, E> {
        T::from_number(number).ok_or_else(|| E::custom(format!("{number} is not {}", T::WHAT)))
    }
}

impl<T: ProtoEnum> Visitor<'_> for EnumVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, by name or number", T::WHAT)
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<T, E> {
        T::from_name(name).ok_or_else(|| E::custom(format!("`{name}` is not {}", T::WHAT)))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        Self::number(number.into())
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        Self::number(number.into())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<T, E> {
        match integral(number) {
            Some(number) => Self::number(number),
            None => Err(E::custom(format!("{number} is not {}", T::WHAT))),
        }
    }
}
