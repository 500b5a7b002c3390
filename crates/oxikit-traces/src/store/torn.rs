//! Stands in for torn records: rows whose values were overwritten. A list shows them with a
//! placeholder, and serves all others.

use std::borrow::Cow;

use oxikit_wire::attribute;
use oxikit_wire::trace::{InstrumentationLibrary, STATUS_ERROR, SpanData, SpanStatusData};
use rusqlite::Row;
use rusqlite::types::ValueRef;
use serde::de::IgnoredAny;

/// The name of a record whose own name cannot be read.
pub(super) const TORN_NAME: &str = "(a torn record)";

/// The text of a column, with invalid bytes replaced; `?` if it is not a text.
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

/// The placeholder of a span that cannot be read.
pub(super) fn torn_span(id: &str) -> String {
    let attributes = [(attribute::TORN.to_owned(), true.into())];
    let span = SpanData {
        span_id: id.to_owned(),
        display_name: TORN_NAME.to_owned(),
        span_kind: "INTERNAL".to_owned(),
        attributes: attributes.into_iter().collect(),
        instrumentation_library: InstrumentationLibrary {
            name: "oxikit".to_owned(),
            ..InstrumentationLibrary::default()
        },
        status: Some(SpanStatusData {
            code: STATUS_ERROR,
            message: Some("this record of the trace database is torn".to_owned()),
        }),
        ..SpanData::default()
    };
    // Texts and numbers can always be written.
    serde_json::to_string(&span).unwrap_or_default()
}
