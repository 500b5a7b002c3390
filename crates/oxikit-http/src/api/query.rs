//! The query of a URL, read into the type that also describes it.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use oxikit_core::Status;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::StrDeserializer;
use serde::de::{self, DeserializeOwned, DeserializeSeed, Deserializer, IntoDeserializer, Visitor};
use serde::{Deserialize, forward_to_deserialize_any};

use crate::error::HttpError;

/// Extracts the query into a struct. Unknown parameters are ignored, unless the type refuses
/// them; a value that cannot be read is answered with 400 and the name of its parameter. If a
/// parameter that is not a list occurs twice, its first value is used.
///
/// ```
/// use oxikit_http::api::{Limit, Query};
///
/// #[derive(serde::Deserialize)]
/// struct Page {
///     limit: Option<Limit<200>>,
/// }
///
/// async fn list(Query(page): Query<Page>) -> String {
///     page.limit.map_or(20, |Limit(limit)| limit).to_string()
/// }
/// # let _: axum::Router = axum::Router::new().route("/", axum::routing::get(list));
/// ```
#[derive(Debug)]
pub struct Query<T>(pub T);

impl<T: DeserializeOwned, S: Sync> FromRequestParts<S> for Query<T> {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, HttpError> {
        parse(parts.uri.query().unwrap_or_default()).map(Self).map_err(HttpError::from)
    }
}

/// Reads a query. A deserializer of our own, because the errors of the usual ones do not name the
/// parameter, and because a repeated parameter has to be readable as a list.
fn parse<T: DeserializeOwned>(query: &str) -> Result<T, Status> {
    let mut members: Vec<Member<'_>> = Vec::new();
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        match members.iter_mut().find(|member| member.name == name) {
            Some(member) => member.values.push(value),
            None => members.push(Member { name, values: vec![value] }),
        }
    }
    T::deserialize(Members(members.into_iter()))
        .map_err(|Unreadable(why)| Status::invalid_argument(why))
}

/// The text, or `None` if it is empty: HTML forms also send their empty fields.
pub fn non_empty(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.is_empty())
}

/// Number of entries of a list, from 1 to `MAX`.
#[derive(Debug, Clone, Copy)]
pub struct Limit<const MAX: u32>(pub u32);

impl<'de, const MAX: u32> Deserialize<'de> for Limit<MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let refuse = || de::Error::custom(format!("it is a number from 1 to {MAX}"));
        let limit = u32::deserialize(deserializer).map_err(|_| refuse())?;
        if (1..=MAX).contains(&limit) { Ok(Self(limit)) } else { Err(refuse()) }
    }
}

impl<const MAX: u32> JsonSchema for Limit<MAX> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("LimitTo{MAX}").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "integer", "minimum": 1, "maximum": MAX})
    }
}

/// A duration in seconds, up to a day.
#[derive(Debug, Clone, Copy)]
pub struct Seconds(Duration);

/// The longest duration, in seconds. More are answered with 400.
const MAX_SECONDS: u32 = 24 * 60 * 60;

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let refuse = || de::Error::custom(format!("it is a number from 0 to {MAX_SECONDS}"));
        let seconds = f64::deserialize(deserializer).map_err(|_| refuse())?;
        let is_short = (0.0..=f64::from(MAX_SECONDS)).contains(&seconds);
        if is_short { Ok(Self(Duration::from_secs_f64(seconds))) } else { Err(refuse()) }
    }
}

impl JsonSchema for Seconds {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Seconds".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "number", "minimum": 0, "maximum": MAX_SECONDS})
    }
}

/// Waits for that duration; without one, for ever. It ends a stream that is followed.
pub async fn elapsed(seconds: Option<Seconds>) {
    match seconds {
        Some(Seconds(time)) => tokio::time::sleep(time).await,
        None => std::future::pending().await,
    }
}

/// Why a query cannot be read.
#[derive(Debug)]
struct Unreadable(String);

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unreadable {}

impl de::Error for Unreadable {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }

    /// A type that refuses unknown parameters does so because a misspelled filter would return
    /// too much without an error.
    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        let known = expected.join(", ");
        Self(format!("there is no parameter `{field}`; there are: {known}"))
    }

    fn missing_field(field: &'static str) -> Self {
        Self(format!("the query needs `{field}`: `?{field}=<value>`"))
    }
}

/// A parameter with all its values.
struct Member<'a> {
    name: Cow<'a, str>,
    values: Vec<Cow<'a, str>>,
}

/// The parameters as a map, which serde reads into a struct.
struct Members<'a>(std::vec::IntoIter<Member<'a>>);

impl<'de> Deserializer<'de> for Members<'_> {
    type Error = Unreadable;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        visitor.visit_map(MemberAccess { rest: self.0, current: None })
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
        option unit unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier
        ignored_any
    }
}

/// The state of reading the map: serde asks for a name, then for its value.
struct MemberAccess<'a> {
    rest: std::vec::IntoIter<Member<'a>>,
    current: Option<Member<'a>>,
}

impl<'de> de::MapAccess<'de> for MemberAccess<'_> {
    type Error = Unreadable;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Unreadable> {
        self.current = self.rest.next();
        let Some(member) = &self.current else { return Ok(None) };
        let name: StrDeserializer<'_, Unreadable> = (*member.name).into_deserializer();
        seed.deserialize(name).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, Unreadable> {
        let member = self.current.take().ok_or_else(|| Unreadable("no value".to_owned()))?;
        let name = &member.name;
        seed.deserialize(Values(&member.values))
            .map_err(|Unreadable(why)| Unreadable(format!("`{name}` cannot be read: {why}")))
    }
}

/// The values of a parameter: all of them for a list, else the first.
struct Values<'a>(&'a [Cow<'a, str>]);

impl Values<'_> {
    fn first(&self) -> &str {
        self.0.first().map_or("", |value| value)
    }
}

/// Methods for types that are parsed from the first value; the text says what is expected.
macro_rules! parsed {
    ($($method:ident $visit:ident $what:literal)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unreadable> {
            let refuse = |_| Unreadable($what.to_owned());
            visitor.$visit(self.first().parse().map_err(refuse)?)
        }
    )*};
}

impl<'de> Deserializer<'de> for Values<'_> {
    type Error = Unreadable;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        visitor.visit_str(self.first())
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Unreadable> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        let items = self.0.iter().map(|value| Values(std::slice::from_ref(value)));
        visitor.visit_seq(de::value::SeqDeserializer::new(items))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Unreadable> {
        if !variants.contains(&self.first()) {
            return Err(Unreadable(format!("it is one of {}", variants.join(", "))));
        }
        let text: StrDeserializer<'_, Unreadable> = self.first().into_deserializer();
        text.deserialize_enum(name, variants, visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        visitor.visit_unit()
    }

    parsed! {
        deserialize_bool visit_bool "it is `true` or `false`"
        deserialize_i8 visit_i8 "it is a whole number"
        deserialize_i16 visit_i16 "it is a whole number"
        deserialize_i32 visit_i32 "it is a whole number"
        deserialize_i64 visit_i64 "it is a whole number"
        deserialize_u8 visit_u8 "it is a whole number, not below 0"
        deserialize_u16 visit_u16 "it is a whole number, not below 0"
        deserialize_u32 visit_u32 "it is a whole number, not below 0"
        deserialize_u64 visit_u64 "it is a whole number, not below 0"
    }

    /// Finite numbers only: JSON has neither infinity nor NaN.
    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        let number = self.first().parse().ok().filter(|number: &f64| number.is_finite());
        visitor.visit_f64(number.ok_or_else(|| Unreadable("it is a number".to_owned()))?)
    }

    forward_to_deserialize_any! {
        i128 u128 f32 char str string bytes byte_buf unit unit_struct tuple tuple_struct map
        struct identifier
    }
}

impl<'de> IntoDeserializer<'de, Unreadable> for Values<'_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(rename_all = "camelCase", default)]
    struct Known {
        name: Option<String>,
        max_age: Option<u64>,
        from: Option<f64>,
        is_new: bool,
        kind: Option<Kind>,
        tag: Vec<String>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Kind {
        Flow,
        Model,
    }

    #[track_caller]
    fn check(query: &str, expected: Result<Known, &str>) {
        let found = parse::<Known>(query).map_err(|status| status.message().to_owned());
        assert_eq!(found, expected.map_err(str::to_owned), "{query}");
    }

    #[test]
    fn values_are_read_as_their_types() {
        check("", Ok(Known::default()));
        check("other=1&&x", Ok(Known::default()));
        check("name=a%20b+c", Ok(Known { name: Some("a b c".to_owned()), ..Known::default() }));
        check("name=", Ok(Known { name: Some(String::new()), ..Known::default() }));
        check("maxAge=7&maxAge=x", Ok(Known { max_age: Some(7), ..Known::default() }));
        check(
            "from=-1.5e3&isNew=true",
            Ok(Known { from: Some(-1500.0), is_new: true, ..Known::default() }),
        );
        check(
            "kind=model&tag=a&tag=b",
            Ok(Known {
                kind: Some(Kind::Model),
                tag: vec!["a".to_owned(), "b".to_owned()],
                ..Known::default()
            }),
        );
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        check("maxAge=-1", Err("`maxAge` cannot be read: it is a whole number, not below 0"));
        check("maxAge=", Err("`maxAge` cannot be read: it is a whole number, not below 0"));
        check("from=soon", Err("`from` cannot be read: it is a number"));
        check("from=inf", Err("`from` cannot be read: it is a number"));
        check("isNew=1", Err("`isNew` cannot be read: it is `true` or `false`"));
        check("kind=Flow", Err("`kind` cannot be read: it is one of flow, model"));
    }

    #[test]
    fn a_strict_type_names_what_it_takes() {
        #[derive(Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Strict {
            #[allow(dead_code)]
            session: String,
            #[allow(dead_code)]
            limit: Option<Limit<200>>,
        }
        let refused = |query: &str| parse::<Strict>(query).unwrap_err().message().to_owned();
        assert_eq!(
            refused("sesion=1"),
            "there is no parameter `sesion`; there are: session, limit"
        );
        assert_eq!(refused(""), "the query needs `session`: `?session=<value>`");
        for limit in ["0", "201", "-1", "x", ""] {
            let query = format!("session=a&limit={limit}");
            let expected = "`limit` cannot be read: it is a number from 1 to 200";
            assert_eq!(refused(&query), expected, "{limit}");
        }
        assert!(parse::<Strict>("session=a&limit=200").is_ok());
    }
}
