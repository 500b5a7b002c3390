//! Rows that were written over by something else: they are shown as what they are, and
//! all others are served.

use std::borrow::Cow;

use rusqlite::Row;
use rusqlite::types::ValueRef;
use serde::de::IgnoredAny;
use serde_json::json;

/// What a record is called whose name cannot be read.
pub(super) const TORN_NAME: &str = "(a torn record)";

/// The text of a column, as far as it is one.
pub(super) fn text<'a>(row: &'a Row<'_>, column: usize) -> Cow<'a, str> {
    match row.get_ref(column) {
        Ok(ValueRef::Text(bytes) | ValueRef::Blob(bytes)) => String::from_utf8_lossy(bytes),
        _ => Cow::Borrowed("?"),
    }
}

/// The JSON of a span, or of one that says that the record is torn.
pub(super) fn span_text<'a>(row: &'a Row<'_>, column: usize, id: &str) -> Cow<'a, str> {
    let text = row.get_ref(column).ok().and_then(|value| value.as_str().ok());
    let whole = text.filter(|text| serde_json::from_str::<IgnoredAny>(text).is_ok());
    whole.map_or_else(|| Cow::Owned(torn_span(id)), Cow::Borrowed)
}

/// Stands in the place of a span that cannot be read.
pub(super) fn torn_span(id: &str) -> String {
    json!({
        "spanId": id,
        "traceId": "",
        "displayName": TORN_NAME,
        "startTime": 0,
        "endTime": 0,
        "spanKind": "INTERNAL",
        "attributes": {"oxikit:torn": true},
        "instrumentationLibrary": {"name": "oxikit"},
        "status": {"code": 2, "message": "this record of the trace database is torn"},
    })
    .to_string()
}
