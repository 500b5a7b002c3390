//! JSON values and times as protobuf has them (`google.protobuf`).

use oxikit_core::timestamp;
use oxikit_wire::JsonObject;
use oxikit_wire::a2a::A2aError;
use serde_json::{Number, Value};

/// The integers of JSON that a `double` holds exactly.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// A JSON object. Its map is written as the list of entries that it is on the wire, so that the
/// order of the members is kept.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Struct {
    #[prost(message, repeated, tag = "1")]
    fields: Vec<Field>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Field {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(message, optional, tag = "2")]
    value: Option<ProtoValue>,
}

/// Any JSON value.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct ProtoValue {
    #[prost(oneof = "Kind", tags = "1, 2, 3, 4, 5, 6")]
    kind: Option<Kind>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum Kind {
    /// The number of the only value of an enum.
    #[prost(int32, tag = "1")]
    Null(i32),
    #[prost(double, tag = "2")]
    Number(f64),
    #[prost(string, tag = "3")]
    Text(String),
    #[prost(bool, tag = "4")]
    Bool(bool),
    #[prost(message, tag = "5")]
    Object(Struct),
    #[prost(message, tag = "6")]
    List(List),
}

#[derive(Clone, PartialEq, prost::Message)]
struct List {
    #[prost(message, repeated, tag = "1")]
    values: Vec<ProtoValue>,
}

impl From<&JsonObject> for Struct {
    fn from(object: &JsonObject) -> Self {
        let field =
            |(key, value): (&String, &Value)| Field { key: key.clone(), value: Some(value.into()) };
        Self { fields: object.iter().map(field).collect() }
    }
}

impl From<&Value> for ProtoValue {
    fn from(value: &Value) -> Self {
        let kind = match value {
            Value::Null => Kind::Null(0),
            Value::Bool(value) => Kind::Bool(*value),
            // Every number of JSON is a `double` here: integers beyond 2^53 are rounded.
            Value::Number(number) => Kind::Number(number.as_f64().unwrap_or_default()),
            Value::String(text) => Kind::Text(text.clone()),
            Value::Array(values) => {
                Kind::List(List { values: values.iter().map(Into::into).collect() })
            }
            Value::Object(object) => Kind::Object(object.into()),
        };
        Self { kind: Some(kind) }
    }
}

impl TryFrom<Struct> for JsonObject {
    type Error = A2aError;

    fn try_from(object: Struct) -> Result<Self, A2aError> {
        let field = |Field { key, value }| Ok((key, value.unwrap_or_default().try_into()?));
        object.fields.into_iter().map(field).collect()
    }
}

impl TryFrom<ProtoValue> for Value {
    type Error = A2aError;

    fn try_from(value: ProtoValue) -> Result<Self, A2aError> {
        Ok(match value.kind {
            None | Some(Kind::Null(_)) => Self::Null,
            Some(Kind::Bool(value)) => Self::Bool(value),
            Some(Kind::Number(number)) => Self::Number(json_number(number)?),
            Some(Kind::Text(text)) => Self::String(text),
            Some(Kind::Object(object)) => Self::Object(object.try_into()?),
            Some(Kind::List(list)) => {
                let values: Result<_, A2aError> =
                    list.values.into_iter().map(TryInto::try_into).collect();
                Self::Array(values?)
            }
        })
    }
}

/// Integers become integers again, because JSON writes `1` and `1.0` differently.
fn json_number(number: f64) -> Result<Number, A2aError> {
    if number.fract() == 0.0 && number.abs() <= EXACT {
        #[expect(clippy::cast_possible_truncation, reason = "checked to be in the range of i64")]
        return Ok((number as i64).into());
    }
    Number::from_f64(number)
        .ok_or_else(|| A2aError::invalid_params("a number in a JSON value is not finite"))
}

/// A JSON object that may be missing.
pub(crate) fn object(object: Option<Struct>) -> Result<Option<JsonObject>, A2aError> {
    object.map(TryInto::try_into).transpose()
}

/// A time in UTC.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(crate) struct Timestamp {
    #[prost(int64, tag = "1")]
    seconds: i64,
    #[prost(int32, tag = "2")]
    nanos: i32,
}

impl Timestamp {
    /// `None` if the text is not a time after 1970.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let millis = timestamp::parse_millis(text)?;
        let seconds = i64::try_from(millis / 1000).ok()?;
        let nanos = i32::try_from(millis % 1000).ok()? * 1_000_000;
        Some(Self { seconds, nanos })
    }

    /// RFC 3339 with milliseconds; `None` if it is not a time between 1970 and the year 9999.
    pub(crate) fn text(self) -> Option<String> {
        let seconds = u64::try_from(self.seconds).ok()?;
        let millis = u64::try_from(self.nanos / 1_000_000).ok()?;
        timestamp::from_millis(seconds.checked_mul(1000)?.checked_add(millis)?)
    }
}
