//! Cases out of files.

use std::fmt::Display;
use std::path::Path;

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::failure::Failure;

/// Where the cases of an evaluation come from: an array, a file or a data set, as the
/// tools want to hear it.
pub(super) fn data_source(data: &str) -> Result<Value, Failure> {
    if data.trim_start().starts_with('[') {
        let cases = cases(data).map_err(|error| refuse("the data", &error))?;
        return Ok(json!({"data": cases}));
    }
    let path = Path::new(data);
    let is_file = path.is_file() || [".json", ".jsonl"].iter().any(|end| data.ends_with(end));
    if is_file { Ok(json!({"data": read_cases(path)?})) } else { Ok(json!({"datasetId": data})) }
}

/// The cases of a file.
pub(super) fn read_cases(path: &Path) -> Result<Vec<Value>, Failure> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| refuse(&name, &error))?;
    cases(&text).map_err(|error| refuse(&name, &error))
}

fn refuse(what: &str, error: &dyn Display) -> Failure {
    Failure::usage(format!("{what}: {error}; it has to be a JSON array, or one value a line"))
}

/// A JSON array, or one value a line. Each is a case, or all are inputs.
fn cases(text: &str) -> Result<Vec<Value>, String> {
    let values: Vec<Value> = match serde_json::from_str(text) {
        Ok(values) => values,
        // What begins as an array is a broken one.
        Err(error) if text.trim_start().starts_with('[') => return Err(error.to_string()),
        Err(_) => {
            let lines = text.lines().filter(|line| !line.trim().is_empty());
            let read = |line: &str| serde_json::from_str(line).map_err(|error| error.to_string());
            lines.map(read).collect::<Result<_, _>>()?
        }
    };
    let is_case = |value: &Value| value.as_object().is_some_and(|case| case.contains_key("input"));
    match values.iter().filter(|value| is_case(value)).count() {
        0 => Ok(values.into_iter().map(|input| json!({"input": input})).collect()),
        count if count == values.len() => Ok(values),
        _ => Err("some values have an `input` and some have not".to_owned()),
    }
}

/// An option of the command line that is JSON, as a member of a request.
pub(super) fn set(members: &mut Map<String, Value>, name: &str, json: Option<Box<RawValue>>) {
    if let Some(value) = json.and_then(|json| serde_json::from_str(json.get()).ok()) {
        members.insert(name.to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Value) {
        assert_eq!(Value::from(cases(text).unwrap()), expected);
    }

    #[test]
    fn cases_and_inputs_are_told_apart() {
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
        assert_eq!(data_source(" [1]").unwrap(), json!({"data": [{"input": 1}]}));
        assert_eq!(data_source("questions").unwrap(), json!({"datasetId": "questions"}));
        assert!(data_source("missing.jsonl").is_err());
    }
}
