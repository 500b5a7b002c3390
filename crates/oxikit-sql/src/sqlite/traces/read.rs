//! Whole traces and single spans, as the texts they came as.

use rusqlite::{Connection, OptionalExtension, Row};
use serde_json::Value;

use super::super::failure::Outcome;
use super::super::readers::at_once;
use super::ids::stored_id;
use super::ingest::{PLACE_BITS, usage_at};
use super::query::{StoredSpan, TraceSummary};
use super::torn::{span_text, text};
use super::{TraceError, TraceStore, list};

impl TraceStore {
    /// A trace as a list shows it.
    ///
    /// # Errors
    ///
    /// If the store does not work.
    pub async fn summary(&self, trace_id: &str) -> Result<Option<TraceSummary>, TraceError> {
        let id = stored_id(trace_id);
        self.look(trace_id, move |connection| list::summary(connection, &id)).await
    }

    /// The whole trace: the JSON of a [`TraceData`](oxikit_wire::trace::TraceData), its
    /// spans as they came.
    ///
    /// # Errors
    ///
    /// If the store does not work.
    pub async fn get(&self, trace_id: &str) -> Result<Option<String>, TraceError> {
        let id = stored_id(trace_id);
        self.look(trace_id, move |connection| trace(connection, &id)).await
    }

    /// The same for somebody else to read: without what looks like a secret.
    ///
    /// # Errors
    ///
    /// If the store does not work.
    pub async fn export(&self, trace_id: &str) -> Result<Option<String>, TraceError> {
        let trace = self.get(trace_id).await?;
        Ok(trace.map(|json| oxikit_core::redact::json_text(&json).into_owned()))
    }

    /// One span.
    ///
    /// # Errors
    ///
    /// If the store does not work.
    pub async fn span(
        &self,
        trace_id: &str,
        span_id: &str,
    ) -> Result<Option<StoredSpan>, TraceError> {
        let (of_trace, id) = (stored_id(trace_id), span_id.to_owned());
        self.look(trace_id, move |connection| span(connection, &of_trace, &id)).await
    }

    /// The spans of a trace in the order of their arrival; none if there is no such
    /// trace.
    ///
    /// # Errors
    ///
    /// If the store does not work.
    pub async fn spans(&self, trace_id: &str) -> Result<Vec<StoredSpan>, TraceError> {
        let id = stored_id(trace_id);
        self.look(trace_id, move |connection| spans(connection, &id)).await
    }
}

/// The JSON of a trace, put together of the texts of its spans.
fn trace(connection: &Connection, id: &str) -> Outcome<Option<String>> {
    at_once(connection, || {
        let sql = "SELECT number, name, start, end FROM traces WHERE id = ?1";
        let read = |row: &Row<'_>| {
            let (start, end) = (row.get(2).unwrap_or_default(), row.get(3).unwrap_or_default());
            Ok((row.get::<_, i64>(0)?, opening(id, &text(row, 1), start, end)))
        };
        let found = connection.prepare_cached(sql)?.query_row([id], read).optional()?;
        let Some((number, mut json)) = found else { return Ok(None) };
        let sql = "SELECT id, json FROM spans WHERE number BETWEEN ?1 AND ?2 ORDER BY number";
        let mut select = connection.prepare_cached(sql)?;
        let mut rows = select.query(numbers(number))?;
        while let Some(row) = rows.next()? {
            let id = text(row, 0);
            push_span(&mut json, &id, &span_text(row, 1, &id));
        }
        json.push_str("}}");
        Ok(Some(json))
    })
}

/// One span.
fn span(connection: &Connection, trace: &str, id: &str) -> Outcome<Option<StoredSpan>> {
    let sql = "SELECT s.id, s.json, s.input_tokens, s.output_tokens, s.total_tokens, s.cost
         FROM traces t JOIN spans s ON s.trace = t.number WHERE t.id = ?1 AND s.id = ?2";
    Ok(connection.prepare_cached(sql)?.query_row((trace, id), stored_span).optional()?)
}

/// The spans of a trace in the order of their arrival.
fn spans(connection: &Connection, trace: &str) -> Outcome<Vec<StoredSpan>> {
    let sql = "SELECT s.id, s.json, s.input_tokens, s.output_tokens, s.total_tokens, s.cost
         FROM traces t JOIN spans s ON s.trace = t.number WHERE t.id = ?1 ORDER BY s.number";
    let mut select = connection.prepare_cached(sql)?;
    let spans = select.query_map([trace], stored_span)?;
    Ok(spans.collect::<Result<_, _>>()?)
}

fn stored_span(row: &Row<'_>) -> rusqlite::Result<StoredSpan> {
    let span_id = text(row, 0).into_owned();
    let json = span_text(row, 1, &span_id).into_owned();
    Ok(StoredSpan { span_id, json, usage: usage_at(row, 2)? })
}

/// The numbers of the spans of a trace, from and to.
pub(super) fn numbers(trace: i64) -> (i64, i64) {
    (trace << PLACE_BITS, ((trace + 1) << PLACE_BITS) - 1)
}

/// The JSON of a trace up to its first span.
pub(super) fn opening(id: &str, name: &str, start: f64, end: Option<f64>) -> String {
    format!(
        r#"{{"traceId":{},"displayName":{},"startTime":{},"endTime":{},"spans":{{"#,
        Value::from(id),
        Value::from(name),
        time(start),
        time(end.unwrap_or_default()),
    )
}

/// Adds a span to the JSON of a trace.
pub(super) fn push_span(json: &mut String, id: &str, span: &str) {
    if !json.ends_with('{') {
        json.push(',');
    }
    json.push_str(&Value::from(id).to_string());
    json.push(':');
    json.push_str(span);
}

/// Whole milliseconds without a fraction, as runtimes write them.
fn time(milliseconds: f64) -> Value {
    if milliseconds.fract() == 0.0 && milliseconds.abs() < 1e15 {
        Value::from(milliseconds as i64)
    } else {
        Value::from(milliseconds)
    }
}
