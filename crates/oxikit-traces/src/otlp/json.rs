//! Reads protobuf messages as JSON, in all forms that protobuf's JSON mapping allows.
//!
//! `null` is the default of a member, whatever its type. An integer may be written as a float or
//! as a text. Unknown members are ignored. The `Deserialize` implementations of the OTLP types
//! do not accept all of that, so this wraps the deserializer: it records the type that the
//! OTLP type expects and converts the value before it is passed on.

use std::fmt;

use oxikit_wire::number::integral;
use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, EnumAccess, Error, IgnoredAny, MapAccess,
    SeqAccess, Unexpected, Visitor,
};

/// Reads a message from JSON.
pub(super) fn read<'de, T: Deserialize<'de>>(json: &'de [u8]) -> serde_json::Result<T> {
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    let message = T::deserialize(Message(&mut deserializer))?;
    deserializer.end()?;
    Ok(message)
}

/// Wraps a deserializer, a seed or a list of a message.
struct Message<D>(D);

/// The type that the OTLP type expects, which decides what `null` means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Anything,
    Bool,
    Number,
    Text,
    List,
    Members,
}

/// Converts a value and passes it on to the visitor of the OTLP type.
struct Passed<V> {
    to: V,
    wanted: Wanted,
}

macro_rules! deserialize_as {
    ($($wanted:ident: $($method:ident)+;)+) => {$($(
        fn $method<V: Visitor<'de>>(self, to: V) -> Result<V::Value, D::Error> {
            self.0.deserialize_any(Passed { to, wanted: Wanted::$wanted })
        }
    )+)+};
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Message<D> {
    type Error = D::Error;

    deserialize_as! {
        Anything: deserialize_any deserialize_unit deserialize_char deserialize_bytes
            deserialize_byte_buf;
        Bool: deserialize_bool;
        Number: deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_u8
            deserialize_u16 deserialize_u32 deserialize_u64 deserialize_f32 deserialize_f64;
        Text: deserialize_str deserialize_string;
        List: deserialize_seq;
        Members: deserialize_map;
    }

    fn deserialize_option<V: Visitor<'de>>(self, to: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_option(Passed { to, wanted: Wanted::Anything })
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        to: V,
    ) -> Result<V::Value, D::Error> {
        self.deserialize_map(to)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        to: V,
    ) -> Result<V::Value, D::Error> {
        to.visit_newtype_struct(self)
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        to: V,
    ) -> Result<V::Value, D::Error> {
        self.deserialize_unit(to)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, to: V) -> Result<V::Value, D::Error> {
        self.deserialize_seq(to)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        to: V,
    ) -> Result<V::Value, D::Error> {
        self.deserialize_seq(to)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        to: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_enum(name, variants, to)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, to: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_identifier(to)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, to: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_ignored_any(to)
    }
}

/// Whether a visitor that accepts any type expects an integer. Its message is the only way to
/// find out.
fn expects_integer<'de, V: Visitor<'de>>(to: &V) -> bool {
    struct Expected<'a, V>(&'a V);

    impl<'de, V: Visitor<'de>> fmt::Display for Expected<'_, V> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            self.0.expecting(f)
        }
    }

    Expected(to).to_string().contains(" integer")
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Passed<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to.expecting(f)
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        match self.wanted {
            // The deserializers of times accept a text or a number, so they ask for any type.
            Wanted::Anything if expects_integer(&self.to) => self.to.visit_u64(0),
            Wanted::Anything => self.to.visit_unit(),
            Wanted::Bool => self.to.visit_bool(false),
            Wanted::Number => self.to.visit_u64(0),
            Wanted::Text => self.to.visit_str(""),
            Wanted::List => self.to.visit_seq(SeqDeserializer::new(std::iter::empty::<()>())),
            Wanted::Members => {
                self.to.visit_map(MapDeserializer::new(std::iter::empty::<((), ())>()))
            }
        }
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.to.visit_none()
    }

    fn visit_some<D: Deserializer<'de>>(self, value: D) -> Result<V::Value, D::Error> {
        self.to.visit_some(Message(value))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<V::Value, E> {
        self.to.visit_bool(value)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<V::Value, E> {
        self.to.visit_u64(number)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<V::Value, E> {
        self.to.visit_i64(number)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<V::Value, E> {
        let Some(integer) = integral(number) else { return self.to.visit_f64(number) };
        if let Ok(integer) = u64::try_from(integer) {
            self.to.visit_u64(integer)
        } else if let Ok(integer) = i64::try_from(integer) {
            self.to.visit_i64(integer)
        } else {
            self.to.visit_f64(number)
        }
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<V::Value, E> {
        if self.wanted != Wanted::Number {
            return self.to.visit_str(text);
        }
        if let Ok(integer) = text.parse() {
            self.to.visit_u64(integer)
        } else if let Ok(integer) = text.parse() {
            self.to.visit_i64(integer)
        } else if let Ok(number) = text.parse() {
            // This includes `NaN` and `Infinity`.
            self.visit_f64(number)
        } else {
            self.to.visit_str(text)
        }
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<V::Value, E> {
        match self.wanted {
            Wanted::Number => self.visit_str(text),
            _ => self.to.visit_borrowed_str(text),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<V::Value, A::Error> {
        // serde also reads a list into a struct.
        if self.wanted == Wanted::Members {
            return Err(A::Error::invalid_type(Unexpected::Seq, &self));
        }
        self.to.visit_seq(Message(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<V::Value, A::Error> {
        self.to.visit_map(Members { members, is_unread: false })
    }

    fn visit_enum<A: EnumAccess<'de>>(self, variant: A) -> Result<V::Value, A::Error> {
        self.to.visit_enum(variant)
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Message<S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<S::Value, D::Error> {
        self.0.deserialize(Message(value))
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Message<A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        self.0.next_element_seed(Message(seed))
    }
}

/// The members of a message. Some visitors do not read the value of an unknown member; it is
/// then skipped before the next name.
struct Members<A> {
    members: A,
    is_unread: bool,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Members<A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        if std::mem::take(&mut self.is_unread) {
            self.members.next_value::<IgnoredAny>()?;
        }
        let name = self.members.next_key_seed(seed)?;
        self.is_unread = name.is_some();
        Ok(name)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.is_unread = false;
        self.members.next_value_seed(Message(seed))
    }
}
