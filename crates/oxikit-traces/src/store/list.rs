//! Lists of traces.
//!
//! The newest page costs the same however many traces there are: the rows come from
//! an index in the order of the list, and reading ends with the page.

use oxikit_wire::attribute;
use oxikit_wire::trace::SpanAttributes;
use rusqlite::types::Value;
use rusqlite::{Connection, Row, params_from_iter};

use super::TraceError;
use super::blocks::Bounds;
use super::conditions::Conditions;
use super::damage;
use super::ingest::PLACE_BITS;
use super::members::{Cut, cut};
use super::query::{TracePage, TraceQuery, TraceStatus, TraceSummary};
use super::torn::{TORN_NAME, span_text, text, torn_span};
use super::{TokenUsage, words};
use oxikit_sqlite::damage::Damage;
use oxikit_sqlite::failure::Outcome;
use oxikit_sqlite::walk;

/// Maximum number of traces per page. A larger limit is reduced to it.
const MAX_PAGE: usize = 1000;
/// Maximum length in characters of an attribute in a list. Longer ones are cut.
const MAX_SHOWN: usize = 1000;

/// The columns of a trace's own row.
const OWN_COLUMNS: &str = "t.number, t.id, t.name, t.type, t.start, t.end, t.state, t.session,
     t.spans, t.dropped, t.input_tokens, t.output_tokens, t.total_tokens, t.cost";

/// A prepared query.
#[derive(Debug)]
pub(super) struct ListQuery {
    sql: String,
    parameters: Vec<Value>,
    /// Maximum number of traces of the page.
    limit: usize,
    /// If the rows are looked for in blocks; then the last two parameters are the numbers
    /// between which they are.
    bounds: Option<Bounds>,
    /// For [one trace at a time](Self::run_each).
    query: TraceQuery,
    /// Only traces with a smaller number: the page continues there.
    before: Option<i64>,
}

/// The table or index that the rows are read from.
enum Source {
    /// The index of words.
    Words,
    /// The index of labels.
    Labels,
    /// The table of traces itself.
    Traces,
}

impl ListQuery {
    /// Prepares a query; `None` if it cannot match any trace.
    pub(super) fn new(query: &TraceQuery) -> Result<Option<Self>, TraceError> {
        let before = position(query.after.as_deref())?;
        let mut conditions = Conditions::default();
        let mut labels = labels_of(query);
        let source = match &query.text {
            Some(text) => {
                let Some(wanted) = words::wanted(text) else { return Ok(None) };
                conditions.compare("words MATCH", Some(wanted));
                conditions.compare("w.rowid <", before.map(|number| number << PLACE_BITS));
                Source::Words
            }
            None if labels.is_empty() => {
                conditions.compare("t.number <", before);
                Source::Traces
            }
            None => {
                let (name, value) = labels.remove(0);
                conditions.compare("l.name =", Some(name.to_owned()));
                conditions.compare("l.value =", Some(value.to_owned()));
                conditions.compare("l.trace <", before);
                Source::Labels
            }
        };
        add_labels(&labels, &mut conditions);
        add_columns(query, &mut conditions);
        // A search by words or by a label reads its own index, and not the blocks.
        let bounds = Bounds::of(query).filter(|_| matches!(source, Source::Traces));
        if bounds.is_some() {
            let [first, last] = [0, i64::MAX].map(|end| conditions.parameter(Value::Integer(end)));
            conditions.add(format!("t.number BETWEEN {first} AND {last}"));
        }
        let sql = source.select(&conditions.sql);
        let (limit, query) = (query.limit.min(MAX_PAGE), query.clone());
        Ok(Some(Self { sql, parameters: conditions.parameters, limit, bounds, query, before }))
    }

    /// Reads a page. A query that is limited by time or duration reads one range of traces after
    /// the other, until the page is full.
    pub(super) fn run(&self, connection: &Connection) -> Outcome<TracePage> {
        let (mut page, mut last) = (TracePage::default(), None);
        let Some(bounds) = &self.bounds else {
            self.fill((&mut page, &mut last), connection, &self.parameters)?;
            return Ok(page);
        };
        let mut parameters = self.parameters.clone();
        let place = parameters.len() - 2;
        for (from, to) in bounds.ranges(connection)? {
            // The range has only traces of earlier pages.
            if self.before.is_some_and(|before| before <= from) {
                continue;
            }
            parameters[place..].clone_from_slice(&[from.into(), to.into()]);
            if self.fill((&mut page, &mut last), connection, &parameters)? {
                break;
            }
        }
        Ok(page)
    }

    /// Adds matching traces to a page until it is full, and keeps the number of the last
    /// trace. Returns whether there are more.
    fn fill(
        &self,
        (page, last): (&mut TracePage, &mut Option<i64>),
        connection: &Connection,
        parameters: &[Value],
    ) -> Outcome<bool> {
        let mut select = connection.prepare_cached(&self.sql)?;
        let mut rows = select.query(params_from_iter(parameters))?;
        while let Some(row) = rows.next()? {
            let number: i64 = row.get(0)?;
            // Several spans of a trace may match; they are adjacent, so that comparing with
            // the last number removes duplicates.
            if *last == Some(number) {
                continue;
            }
            if page.traces.len() == self.limit {
                page.next = last.map(token);
                return Ok(true);
            }
            page.traces.push(read_any(row, Root::of(row)));
            *last = Some(number);
        }
        Ok(false)
    }

    /// The same for a damaged database: one trace at a time, so that those that cannot be
    /// read do not hide the others. They are named.
    pub(super) fn run_each(&self, connection: &Connection) -> Outcome<TracePage> {
        let mut conditions = Conditions::default();
        add_labels(&labels_of(&self.query), &mut conditions);
        add_columns(&self.query, &mut conditions);
        let number = conditions.parameter(Value::Null);
        conditions.add(format!("t.number = {number}"));
        let sql = format!(
            "SELECT {OWN_COLUMNS}, t.head FROM traces t NOT INDEXED WHERE {}",
            conditions.sql.join(" AND ")
        );
        let mut parameters = conditions.parameters;
        let with_words = self.query.text.as_deref().and_then(words::wanted);
        let with_words = with_words.map(|wanted| words::search(connection, &wanted)).transpose()?;
        let known = damage::traces(connection)?;
        let mut page = TracePage::default();
        let mut lost = Damage::new(known.is_whole);
        let before = self.before.unwrap_or(i64::MAX);
        let mut last = None;
        for (number, id) in known.ids.range(..before).rev() {
            if with_words.as_ref().is_some_and(|numbers| !numbers.contains(number)) {
                continue;
            }
            *parameters.last_mut().expect("the number is the last") = Value::Integer(*number);
            let read = |row: &Row<'_>| {
                let root = Root::find(connection, row.get(14)?);
                Ok(read_any(row, root))
            };
            match walk::row(connection, &sql, params_from_iter(&parameters), read)? {
                // One match more than fits: there is another page.
                Some(Some(_)) if page.traces.len() == self.limit => {
                    page.next = last.map(token);
                    break;
                }
                Some(Some(trace)) => page.traces.push(trace),
                Some(None) => {}
                None => lost.add(id.clone().unwrap_or_else(|| format!("number {number}"))),
            }
            last = Some(*number);
        }
        page.damage = lost.into_option();
        Ok(page)
    }
}

impl Source {
    /// The query of this source. `CROSS JOIN` fixes the order in which SQLite reads the tables,
    /// so that the rows come in the order of the list without sorting.
    fn select(&self, conditions: &[String]) -> String {
        let (from, order) = match self {
            Self::Words => {
                ("words w CROSS JOIN traces t ON t.number = (w.rowid >> 20)", "w.rowid DESC")
            }
            Self::Labels => ("labels l CROSS JOIN traces t ON t.number = l.trace", "l.trace DESC"),
            Self::Traces => ("traces t", "t.number DESC"),
        };
        let conditions = match conditions {
            [] => String::new(),
            conditions => format!("WHERE {}", conditions.join(" AND ")),
        };
        format!(
            "SELECT {OWN_COLUMNS}, s.id, s.json FROM {from}
             CROSS JOIN spans s ON s.number = t.head {conditions} ORDER BY {order}"
        )
    }
}

/// The labels that a trace must have.
fn labels_of(query: &TraceQuery) -> Vec<(&str, &str)> {
    let session = query.session_id.as_deref().map(|session| (attribute::SESSION_ID, session));
    let runtime = query.runtime.as_deref().map(|runtime| (attribute::RUNTIME, runtime));
    let labels = query.labels.iter().map(|(name, value)| (&**name, &**value));
    // The first one is looked up in the index: a session has fewer traces than a runtime.
    session.into_iter().chain(labels).chain(runtime).collect()
}

/// Adds a condition for each label.
fn add_labels(labels: &[(&str, &str)], conditions: &mut Conditions) {
    for (name, value) in labels {
        let name = conditions.parameter(Value::Text((*name).to_owned()));
        let value = conditions.parameter(Value::Text((*value).to_owned()));
        conditions.add(format!(
            "EXISTS (SELECT 1 FROM labels WHERE trace = t.number AND name = {name} AND value = {value})"
        ));
    }
}

/// Adds the conditions on columns of the trace.
fn add_columns(query: &TraceQuery, conditions: &mut Conditions) {
    conditions.compare("t.name =", query.name.clone());
    conditions.compare("t.type =", query.kind.clone());
    conditions.compare("t.start >=", query.started_from);
    conditions.compare("t.start <", query.started_before);
    conditions.compare("t.end - t.start >=", query.min_duration);
    conditions.compare("t.end - t.start <=", query.max_duration);
    if let Some(status) = query.status {
        // Not a parameter: SQLite uses a partial index (failed, running) only for a constant.
        let state = match status {
            TraceStatus::Running => 0,
            TraceStatus::Success => 1,
            TraceStatus::Error => 2,
        };
        conditions.add(format!("t.state = {state}"));
    }
    if let Some(filter) = &query.filter {
        filter.add_to(conditions);
    }
}

/// The trace number before which a page continues; `None` for the first page.
pub(super) fn position(after: Option<&str>) -> Result<Option<i64>, TraceError> {
    let Some(token) = after else { return Ok(None) };
    let number = token.strip_prefix('t').and_then(|number| i64::from_str_radix(number, 16).ok());
    let number = number.filter(|number| (0..1 << 42).contains(number));
    let wrong =
        || TraceError::Query("the continuation token does not belong to this list".to_owned());
    number.map(Some).ok_or_else(wrong)
}

/// The continuation token for the traces before this number.
pub(super) fn token(number: i64) -> String {
    format!("t{number:x}")
}

/// One trace, as a list shows it.
pub(super) fn summary(connection: &Connection, id: &str) -> Outcome<Option<TraceSummary>> {
    let sql = format!(
        "SELECT {OWN_COLUMNS}, s.id, s.json FROM traces t JOIN spans s ON s.number = t.head
         WHERE t.id = ?1"
    );
    let mut select = connection.prepare_cached(&sql)?;
    let mut rows = select.query([id])?;
    Ok(rows.next()?.map(|row| read_any(row, Root::of(row))))
}

/// One trace of a damaged database, as much of it as can be read.
pub(super) fn summary_of(connection: &Connection, id: &str) -> Outcome<Option<TraceSummary>> {
    let Some(number) = damage::number_of(connection, id)? else { return Ok(None) };
    let sql = format!("SELECT {OWN_COLUMNS}, t.head FROM traces t NOT INDEXED WHERE t.number = ?1");
    let read = |row: &Row<'_>| Ok(read_any(row, Root::find(connection, row.get(14)?)));
    let found = walk::row(connection, &sql, [number], read)?;
    Ok(found.unwrap_or_else(|| Some(lost(id))))
}

/// The span that a list shows of a trace.
struct Root {
    id: String,
    /// Its attributes cut.
    json: String,
}

impl Root {
    /// In the last two columns.
    fn of(row: &Row<'_>) -> Self {
        let id = text(row, 14).into_owned();
        Self { json: short(&span_text(row, 15, &id)), id }
    }

    /// Of a damaged database.
    fn find(connection: &Connection, number: i64) -> Self {
        let sql = "SELECT id, json FROM spans NOT INDEXED WHERE number = ?1";
        let read = |row: &Row<'_>| {
            let id = text(row, 0).into_owned();
            Ok(Self { json: short(&span_text(row, 1, &id)), id })
        };
        let found = walk::row(connection, sql, [number], read).ok().flatten().flatten();
        found.unwrap_or_else(|| Self { id: "?".to_owned(), json: torn_span("?") })
    }
}

/// The trace of a row. A row that is torn gives as much as can be read.
fn read_any(row: &Row<'_>, root: Root) -> TraceSummary {
    let mut trace = read(row).unwrap_or_else(|_| read_torn(row));
    (trace.root_id, trace.root) = (root.id, root.json);
    trace
}

/// All but the root.
fn read(row: &Row<'_>) -> rusqlite::Result<TraceSummary> {
    Ok(TraceSummary {
        trace_id: row.get(1)?,
        name: row.get(2)?,
        kind: row.get(3)?,
        start: row.get(4)?,
        end: row.get(5)?,
        status: match row.get(6)? {
            0 => TraceStatus::Running,
            1 => TraceStatus::Success,
            _ => TraceStatus::Error,
        },
        session_id: row.get(7)?,
        spans: row.get(8)?,
        dropped_spans: row.get(9)?,
        usage: TokenUsage {
            input_tokens: row.get(10)?,
            output_tokens: row.get(11)?,
            total_tokens: row.get(12)?,
            cost: row.get(13)?,
        },
        root: String::new(),
        root_id: String::new(),
    })
}

/// The readable columns of a trace whose row is torn.
fn read_torn(row: &Row<'_>) -> TraceSummary {
    TraceSummary {
        start: row.get(4).unwrap_or_default(),
        end: row.get(5).unwrap_or_default(),
        spans: row.get(8).unwrap_or_default(),
        dropped_spans: row.get(9).unwrap_or_default(),
        ..lost(&text(row, 1))
    }
}

/// A trace of which only the id is known.
fn lost(id: &str) -> TraceSummary {
    TraceSummary {
        trace_id: id.to_owned(),
        name: TORN_NAME.to_owned(),
        kind: None,
        start: 0.0,
        end: None,
        status: TraceStatus::Error,
        session_id: None,
        spans: 0,
        dropped_spans: 0,
        usage: TokenUsage::default(),
        root_id: "?".to_owned(),
        root: torn_span("?"),
    }
}

/// The span with its attributes cut.
fn short(json: &str) -> String {
    let attributes = match json.len() {
        0..=MAX_SHOWN => None,
        _ => serde_json::from_str::<SpanAttributes<'_>>(json).ok(),
    };
    attributes
        .and_then(|span| cut(json, &span.attributes, Cut::Characters(MAX_SHOWN)))
        .unwrap_or_else(|| json.to_owned())
}
