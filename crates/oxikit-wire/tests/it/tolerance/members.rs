//! The members of a type, as its own reader names them.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::forward_to_deserialize_any;

/// The members of a type; `None` of one that is no struct, or takes any member.
pub(super) fn members_of<'de, T: Deserialize<'de>>() -> Option<&'static [&'static str]> {
    match T::deserialize(Asked) {
        Err(Members(members)) => members,
        Ok(_) => None,
    }
}

/// A deserializer without a value, which only records the names of the members.
struct Asked;

#[derive(Debug)]
struct Members(Option<&'static [&'static str]>);

impl fmt::Display for Members {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("there is no value")
    }
}

impl std::error::Error for Members {}

impl de::Error for Members {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self(None)
    }
}

impl<'de> Deserializer<'de> for Asked {
    type Error = Members;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Members> {
        Err(Members(None))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        members: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Members> {
        Err(Members(Some(members)))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
        option unit unit_struct newtype_struct seq tuple tuple_struct map enum identifier
        ignored_any
    }
}
