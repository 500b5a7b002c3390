//! Whole traces and single spans, as the texts they came as.

use rusqlite::{Connection, OptionalExtension, Row};
use serde_json::Value;

use super::super::failure::Outcome;
use super::super::readers::at_once;
use super::super::walk;
use super::ids::stored_id;
use super::ingest::{PLACE_BITS, usage_at};
use super::query::{StoredSpan, TraceSummary};
use super::torn::{TORN_NAME, span_text, text};
use super::{TraceError, TraceStore, damage, list};

impl TraceStore {
    /// A trace as a list shows it.
    ///
    /// # Errors
    ///
    /// If the store does not work.
    pub async fn summary(&self, trace_id: &str) -> Result<Option<TraceSummary>, TraceError> {
        let (id, health) = (stored_id(trace_id), self.0.health.clone());
        let read = move |connection: &Connection| {
            let found = list::summary(connection, &id);
            health.or_else(&id, found, || list::summary_of(connection, &id))
        };
        self.look(trace_id, read).await
    }

    /// The whole trace: the JSON of a [`TraceData`](oxikit_wire::trace::TraceData), its
    /// spans as they came.
    ///
    /// # Errors
    ///
    /// If the store does not work.
    pub async fn get(&self, trace_id: &str) -> Result<Option<String>, TraceError> {
        let (id, health) = (stored_id(trace_id), self.0.health.clone());
        let read = move |connection: &Connection| {
            health.or_else(&id, trace(connection, &id), || damaged_trace(connection, &id))
        };
        self.look(trace_id, read).await
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
        let health = self.0.health.clone();
        let read = move |connection: &Connection| {
            health.or_else(&of_trace, span(connection, &of_trace, &id), || {
                let spans = damaged_spans(connection, &of_trace)?;
                Ok(spans.into_iter().find(|span| span.span_id == id))
            })
        };
        self.look(trace_id, read).await
    }

    /// The spans of a trace in the order of their arrival; none if there is no such
    /// trace.
    ///
    /// # Errors
    ///
    /// If the store does not work.
    pub async fn spans(&self, trace_id: &str) -> Result<Vec<StoredSpan>, TraceError> {
        let (id, health) = (stored_id(trace_id), self.0.health.clone());
        let read = move |connection: &Connection| {
            health.or_else(&id, spans(connection, &id), || damaged_spans(connection, &id))
        };
        self.look(trace_id, read).await
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

/// As much of it as can be read, of a damaged database.
fn damaged_trace(connection: &Connection, id: &str) -> Outcome<Option<String>> {
    let Some(number) = damage::number_of(connection, id)? else { return Ok(None) };
    let sql = "SELECT name, start, end FROM traces NOT INDEXED WHERE number = ?1";
    let read = |row: &Row<'_>| {
        let (start, end) = (row.get(1).unwrap_or_default(), row.get(2).unwrap_or_default());
        Ok(opening(id, &text(row, 0), start, end))
    };
    let found = walk::row(connection, sql, [number], read)?.flatten();
    let mut json = found.unwrap_or_else(|| opening(id, TORN_NAME, 0.0, None));
    for span in damage::spans(connection, number)? {
        push_span(&mut json, &span.span_id, &span.json);
    }
    json.push_str("}}");
    Ok(Some(json))
}

fn damaged_spans(connection: &Connection, trace: &str) -> Outcome<Vec<StoredSpan>> {
    let number = damage::number_of(connection, trace)?;
    number.map_or(Ok(Vec::new()), |number| damage::spans(connection, number))
}

/// What [`stored_span`] reads.
pub(super) const SPAN_COLUMNS: &str =
    "s.id, s.json, s.input_tokens, s.output_tokens, s.total_tokens, s.cost";

/// One span.
fn span(connection: &Connection, trace: &str, id: &str) -> Outcome<Option<StoredSpan>> {
    let sql = format!(
        "SELECT {SPAN_COLUMNS} FROM traces t JOIN spans s ON s.trace = t.number
         WHERE t.id = ?1 AND s.id = ?2"
    );
    Ok(connection.prepare_cached(&sql)?.query_row((trace, id), stored_span).optional()?)
}

/// The spans of a trace in the order of their arrival.
fn spans(connection: &Connection, trace: &str) -> Outcome<Vec<StoredSpan>> {
    let sql = format!(
        "SELECT {SPAN_COLUMNS} FROM traces t JOIN spans s ON s.trace = t.number
         WHERE t.id = ?1 ORDER BY s.number"
    );
    let mut select = connection.prepare_cached(&sql)?;
    let spans = select.query_map([trace], stored_span)?;
    Ok(spans.collect::<Result<_, _>>()?)
}

pub(super) fn stored_span(row: &Row<'_>) -> rusqlite::Result<StoredSpan> {
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
