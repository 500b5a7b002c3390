//! The conditions of a query, as SQL. Values are always parameters and never part of the SQL.

use rusqlite::types::Value;

/// Conditions, and the values of their parameters.
#[derive(Debug, Default)]
pub(super) struct Conditions {
    /// The conditions, of which all must be true.
    pub(super) sql: Vec<String>,
    /// The values of `?1`, `?2` and so on.
    pub(super) parameters: Vec<Value>,
}

impl Conditions {
    /// Adds a condition.
    pub(super) fn add(&mut self, sql: String) {
        self.sql.push(sql);
    }

    /// Adds a parameter and returns its name in SQL.
    pub(super) fn parameter(&mut self, value: Value) -> String {
        self.parameters.push(value);
        format!("?{}", self.parameters.len())
    }

    /// Adds a comparison with a value, if there is one.
    pub(super) fn compare(&mut self, sql: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            let parameter = self.parameter(value.into());
            self.add(format!("{sql} {parameter}"));
        }
    }
}
