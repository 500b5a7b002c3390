//! Reads complete traces and single spans, as the JSON texts that were posted.

use oxikit_wire::trace::TraceWriter;
use rusqlite::{Connection, OptionalExtension, Row};

use super::ids::stored_id;
use super::query::{StoredSpan, TraceSummary};
use super::span_rows::{SPAN_COLUMNS, numbers, stored_span};
use super::torn::{TORN_NAME, span_text, text};
use super::{TraceError, TraceStore, damage, list};
use oxikit_sqlite::at_once;
use oxikit_sqlite::failure::Outcome;
use oxikit_sqlite::walk;

impl TraceStore {
    /// A trace as a list shows it: its status, its times and its sums. `None` if there is none
    /// with this id.
    ///
    /// # Errors
    ///
    /// If the store does not work. A trace of which only a part can be read is not an error.
    pub async fn summary(&self, trace_id: &str) -> Result<Option<TraceSummary>, TraceError> {
        let (id, health) = (stored_id(trace_id), self.0.health.clone());
        let read = move |connection: &Connection| {
            let found = list::summary(connection, &id);
            health.or_else(&id, found, || list::summary_of(connection, &id))
        };
        self.look(trace_id, read).await
    }

    /// The whole trace: the JSON of a [`TraceData`](oxikit_wire::trace::TraceData), with its
    /// spans as they were posted. `None` if there is none with this id. A span that cannot be
    /// read, because the file is damaged, is replaced by one that says so.
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

    /// The whole trace, to be passed on to other people: values that look like secrets are
    /// redacted, also those of traces that were stored raw.
    ///
    /// # Errors
    ///
    /// If the store does not work.
    pub async fn export(&self, trace_id: &str) -> Result<Option<String>, TraceError> {
        let trace = self.get(trace_id).await?;
        Ok(trace.map(|json| oxikit_core::redact::json_text(&json).into_owned()))
    }

    /// One span; `None` if there is none with this id.
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

    /// The spans of a trace in the order of their arrival; none if there is no such trace. A span
    /// that was posted twice, at its start and at its end, is there once.
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
            Ok((row.get::<_, i64>(0)?, TraceWriter::new(id, &text(row, 1), start, end)))
        };
        let found = connection.prepare_cached(sql)?.query_row([id], read).optional()?;
        let Some((number, mut trace)) = found else { return Ok(None) };
        let sql = "SELECT id, json FROM spans WHERE number BETWEEN ?1 AND ?2 ORDER BY number";
        // The trace is put together from the texts of its spans, in the order of their arrival.
        let mut select = connection.prepare_cached(sql)?;
        let mut rows = select.query(numbers(number))?;
        while let Some(row) = rows.next()? {
            let id = text(row, 0);
            trace.add_span(&id, &span_text(row, 1, &id));
        }
        Ok(Some(trace.finish()))
    })
}

/// The readable part of a trace of a damaged database.
fn damaged_trace(connection: &Connection, id: &str) -> Outcome<Option<String>> {
    let Some(number) = damage::number_of(connection, id)? else { return Ok(None) };
    let sql = "SELECT name, start, end FROM traces NOT INDEXED WHERE number = ?1";
    let read = |row: &Row<'_>| {
        let (start, end) = (row.get(1).unwrap_or_default(), row.get(2).unwrap_or_default());
        Ok(TraceWriter::new(id, &text(row, 0), start, end))
    };
    let found = walk::row(connection, sql, [number], read)?.flatten();
    let mut trace = found.unwrap_or_else(|| TraceWriter::new(id, TORN_NAME, 0.0, None));
    for span in damage::spans(connection, number)? {
        trace.add_span(&span.span_id, &span.json);
    }
    Ok(Some(trace.finish()))
}

/// The spans of a trace of a damaged database.
fn damaged_spans(connection: &Connection, trace: &str) -> Outcome<Vec<StoredSpan>> {
    let number = damage::number_of(connection, trace)?;
    number.map_or(Ok(Vec::new()), |number| damage::spans(connection, number))
}

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
