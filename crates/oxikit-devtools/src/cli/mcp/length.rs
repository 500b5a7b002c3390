//! Long values, cut: a model pays for every word it reads.

use serde_json::{Value, json};

/// Results of runs are cut behind so many characters, unless more are asked for.
pub(super) const RESULT_LENGTH: usize = 20_000;
/// Inputs and outputs of each span of a trace, the same.
pub(super) const SPAN_LENGTH: usize = 1_000;

/// The value, or its beginning: `{"cut": true, "length", "text"}`, where the length is
/// that of all of it in bytes and the text is its JSON so far.
pub(super) fn cut(value: Value, max: usize) -> Value {
    let text = match &value {
        Value::Null | Value::Bool(_) | Value::Number(_) => return value,
        Value::String(text) if text.len() <= max => return value,
        Value::String(text) => text.clone(),
        value => value.to_string(),
    };
    if text.len() <= max {
        return value;
    }
    let beginning: String = text.chars().take(max).collect();
    json!({"cut": true, "length": text.len(), "text": beginning})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_long_values_are_cut() {
        for short in [json!(null), json!(123_456), json!("four"), json!([1]), json!({})] {
            assert_eq!(cut(short.clone(), 4), short);
        }
        let long = json!({"cut": true, "length": 9, "text": "äöü"});
        assert_eq!(cut(json!("äöüabc"), 3), long);
        let long = json!({"cut": true, "length": 5, "text": "[1,2"});
        assert_eq!(cut(json!([1, 2]), 4), long);
    }
}
