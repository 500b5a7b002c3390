//! Log lines of runtimes. A line is stored as JSON, beside the columns to filter by.

use oxikit_wire::trace::LogRecord;
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use super::ids::stored_id;
use super::{Inner, TraceError, TraceStore};
use oxikit_sqlite::damage::Damage;
use oxikit_sqlite::failure::Outcome;
use oxikit_sqlite::now_ms;
use oxikit_sqlite::walk;
use oxikit_sqlite::writer::Txn;

/// Maximum number of lines per page. A larger limit is reduced to it.
const MAX_PAGE: usize = 1000;

/// A query for log lines, newest first. A line must match all given conditions.
///
/// ```
/// use oxikit_traces::LogQuery;
///
/// // Warnings and errors of one trace.
/// let mut query = LogQuery::default();
/// query.trace_id = Some("0af7651916cd43dd8448eb211c80319c".to_owned());
/// query.min_severity = Some(13);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogQuery {
    /// Maximum number of lines; at most 1,000. The default is 100.
    pub limit: usize,
    /// Continues after a page: its [`next`](LogPage::next).
    pub after: Option<String>,
    /// Only lines of this trace.
    pub trace_id: Option<String>,
    /// Only lines of this span.
    pub span_id: Option<String>,
    /// The lowest severity: 5 is debug, 9 is info, 13 is a warning, 17 an error.
    pub min_severity: Option<i64>,
    /// The severity by name, such as `INFO`, in any case.
    pub severity_text: Option<String>,
}

impl Default for LogQuery {
    fn default() -> Self {
        Self {
            limit: 100,
            after: None,
            trace_id: None,
            span_id: None,
            min_severity: None,
            severity_text: None,
        }
    }
}

/// A part of a list of log lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogPage {
    /// The JSON of each line, a [`LogRecord`], newest first.
    pub logs: Vec<String>,
    /// The token for the next page; `None` if there are no more.
    pub next: Option<String>,
    /// The lines of this page that cannot be read because the file is damaged.
    pub damage: Option<Damage>,
}

impl TraceStore {
    /// Stores log lines. The oldest lines beyond the limits of
    /// [`TraceOptions`](super::TraceOptions) are removed in the background.
    ///
    /// # Errors
    ///
    /// If the store does not work.
    pub async fn add_logs(&self, logs: Vec<LogRecord>) -> Result<(), TraceError> {
        let Inner { options, writer, upkeep, health, .. } = &*self.0;
        let new = |log| NewLog::new(log, options.max_attribute_bytes);
        let logs: Vec<_> = logs.into_iter().map(new).collect::<Result<_, _>>()?;
        upkeep.note_logs(logs.len());
        let write = move |txn: &Txn<'_>| logs.iter().try_for_each(|log| log.write(txn));
        self.change("the logs", write).await?;
        upkeep.schedule(writer, options, health);
        Ok(())
    }

    /// One page of log lines.
    ///
    /// # Errors
    ///
    /// [`Query`](TraceError::Query) if the continuation token is not valid; else if the store
    /// does not work.
    pub async fn logs(&self, query: &LogQuery) -> Result<LogPage, TraceError> {
        let before = position(query)?;
        let (query, health) = (query.clone(), self.0.health.clone());
        let read = move |connection: &Connection| {
            let found = list(connection, &query, before);
            health.or_else("the logs", found, || list_each(connection, &query, before))
        };
        self.look("the logs", read).await
    }
}

/// The columns of a line to be written.
#[derive(Debug)]
struct NewLog {
    trace: Option<String>,
    span: Option<String>,
    severity: i64,
    severity_text: String,
    json: String,
}

impl NewLog {
    /// A text that is longer than `max_bytes` is cut.
    fn new(mut log: LogRecord, max_bytes: usize) -> Result<Self, TraceError> {
        if let Some(body) = log.body.as_str().filter(|body| body.len() > max_bytes) {
            let end = body.floor_char_boundary(max_bytes);
            log.body = format!("{}… [cut, {} bytes]", &body[..end], body.len()).into();
        }
        let json = serde_json::to_string(&log)
            .map_err(|error| TraceError::Post(format!("a log line: {error}")))?;
        let LogRecord { trace_id, span_id, severity_number, severity_text, .. } = log;
        let (trace, span) = (trace_id.as_deref().map(stored_id), span_id.as_deref().map(stored_id));
        Ok(Self { trace, span, severity: severity_number, severity_text, json })
    }

    /// Inserts the line.
    fn write(&self, txn: &Txn<'_>) -> Outcome<()> {
        let Self { trace, span, severity, severity_text, json } = self;
        txn.sql(
            "INSERT INTO logs (trace, span, severity, severity_text, written_at, json)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute((trace, span, severity, severity_text, now_ms(), json))?;
        Ok(())
    }
}

/// The number before which a page continues.
fn position(query: &LogQuery) -> Result<i64, TraceError> {
    let Some(token) = &query.after else { return Ok(i64::MAX) };
    let number = token.strip_prefix('l').and_then(|number| i64::from_str_radix(number, 16).ok());
    number.ok_or_else(|| {
        TraceError::Query("the continuation token does not belong to this list".to_owned())
    })
}

/// The conditions of a query, and the values of their parameters. The first parameter
/// is a number.
fn conditions(query: &LogQuery) -> (String, Vec<Value>) {
    let mut sql = String::new();
    let mut parameters = vec![Value::Null];
    let mut compare = |column: &str, value: Option<Value>| {
        if let Some(value) = value {
            parameters.push(value);
            sql.push_str(&format!(" AND {column} ?{}", parameters.len()));
        }
    };
    compare("trace =", query.trace_id.as_deref().map(stored_id).map(Value::Text));
    compare("span =", query.span_id.as_deref().map(stored_id).map(Value::Text));
    compare("severity >=", query.min_severity.map(Value::Integer));
    compare("severity_text =", query.severity_text.clone().map(Value::Text));
    (sql, parameters)
}

/// The lines of a page.
fn list(connection: &Connection, query: &LogQuery, before: i64) -> Outcome<LogPage> {
    let (conditions, mut parameters) = conditions(query);
    let sql =
        format!("SELECT number, json FROM logs WHERE number < ?1{conditions} ORDER BY number DESC");
    parameters[0] = Value::Integer(before);
    let limit = query.limit.min(MAX_PAGE);
    let mut select = connection.prepare_cached(&sql)?;
    let mut rows = select.query(params_from_iter(&parameters))?;
    let mut page = LogPage::default();
    let mut last = 0_i64;
    while let Some(row) = rows.next()? {
        // One line more than fits: there is another page.
        if page.logs.len() == limit {
            page.next = (limit > 0).then(|| format!("l{last:x}"));
            break;
        }
        last = row.get(0)?;
        page.logs.push(row.get(1)?);
    }
    Ok(page)
}

/// The same for a damaged database: one line at a time.
fn list_each(connection: &Connection, query: &LogQuery, before: i64) -> Outcome<LogPage> {
    let (conditions, mut parameters) = conditions(query);
    let sql = format!("SELECT json FROM logs NOT INDEXED WHERE number = ?1{conditions}");
    let limit = query.limit.min(MAX_PAGE);
    let mut page = LogPage::default();
    let known = walk::numbers(connection, "logs", (0, before.saturating_sub(1)))?;
    let mut lost = Damage::new(known.is_whole);
    let mut last = 0_i64;
    for number in known.found.into_iter().rev() {
        parameters[0] = Value::Integer(number);
        let found = walk::row(connection, &sql, params_from_iter(&parameters), |row| row.get(0))?;
        match found {
            Some(Some(_)) if page.logs.len() == limit => {
                page.next = (limit > 0).then(|| format!("l{last:x}"));
                break;
            }
            Some(Some(json)) => page.logs.push(json),
            Some(None) => {}
            None => lost.add(format!("log line {number}")),
        }
        last = number;
    }
    page.damage = lost.into_option();
    Ok(page)
}
