//! Spans as rows of their table.

use rusqlite::Row;

use super::ingest::{PLACE_BITS, usage_at};
use super::query::StoredSpan;
use super::torn::{span_text, text};

/// The columns that [`stored_span`] reads, of the table `s`.
pub(super) const SPAN_COLUMNS: &str =
    "s.id, s.json, s.input_tokens, s.output_tokens, s.total_tokens, s.cost";

/// Reads a span. A text that was overwritten is replaced by a placeholder.
pub(super) fn stored_span(row: &Row<'_>) -> rusqlite::Result<StoredSpan> {
    let span_id = text(row, 0).into_owned();
    let json = span_text(row, 1, &span_id).into_owned();
    Ok(StoredSpan { span_id, json, usage: usage_at(row, 2)? })
}

/// The first and the last number that spans of a trace can have.
pub(super) fn numbers(trace: i64) -> (i64, i64) {
    (trace << PLACE_BITS, ((trace + 1) << PLACE_BITS) - 1)
}
