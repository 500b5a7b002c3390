//! Reads JSON text into a tree. Text that a tree would change is refused: a repeated
//! member, and a number that would be rounded.
//!
//! It is faster than `serde_json` for lists of similar objects, which are the bulk of large
//! inputs: from the ninth item on, a prepared object with the same names is filled in.

use std::cell::Cell;
use std::fmt;

use oxikit_wire::JsonObject;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry;
use serde_json::{Map, Number, Value};

use crate::exact::{self, Inexact, LARGE};

/// Maximum number of members that memory is reserved for before they are parsed.
const MAX_GUESS: usize = 64;

/// Number of items after which a list is examined for a common shape. A shape costs about as much
/// as an item, so it does not pay for shorter lists.
const ITEMS_BEFORE_SHAPE: usize = 8;

/// Reads a tree from text.
pub(crate) fn from_slice(text: &[u8]) -> Result<Value, serde_json::Error> {
    let Ok(text) = str::from_utf8(text) else {
        // This fails with an error that names the position.
        return serde_json::from_slice(text);
    };
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let seen = Seen::default();
    let value = Tree { seen: &seen, shape: None }.deserialize(&mut deserializer)?;
    deserializer.end()?;
    if seen.has_large_double.get() {
        exact::check(text.as_bytes()).map_err(serde_json::Error::custom)?;
    }
    Ok(value)
}

/// Reads a tree that is a part of another value. It fails if only the text can show whether a
/// number was rounded; [`from_slice`] then decides.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
    let seen = Seen::default();
    let value = Tree { seen: &seen, shape: None }.deserialize(deserializer)?;
    match seen.has_large_double.get() {
        true => Err(D::Error::custom("a number may have been rounded")),
        false => Ok(value),
    }
}

/// Facts about the part that was read so far.
#[derive(Default)]
struct Seen {
    /// Number of members of the previous object: memory for as many is reserved for the next.
    guess: Cell<usize>,
    /// Whether there was a double so large that an integer of the text may have been rounded to
    /// it.
    has_large_double: Cell<bool>,
}

#[derive(Clone, Copy)]
struct Tree<'a> {
    seen: &'a Seen,
    /// The members that an object is likely to have.
    shape: Option<&'a Shape>,
}

/// The members that the objects of a list share, in their order. A copy of it
/// is filled in: that avoids hashing all names, and the object need not grow.
struct Shape {
    members: JsonObject,
    was_wrong: Cell<bool>,
}

impl Shape {
    /// The shape of the last two items, if they have the same.
    fn of(list: &[Value]) -> Option<Self> {
        let [.., Value::Object(one), Value::Object(other)] = list else { return None };
        if one.len() > MAX_GUESS || !one.keys().eq(other.keys()) {
            return None;
        }
        let members = one.keys().map(|name| (name.clone(), Value::Null)).collect();
        Some(Self { members, was_wrong: Cell::new(false) })
    }
}

impl<'de> DeserializeSeed<'de> for Tree<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Tree<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any valid JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        if value.abs() >= LARGE {
            self.seen.has_large_double.set(true);
        }
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        let mut shape: Option<Shape> = None;
        while let Some(item) = items.next_element_seed(Tree { shape: shape.as_ref(), ..self })? {
            list.push(item);
            if list.len() == ITEMS_BEFORE_SHAPE {
                shape = Shape::of(&list);
            }
            // A list whose objects differ once is probably mixed: no shape is tried again.
            shape = shape.filter(|shape| !shape.was_wrong.get());
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let inner = Tree { shape: None, ..self };
        let (mut map, mut next) = match self.shape {
            Some(shape) => inner.fill(shape, &mut members)?,
            None => (Map::with_capacity(self.seen.guess.get()), members.next_key()?),
        };
        while let Some(name) = next {
            let value = members.next_value_seed(inner)?;
            match map.entry(name) {
                Entry::Vacant(slot) => {
                    slot.insert(value);
                }
                Entry::Occupied(slot) => {
                    return Err(A::Error::custom(Inexact::Member(slot.key().clone())));
                }
            }
            next = members.next_key()?;
        }
        self.seen.guess.set(map.len().min(MAX_GUESS));
        Ok(Value::Object(map))
    }
}

impl Tree<'_> {
    /// Reads members as long as they are those of the shape, and the name of the
    /// one after them.
    fn fill<'de, A: MapAccess<'de>>(
        self,
        shape: &Shape,
        members: &mut A,
    ) -> Result<(JsonObject, Option<String>), A::Error> {
        // `clone_from` into a map of this size: `clone` would reserve more memory.
        let mut map = Map::with_capacity(shape.members.len());
        map.clone_from(&shape.members);
        for (filled, (name, slot)) in map.iter_mut().enumerate() {
            let other = match members.next_key_seed(Expected(name))? {
                Some(Name::AsExpected) => {
                    *slot = members.next_value_seed(self)?;
                    continue;
                }
                Some(Name::Other(name)) => Some(name),
                None => None,
            };
            shape.was_wrong.set(true);
            return Ok((map.into_iter().take(filled).collect(), other));
        }
        Ok((map, members.next_key()?))
    }
}

/// Reads the name of a member, which is likely to be this one.
struct Expected<'a>(&'a str);

enum Name {
    AsExpected,
    Other(String),
}

impl<'de> DeserializeSeed<'de> for Expected<'_> {
    type Value = Name;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Name, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Expected<'_> {
    type Value = Name;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string key")
    }

    fn visit_str<E>(self, name: &str) -> Result<Name, E> {
        Ok(if name == self.0 { Name::AsExpected } else { Name::Other(name.to_owned()) })
    }
}
