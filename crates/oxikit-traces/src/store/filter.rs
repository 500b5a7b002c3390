//! The filter of the official tools, as conditions of SQL.

use std::collections::BTreeMap;

use rusqlite::types::Value;
use serde::{Deserialize, Serialize};

use super::TraceError;
use super::conditions::Conditions;

/// Comparisons by the name of a field: `id`, `type`, `name`, `start`, `end`, `status` (a number,
/// or `UNKNOWN`), or a label such as `genkitx:env`. All must be true. It is the filter of the
/// official tools' API.
///
/// ```
/// use oxikit_traces::TraceFilter;
///
/// let filter = TraceFilter::from_json(
///     r#"{"eq": {"type": ["flow", "agent"]}, "gte": {"start": 1700000000000}}"#,
/// )?;
/// assert_eq!(filter.gte["start"], 1_700_000_000_000.0);
/// assert!(TraceFilter::from_json(r#"{"like": {"name": "gr%"}}"#).is_err());
/// # Ok::<(), oxikit_traces::TraceError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceFilter {
    /// Equal to the value, or to one of them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub eq: BTreeMap<String, FilterValues>,
    /// Equal to none of them; true if there is no such field.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub neq: BTreeMap<String, FilterValues>,
    /// Greater than the number. A text is never greater.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub gt: BTreeMap<String, f64>,
    /// Greater than the number, or equal.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub gte: BTreeMap<String, f64>,
    /// Less than the number. A text is never less.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub lt: BTreeMap<String, f64>,
    /// Less than the number, or equal.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub lte: BTreeMap<String, f64>,
    /// Contains this text; upper and lower case differ.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub contains: BTreeMap<String, String>,
}

/// The values that a field is compared with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum FilterValues {
    /// One value.
    One(FilterValue),
    /// Several values, of which one must be equal.
    Any(Vec<FilterValue>),
}

/// A value that a field is compared with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum FilterValue {
    /// A text, compared exactly.
    Text(String),
    /// A number. Labels are stored as texts, so it is compared with their text.
    Number(f64),
}

/// Maximum number of values in a filter. A filter with more is rejected.
const MAX_VALUES: usize = 1000;

impl TraceFilter {
    /// Reads the JSON of a filter.
    ///
    /// # Errors
    ///
    /// If the JSON is not a valid filter; the text says why.
    pub fn from_json(json: &str) -> Result<Self, TraceError> {
        // Derived `Deserialize` would accept a JSON array, too.
        let read = |json| serde_json::from_str::<serde_json::Map<_, _>>(json);
        let filter: Self = read(json)
            .and_then(|members| serde_json::from_value(members.into()))
            .map_err(|error| TraceError::Query(format!("the filter cannot be read: {error}")))?;
        let values = filter.eq.values().chain(filter.neq.values()).map(|values| values.all().len());
        let numbers = [&filter.gt, &filter.gte, &filter.lt, &filter.lte];
        let others = numbers.iter().map(|fields| fields.len()).sum::<usize>();
        if values.sum::<usize>() + others + filter.contains.len() > MAX_VALUES {
            let text = format!("the filter has more than {MAX_VALUES} values");
            return Err(TraceError::Query(text));
        }
        Ok(filter)
    }

    /// Adds the comparisons to the conditions of a query.
    pub(super) fn add_to(&self, conditions: &mut Conditions) {
        for (name, values) in &self.eq {
            let field = Field::of(name, conditions);
            let list = field.list(values, conditions);
            conditions.add(format!("{} IN ({list})", field.sql));
        }
        for (name, values) in &self.neq {
            let field = Field::of(name, conditions);
            let list = field.list(values, conditions);
            // A missing field is NULL, and `NULL NOT IN (…)` is NULL and not true.
            conditions.add(format!("COALESCE({} NOT IN ({list}), 1)", field.sql));
        }
        let compared = [(&self.gt, ">"), (&self.gte, ">="), (&self.lt, "<"), (&self.lte, "<=")];
        for (fields, operator) in compared {
            for (name, number) in fields {
                let field = Field::of(name, conditions);
                let number = conditions.parameter(Value::Real(*number));
                // In SQLite every text is greater than every number.
                let sql = &field.sql;
                conditions.add(format!("typeof({sql}) <> 'text' AND {sql} {operator} {number}"));
            }
        }
        for (name, text) in &self.contains {
            let field = Field::of(name, conditions);
            let text = conditions.parameter(Value::Text(text.clone()));
            conditions.add(format!("INSTR({}, {text}) > 0", field.sql));
        }
    }
}

impl FilterValues {
    /// The values as a list.
    fn all(&self) -> &[FilterValue] {
        match self {
            Self::One(value) => std::slice::from_ref(value),
            Self::Any(values) => values,
        }
    }
}

/// The SQL expression of a field.
struct Field {
    sql: String,
    /// Labels are stored as texts, whatever type their attribute had.
    is_label: bool,
}

impl Field {
    /// The column of a field, or the value of a label of that name.
    fn of(name: &str, conditions: &mut Conditions) -> Self {
        let sql = match name {
            "id" => "t.id",
            "type" => "COALESCE(t.type, 'UNKNOWN')",
            "name" => "t.name",
            "start" => "t.start",
            "end" => "t.end",
            "status" => "COALESCE(t.code, 'UNKNOWN')",
            _ => {
                let name = conditions.parameter(Value::Text(name.to_owned()));
                let sql =
                    format!("(SELECT value FROM labels WHERE trace = t.number AND name = {name})");
                return Self { sql, is_label: true };
            }
        };
        Self { sql: sql.to_owned(), is_label: false }
    }

    /// The values as a list of parameters.
    fn list(&self, values: &FilterValues, conditions: &mut Conditions) -> String {
        let parameter = |value: &FilterValue| {
            conditions.parameter(match value {
                FilterValue::Text(text) => Value::Text(text.clone()),
                FilterValue::Number(number) if self.is_label => Value::Text(number.to_string()),
                FilterValue::Number(number) => Value::Real(*number),
            })
        };
        values.all().iter().map(parameter).collect::<Vec<_>>().join(", ")
    }
}
