//! Reads evaluation cases from files. The JSON text of each case is kept unchanged, so that
//! numbers and the order of members stay exact.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::Path;

use serde::Serialize;
use serde_json::value::RawValue;

use super::failure::Failure;
use oxikit_local::untrusted_file::read_named;

/// The source of the cases, as the API of the developer tools takes it.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DataSource {
    dataset_id: Option<String>,
    data: Option<Vec<Box<RawValue>>>,
}

impl DataSource {
    /// Interprets the argument as a JSON array, a file, or the id of a dataset.
    pub(super) fn of(data: &str) -> Result<Self, Failure> {
        if data.trim_start().starts_with('[') {
            let cases = cases(data).map_err(|error| refuse("the data", &error))?;
            return Ok(Self { data: Some(cases), dataset_id: None });
        }
        let path = Path::new(data);
        let is_file = path.is_file() || [".json", ".jsonl"].iter().any(|end| data.ends_with(end));
        match is_file {
            true => Self::of_file(path),
            false => Ok(Self { dataset_id: Some(data.to_owned()), data: None }),
        }
    }

    pub(super) fn of_file(path: &Path) -> Result<Self, Failure> {
        Ok(Self { data: Some(read_cases(path)?), dataset_id: None })
    }
}

/// Reads the cases of a file.
pub(super) fn read_cases(path: &Path) -> Result<Vec<Box<RawValue>>, Failure> {
    let name = path.display().to_string();
    let text = read_named(path).map_err(|error| refuse(&name, &error))?;
    cases(&text).map_err(|error| refuse(&name, &error))
}

fn refuse(what: &str, error: &dyn Display) -> Failure {
    Failure::usage(format!("{what}: {error}; expected a JSON array, or one JSON value per line"))
}

/// Parses a JSON array, or one value per line. Either all values are cases, or all are inputs.
fn cases(text: &str) -> Result<Vec<Box<RawValue>>, String> {
    let values: Vec<Box<RawValue>> = match serde_json::from_str(text) {
        Ok(values) => values,
        // Text that begins with `[` is an array with a mistake, not a list of lines.
        Err(error) if text.trim_start().starts_with('[') => return Err(error.to_string()),
        Err(_) => {
            let lines = text.lines().filter(|line| !line.trim().is_empty());
            let read = |line: &str| serde_json::from_str(line).map_err(|error| error.to_string());
            lines.map(read).collect::<Result<_, _>>()?
        }
    };
    match values.iter().filter(|value| is_case(value)).count() {
        0 => values.iter().map(|input| case_of(input)).collect(),
        count if count == values.len() => Ok(values),
        _ => Err("some values have an `input` and some do not".to_owned()),
    }
}

fn is_case(value: &RawValue) -> bool {
    let members = serde_json::from_str::<BTreeMap<String, &RawValue>>(value.get());
    members.is_ok_and(|members| members.contains_key("input"))
}

fn case_of(input: &RawValue) -> Result<Box<RawValue>, String> {
    let case = format!("{{\"input\":{}}}", input.get());
    RawValue::from_string(case).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Value) {
        let cases = serde_json::to_string(&cases(text).unwrap()).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&cases).unwrap(), expected);
    }

    #[test]
    fn cases_and_inputs_are_distinguished() {
        check(r#"[{"input":1,"reference":2}]"#, json!([{"input": 1, "reference": 2}]));
        check(r#"[{"name":"A"},"b"]"#, json!([{"input": {"name": "A"}}, {"input": "b"}]));
        check("\"a\"\n\n7\n", json!([{"input": "a"}, {"input": 7}]));
        check("{\"input\":1}\n{\"input\":2}", json!([{"input": 1}, {"input": 2}]));
        check("[]", json!([]));
        for bad in [r#"[{"input":1},2]"#, "[1", "{", "Ada"] {
            assert!(cases(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn data_is_an_array_a_file_or_a_data_set() {
        let text = |data| serde_json::to_string(&DataSource::of(data).unwrap()).unwrap();
        // To the last digit.
        let exact = r#"{"datasetId":null,"data":[{"input":12345678901234567890.50}]}"#;
        assert_eq!(text(" [12345678901234567890.50]"), exact);
        assert_eq!(text("questions"), r#"{"datasetId":"questions","data":null}"#);
        assert!(DataSource::of("missing.jsonl").is_err());
    }
}
