//! Cuts long values, because they cost tokens and fill the context of the model.

use serde_json::{Value, json};

/// Default maximum number of characters of the result of a run. Longer results are cut.
pub(super) const RESULT_LENGTH: usize = 20_000;
/// Default maximum number of characters of each input and output in a trace. Longer ones are
/// cut.
pub(super) const SPAN_LENGTH: usize = 1_000;

/// Returns the value, or `{"cut": true, "length", "text"}` if it is too long. `length` is the
/// size of the whole value in bytes, and `text` the beginning of its JSON.
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
    // Characters, not bytes: a cut inside of a character would not be valid UTF-8.
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
