//! Values between callers and actions: JSON text, or a typed value that can be written as JSON.
//!
//! The two representations avoid work at the borders. Text from a network is parsed straight into the
//! input type of the action. A value of this process is moved to the next action without JSON at all,
//! if the types are the same. This module does not check schemas; the module `check` does.

use std::any::{Any, TypeId};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::ser::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use oxikit_wire::number;

use crate::{Status, tree};

/// An input, output or chunk between a caller and an action.
///
/// A payload holds either JSON text as it was received, or a typed value of this process. Text is
/// parsed once, straight into the requested type. A typed value is moved out unchanged if the type
/// matches, and written as JSON only when a reader outside of the process needs it. Cloning is cheap:
/// it copies a reference.
///
/// An action whose input or output is a `Payload` passes it on without parsing it.
///
/// ```
/// use oxikit_core::Payload;
///
/// let received = Payload::from_json("[1, 2]")?;
/// assert_eq!(received.parse::<Vec<u8>>()?, [1, 2]);
///
/// let typed = Payload::of(vec![3_u8]);
/// assert_eq!(typed.to_value()?, serde_json::json!([3]));
/// # Ok::<(), oxikit_core::Status>(())
/// ```
#[derive(Clone)]
pub struct Payload(Repr);

#[derive(Clone)]
enum Repr {
    Json(Bytes),
    Value(Arc<dyn AnyValue>),
}

impl Payload {
    /// Takes a typed value; nothing is serialised yet. A `Payload` is returned as it is.
    pub fn of<T: Serialize + Send + Sync + 'static>(value: T) -> Self {
        match try_cast::<T, Self>(value) {
            Ok(payload) => payload,
            Err(value) => Self(Repr::Value(Arc::new(value))),
        }
    }

    /// Takes JSON text, after a check that it is well-formed. The text itself is kept, with its
    /// white space and its order of members.
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT` if the text is not valid JSON.
    pub fn from_json(text: impl Into<Bytes>) -> Result<Self, Status> {
        let text = text.into();
        serde_json::from_slice::<&RawValue>(&text)
            .map_err(|error| Status::invalid_argument(format!("not valid JSON: {error}")))?;
        Ok(Self(Repr::Json(text)))
    }

    /// Takes JSON text that a parser has already accepted as `raw`. When `raw`
    /// is a slice of `buffer`, nothing is copied.
    pub fn from_raw(buffer: &Bytes, raw: &RawValue) -> Self {
        let raw = raw.get().as_bytes();
        let (own, whole) = (raw.as_ptr_range(), buffer.as_ptr_range());
        // `raw` may come from another allocation, for example when the parser had to copy. Both
        // ends are compared, because `buffer` may itself be a slice of what was parsed.
        let inside = whole.start <= own.start && own.end <= whole.end;
        Self(Repr::Json(if inside { buffer.slice_ref(raw) } else { Bytes::copy_from_slice(raw) }))
    }

    /// Reads a tree for an action that [takes one](crate::Action::takes_tree), while the surrounding
    /// text is parsed; so the text is parsed only once. May fail where
    /// [`to_value`](Self::to_value) of the text does not: then use the text.
    ///
    /// # Errors
    ///
    /// If the text is not valid JSON, or a tree would change it.
    pub fn read_tree<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        tree::deserialize(deserializer).map(Self::of)
    }

    /// The JSON `null`.
    pub fn null() -> Self {
        Self(Repr::Json(Bytes::from_static(b"null")))
    }

    /// Whether this is the JSON text `null`. Typed values are not examined.
    pub(crate) fn is_null(&self) -> bool {
        matches!(&self.0, Repr::Json(text) if text.trim_ascii() == b"null")
    }

    /// Reads the value as a `T`. A mismatch is an `INTERNAL` error of the reading code; the action
    /// has checked the input of callers before.
    ///
    /// ```
    /// use oxikit_core::{Payload, StatusCode};
    ///
    /// let output = Payload::of("ready".to_owned());
    /// assert_eq!(output.clone().parse::<String>()?, "ready");
    /// assert_eq!(output.parse::<u32>().unwrap_err().code(), StatusCode::Internal);
    /// # Ok::<(), oxikit_core::Status>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `INTERNAL` if the value is not a `T`.
    pub fn parse<T: DeserializeOwned + 'static>(self) -> Result<T, Status> {
        self.try_parse().map_err(Status::from)
    }

    pub(crate) fn try_parse<T: DeserializeOwned + 'static>(self) -> Result<T, serde_json::Error> {
        let json = match self.downcast::<T>() {
            Ok(value) => return Ok(value),
            Err(payload) => payload.to_json()?,
        };
        if TypeId::of::<T>() == TypeId::of::<Value>() {
            return tree::from_slice(&json).map(same_type);
        }
        number::from_slice(&json)
    }

    /// The typed value itself, if it is a `T` (or if `T` is `Payload`).
    pub(crate) fn downcast<T: 'static>(self) -> Result<T, Self> {
        let payload = match try_cast::<Self, T>(self) {
            Ok(value) => return Ok(value),
            Err(payload) => payload,
        };
        match payload.0 {
            Repr::Json(text) => Err(Self(Repr::Json(text))),
            Repr::Value(value) => {
                let mut slot: Option<T> = None;
                match value.take_into(&mut slot) {
                    // `Ok` means that the slot was filled, so the fallback is never used.
                    Ok(()) => slot.ok_or_else(Self::null),
                    Err(value) => Err(Self(Repr::Value(value))),
                }
            }
        }
    }

    /// Bytes that count against the limit of a queue. Of a typed value this is only the size of its
    /// type, not of its heap data: measuring that would cost as much as writing it.
    pub(crate) fn weight(&self) -> usize {
        match &self.0 {
            Repr::Json(text) => text.len(),
            Repr::Value(value) => value.weight(),
        }
    }

    /// Takes a value as JSON text.
    pub(crate) fn encode<T: Serialize + 'static>(value: T) -> Result<Self, serde_json::Error> {
        match try_cast::<T, Self>(value) {
            Ok(payload) => Ok(Self(Repr::Json(payload.to_json()?))),
            Err(value) => Ok(Self(Repr::Json(serde_json::to_vec(&value)?.into()))),
        }
    }

    /// The value as a tree. Text that a tree would change is refused: repeated members and
    /// numbers that would be rounded, see [`check_exact`](crate::check_exact).
    ///
    /// # Errors
    ///
    /// `INTERNAL` if the value cannot be written as JSON, or a tree would change it.
    pub fn to_value(&self) -> Result<Value, Status> {
        self.try_to_value().map_err(Status::from)
    }

    pub(crate) fn try_to_value(&self) -> Result<Value, serde_json::Error> {
        match &self.0 {
            Repr::Json(text) => tree::from_slice(text),
            Repr::Value(value) => match value.as_any().downcast_ref::<Value>() {
                Some(value) => Ok(value.clone()),
                None => tree::from_slice(&self.to_json()?),
            },
        }
    }

    /// The value as JSON text. Free of cost for a payload that holds text.
    ///
    /// # Errors
    ///
    /// If the value cannot be written as JSON.
    pub fn to_json(&self) -> Result<Bytes, serde_json::Error> {
        match &self.0 {
            Repr::Json(text) => Ok(text.clone()),
            Repr::Value(value) => {
                let mut out = Vec::new();
                value.write_json(&mut out)?;
                Ok(out.into())
            }
        }
    }

    /// Appends the value as JSON text, without a buffer of its own.
    ///
    /// # Errors
    ///
    /// If the value cannot be written as JSON; part of it may have been appended.
    pub fn write_json(&self, out: &mut Vec<u8>) -> Result<(), serde_json::Error> {
        match &self.0 {
            Repr::Json(text) => {
                out.extend_from_slice(text);
                Ok(())
            }
            Repr::Value(value) => value.write_json(out),
        }
    }
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.to_json() {
            Ok(json) => f.write_str(&String::from_utf8_lossy(&json)),
            Err(error) => write!(f, "<{error}>"),
        }
    }
}

impl Serialize for Payload {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let json = self.to_json().map_err(S::Error::custom)?;
        serde_json::from_slice::<&RawValue>(&json).map_err(S::Error::custom)?.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Payload {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw: Box<str> = Box::<RawValue>::deserialize(deserializer)?.into();
        Ok(Self(Repr::Json(String::from(raw).into())))
    }
}

impl JsonSchema for Payload {
    fn schema_name() -> Cow<'static, str> {
        "Payload".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        true.into()
    }
}

/// A value of any type that can be written as JSON.
trait AnyValue: Send + Sync {
    fn write_json(&self, out: &mut Vec<u8>) -> Result<(), serde_json::Error>;

    fn as_any(&self) -> &dyn Any;

    fn weight(&self) -> usize;

    /// Moves the value into `slot`, an `Option` of its type. Fails when the slot
    /// is of another type, or when another clone still holds the value.
    fn take_into(self: Arc<Self>, slot: &mut dyn Any) -> Result<(), Arc<dyn AnyValue>>;
}

impl<T: Serialize + Send + Sync + 'static> AnyValue for T {
    fn write_json(&self, out: &mut Vec<u8>) -> Result<(), serde_json::Error> {
        serde_json::to_writer(out, self)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn weight(&self) -> usize {
        size_of::<T>()
    }

    fn take_into(self: Arc<Self>, slot: &mut dyn Any) -> Result<(), Arc<dyn AnyValue>> {
        let Some(slot) = slot.downcast_mut::<Option<T>>() else {
            return Err(self);
        };
        // A shared value is not cloned here, as `T` need not be `Clone`. The caller falls back to
        // JSON, which is correct for every type, only slower.
        *slot = Some(Arc::try_unwrap(self).map_err(|shared| shared as Arc<dyn AnyValue>)?);
        Ok(())
    }
}

/// `value` as the type `To`, which the caller has compared with `From` by [`TypeId`].
pub(crate) fn same_type<From: 'static, To: 'static>(value: From) -> To {
    try_cast(value).unwrap_or_else(|_| unreachable!("the types were compared"))
}

/// `value` itself when both types are the same.
fn try_cast<From: 'static, To: 'static>(value: From) -> Result<To, From> {
    let mut value = Some(value);
    match (&mut value as &mut dyn Any).downcast_mut::<Option<To>>().and_then(Option::take) {
        Some(value) => Ok(value),
        None => Err(value.expect("the value stays where it is unless it was taken above")),
    }
}
