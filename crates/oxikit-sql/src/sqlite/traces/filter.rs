//! The filter of the official tools, as conditions of SQL.

use std::collections::BTreeMap;

use rusqlite::types::Value;
use serde::{Deserialize, Serialize};

use super::TraceError;
use super::list::Conditions;

/// Comparisons by the name of a field: `id`, `type`, `name`, `start`, `end`, `status`
/// (a number, or `UNKNOWN`), or a label such as `genkitx:env`. All must be true.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceFilter {
    /// Equal to the value, or to one of them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub eq: BTreeMap<String, FilterValues>,
    /// Equal to none of them; true if there is no such field.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub neq: BTreeMap<String, FilterValues>,
    /// Greater.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub gt: BTreeMap<String, f64>,
    /// Greater or equal.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub gte: BTreeMap<String, f64>,
    /// Less.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub lt: BTreeMap<String, f64>,
    /// Less or equal.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub lte: BTreeMap<String, f64>,
    /// Has this text in it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub contains: BTreeMap<String, String>,
}

/// What a field is compared with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum FilterValues {
    /// This.
    One(FilterValue),
    /// One of these.
    Any(Vec<FilterValue>),
}

/// A text or a number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum FilterValue {
    /// A text.
    Text(String),
    /// A number.
    Number(f64),
}

/// More values than that are no question but an attack.
const MAX_VALUES: usize = 1000;

impl TraceFilter {
    /// Reads the JSON of a filter.
    ///
    /// # Errors
    ///
    /// If it is none; the text says what is wrong.
    pub fn from_json(json: &str) -> Result<Self, TraceError> {
        // A list would do for serde, too.
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

    pub(super) fn add_to(&self, conditions: &mut Conditions) {
        for (name, values) in &self.eq {
            let field = Field::of(name, conditions);
            let list = field.list(values, conditions);
            conditions.add(format!("{} IN ({list})", field.sql));
        }
        for (name, values) in &self.neq {
            let field = Field::of(name, conditions);
            let list = field.list(values, conditions);
            conditions.add(format!("COALESCE({} NOT IN ({list}), 1)", field.sql));
        }
        let compared = [(&self.gt, ">"), (&self.gte, ">="), (&self.lt, "<"), (&self.lte, "<=")];
        for (fields, operator) in compared {
            for (name, number) in fields {
                let field = Field::of(name, conditions);
                let number = conditions.parameter(Value::Real(*number));
                // Else every text would be greater than every number.
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
    fn all(&self) -> &[FilterValue] {
        match self {
            Self::One(value) => std::slice::from_ref(value),
            Self::Any(values) => values,
        }
    }
}

/// What stands for a field.
struct Field {
    sql: String,
    /// Labels are texts, whatever they were.
    is_label: bool,
}

impl Field {
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
