//! Deserializers for members that must be JSON objects. serde also reads a list into a struct,
//! by the order of the fields, which is not part of any API.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};

/// Reads a JSON object, and nothing else, into a struct. For `#[serde(deserialize_with)]`.
///
/// # Errors
///
/// If the value is not an object or cannot be read into `T`.
pub fn object<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Object::deserialize(deserializer).map(|Object(value)| value)
}

/// Reads a list of JSON objects.
///
/// # Errors
///
/// If the value is not a list, or one of its items is not an object that can be read into `T`.
pub fn objects<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let objects = Vec::<Object<T>>::deserialize(deserializer)?;
    Ok(objects.into_iter().map(|Object(value)| value).collect())
}

/// Reads a list of JSON objects, or `null`.
///
/// # Errors
///
/// Those of [`objects`].
pub fn some_objects<'de, D, T>(deserializer: D) -> Result<Option<Vec<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let objects = Option::<Vec<Object<T>>>::deserialize(deserializer)?;
    Ok(objects.map(|objects| objects.into_iter().map(|Object(value)| value).collect()))
}

/// Reads a JSON object, or `null`.
///
/// # Errors
///
/// Those of [`object`].
pub fn some_object<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Ok(Option::<Object<T>>::deserialize(deserializer)?.map(|Object(value)| value))
}

/// A value that is read from an object only. It works for texts and for buffered values.
struct Object<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Members<T> {
            type Value = T;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<T, A::Error> {
                T::deserialize(MapAccessDeserializer::new(members))
            }
        }
        deserializer.deserialize_map(Members(PhantomData)).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;

    #[derive(Debug, serde::Deserialize)]
    struct Outer {
        #[serde(deserialize_with = "object")]
        one: Inner,
        #[serde(default, deserialize_with = "some_objects")]
        more: Option<Vec<Inner>>,
    }

    #[derive(Debug, serde::Deserialize)]
    struct Inner {
        #[serde(default)]
        raw: Option<Box<RawValue>>,
    }

    #[track_caller]
    fn check(text: &str, expected: Result<&str, &str>) {
        let read = serde_json::from_str::<Outer>(text).map_err(|error| error.to_string());
        let raw = read.map(|outer| {
            let all = std::iter::once(&outer.one).chain(outer.more.iter().flatten());
            all.filter_map(|inner| inner.raw.as_deref()).map(RawValue::get).collect::<String>()
        });
        match expected {
            Ok(expected) => assert_eq!(raw.as_deref(), Ok(expected), "{text}"),
            Err(part) => assert!(raw.as_ref().is_err_and(|it| it.contains(part)), "{text} {raw:?}"),
        }
    }

    #[test]
    fn a_list_is_not_an_object_and_raw_values_are_unchanged() {
        check(r#"{"one":{"raw": 1.50 }}"#, Ok("1.50"));
        check(r#"{"one":{},"more":[{"raw":[1, 2]},{}]}"#, Ok("[1, 2]"));
        check(r#"{"one":{},"more":null}"#, Ok(""));
        check(r#"{"one":[1]}"#, Err("expected an object"));
        check(r#"{"one":null}"#, Err("expected an object"));
        check(r#"{"one":{},"more":[[1]]}"#, Err("expected an object"));
    }
}
