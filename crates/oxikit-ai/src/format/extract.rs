//! Extracts the output of a format from the text of a model.

use serde_json::Value;

use super::first_value::first_value;
use super::scan::{ArrayScanner, LineScanner};

/// The complete objects of an array; of an array without objects, its items.
pub(super) fn array(text: &str) -> Value {
    let objects = ArrayScanner::default().push(text);
    if objects.is_empty()
        && let Some(array @ Value::Array(_)) = first_value(text)
    {
        return array;
    }
    Value::from(objects)
}

/// The objects of all lines.
pub(super) fn lines(text: &str) -> Value {
    let mut scanner = LineScanner::default();
    let mut objects = scanner.push(text);
    objects.extend(scanner.end_line());
    Value::from(objects)
}

/// The one word, without quotes around it.
pub(super) fn word(text: &str) -> Value {
    let word = text.replace(['\'', '"'], "");
    match word.trim() {
        "" => Value::Null,
        word => Value::from(word),
    }
}
