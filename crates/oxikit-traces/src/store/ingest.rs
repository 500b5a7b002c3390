//! Writes the spans of a post into the tables.
//!
//! The cost of a post depends on its own spans only, and not on the spans that the trace
//! already has: it writes a row per span, and the row of the trace, which holds the sums. A
//! span's number is made of the number of its trace (high bits) and its place in the trace
//! (low bits), so that the spans of a trace are adjacent in the table.

use oxikit_wire::attribute;
use rusqlite::OptionalExtension;

use super::blocks;
use super::post::{NewSpan, Post};
use super::recent_words::RecentWords;
use super::usage::TokenUsage;
use super::words;
use oxikit_sqlite::damage::Health;
use oxikit_sqlite::failure::Outcome;
use oxikit_sqlite::now_ms;
use oxikit_sqlite::writer::Txn;

/// Number of low bits of a span's number that are its place in its trace.
pub(super) const PLACE_BITS: u32 = 20;
/// Maximum number of spans of a trace, whatever the options say. Further ones are counted
/// and not stored.
pub(super) const MAX_SPANS: i64 = (1 << PLACE_BITS) - 1;

/// The result of writing a post.
#[derive(Debug, Default)]
pub(super) struct Written {
    /// Whether the trace was not stored before.
    pub(super) is_new_trace: bool,
    /// The spans that were stored; others were already there, or too many.
    pub(super) stored: Vec<WrittenSpan>,
    /// Number of stored spans whose words are to be indexed.
    pub(super) fresh: usize,
}

/// A span that was stored.
#[derive(Debug, Clone, Copy)]
pub(super) struct WrittenSpan {
    /// Its place in the post.
    pub(super) place: usize,
    /// The number of its row.
    pub(super) number: i64,
    /// Whether it was already stored as one that has ended.
    pub(super) had_ended: bool,
}

/// Stores the spans of a post that are new, or have ended since they were stored.
pub(super) fn write(
    txn: &Txn<'_>,
    post: &Post,
    max_spans: i64,
    recent: &RecentWords,
    health: &Health,
) -> Outcome<Written> {
    let mut written = Written::default();
    if post.spans.is_empty() {
        return Ok(written);
    }
    let found = TraceRow::find(txn, &post.trace)?;
    written.is_new_trace = found.is_none();
    let mut trace = match found {
        Some(trace) => trace,
        None => TraceRow::new(txn)?,
    };
    let mut ended = Runs::default();
    for (place, span) in post.spans.iter().enumerate() {
        let added = trace.add(txn, post, span, max_spans.min(MAX_SPANS))?;
        let Some((number, had_ended)) = added else { continue };
        // The remembered words are outdated, and the new ones are not committed yet.
        recent.take(number);
        written.stored.push(WrittenSpan { place, number, had_ended });
        if span.end > 0.0 {
            written.fresh += 1;
            ended.add(number);
        }
    }
    if !written.stored.is_empty() {
        trace.name_runtime(txn, post)?;
    }
    words::guarded(txn, health, || ended.0.iter().try_for_each(|run| words::note_new(txn, *run)))?;
    trace.write(txn, &post.trace, written.is_new_trace, health)?;
    Ok(written)
}

/// Numbers that follow each other, as their first and their last.
#[derive(Debug, Default)]
struct Runs(Vec<(i64, i64)>);

impl Runs {
    /// Adds a number, which extends the last range or begins a new one.
    fn add(&mut self, number: i64) {
        match self.0.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => self.0.push((number, number)),
        }
    }
}

/// The row of a trace while spans are added.
#[derive(Debug, Default)]
struct TraceRow {
    number: i64,
    /// The number of the span that lists show: the root, or else the first one.
    head: i64,
    /// Whether that span is the root.
    has_root: bool,
    session: Option<String>,
    /// Number of stored spans, which is also the place of the next one.
    spans: i64,
    /// Number of spans beyond the limit.
    dropped: i64,
    /// Sums over the calls of models.
    usage: TokenUsage,
    /// The columns that come from the root, if it was written.
    shown: Option<Shown>,
}

/// The columns of a list that come from the root.
#[derive(Debug)]
struct Shown {
    name: String,
    kind: Option<String>,
    start: f64,
    end: Option<f64>,
    state: i64,
    code: Option<i64>,
}

impl TraceRow {
    /// The row of a stored trace.
    fn find(txn: &Txn<'_>, id: &str) -> Outcome<Option<Self>> {
        let sql = "SELECT number, head, has_root, session, spans, dropped,
                 input_tokens, output_tokens, total_tokens, cost FROM traces WHERE id = ?1";
        let read = |row: &rusqlite::Row<'_>| {
            Ok(Self {
                number: row.get(0)?,
                head: row.get(1)?,
                has_root: row.get(2)?,
                session: row.get(3)?,
                spans: row.get(4)?,
                dropped: row.get(5)?,
                usage: TokenUsage {
                    input_tokens: row.get(6)?,
                    output_tokens: row.get(7)?,
                    total_tokens: row.get(8)?,
                    cost: row.get(9)?,
                },
                shown: None,
            })
        };
        Ok(txn.sql(sql)?.query_row([id], read).optional()?)
    }

    /// A trace that is not stored yet, with the next number.
    fn new(txn: &Txn<'_>) -> Outcome<Self> {
        let sql = "SELECT COALESCE(MAX(number), 0) + 1 FROM traces";
        let number = txn.sql(sql)?.query_row([], |row| row.get(0))?;
        Ok(Self { number, ..Self::default() })
    }

    /// The number of the span, and whether it had ended before; `None` if it is not stored,
    /// because it has ended already, or because there are too many.
    fn add(
        &mut self,
        txn: &Txn<'_>,
        post: &Post,
        span: &NewSpan,
        max_spans: i64,
    ) -> Outcome<Option<(i64, bool)>> {
        let next = (self.number << PLACE_BITS) | self.spans;
        // Most spans are new, so an insert is tried first.
        let is_new = self.spans < max_spans && insert_span(txn, self.number, next, span)?;
        let (number, had_ended) = if is_new {
            self.spans += 1;
            (next, false)
        } else {
            match Known::find(txn, self.number, &span.id)? {
                Some(known) if known.has_ended && span.end <= 0.0 => return Ok(None),
                Some(known) => {
                    self.usage.subtract(&known.usage);
                    update_span(txn, known.number, span)?;
                    (known.number, known.has_ended)
                }
                None => {
                    self.dropped += 1;
                    return Ok(None);
                }
            }
        };
        self.usage.add(&span.usage.unwrap_or_default());
        // The first session that a span names is kept.
        self.session = self.session.take().or_else(|| span.session.clone());
        for (name, value) in &span.labels {
            self.label(txn, name, value)?;
        }
        let is_first = self.spans == 1 && is_new;
        // The head is the first span until a root arrives, which posts may send last. A root that
        // is posted again, at its end, updates the columns.
        if is_first || number == self.head || (span.is_root && !self.has_root) {
            self.head = number;
            self.has_root = span.is_root;
            self.shown = Some(Shown::new(post, span));
        }
        Ok(Some((number, had_ended)))
    }

    /// Labels the trace with the names of the runtime that has sent the post.
    fn name_runtime(&self, txn: &Txn<'_>, post: &Post) -> Outcome<()> {
        post.runtime.iter().try_for_each(|name| self.label(txn, attribute::RUNTIME, name))
    }

    /// Adds a label, by which the trace can be found.
    fn label(&self, txn: &Txn<'_>, name: &str, value: &str) -> Outcome<()> {
        let sql = "INSERT OR IGNORE INTO labels VALUES (?1, ?2, ?3)";
        txn.sql(sql)?.execute((self.number, name, value))?;
        Ok(())
    }

    /// Writes the row: all columns if the root has changed, otherwise only the sums.
    fn write(self, txn: &Txn<'_>, id: &str, is_new: bool, health: &Health) -> Outcome<()> {
        let Self { number, head, has_root, session, spans, dropped, usage, shown } = self;
        let sums =
            "UPDATE traces SET spans = ?2, dropped = ?3, input_tokens = ?4, output_tokens = ?5,
                 total_tokens = ?6, cost = ?7, session = ?8, written_at = ?9 WHERE number = ?1";
        let sums_of_usage = (usage.input_tokens, usage.output_tokens, usage.total_tokens);
        let (input, output, total) = sums_of_usage;
        let now = now_ms();
        let Some(Shown { name, kind, start, end, state, code }) = shown else {
            txn.sql(sums)?.execute((
                number, spans, dropped, input, output, total, usage.cost, session, now,
            ))?;
            return Ok(());
        };
        let sql = match is_new {
            true => {
                "INSERT INTO traces (number, spans, dropped, input_tokens, output_tokens, total_tokens,
                     cost, session, written_at, head, has_root, start, end, state, code, name, type, id)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)"
            }
            false => {
                "UPDATE traces SET spans = ?2, dropped = ?3, input_tokens = ?4, output_tokens = ?5,
                     total_tokens = ?6, cost = ?7, session = ?8, written_at = ?9, head = ?10,
                     has_root = ?11, start = ?12, end = ?13, state = ?14, code = ?15, name = ?16,
                     type = ?17 WHERE number = ?1 AND id = ?18"
            }
        };
        txn.sql(sql)?.execute(rusqlite::params![
            number, spans, dropped, input, output, total, usage.cost, session, now, head, has_root,
            start, end, state, code, name, kind, id,
        ])?;
        blocks::extend(txn, number, (start, end), health)
    }
}

impl Shown {
    /// The columns of this root. The post may have times and a name of the whole trace.
    fn new(post: &Post, span: &NewSpan) -> Self {
        let end = post.end.filter(|end| *end > 0.0).unwrap_or(span.end);
        let state = match (span.end > 0.0, span.is_error) {
            (false, _) => 0,
            (true, false) => 1,
            (true, true) => 2,
        };
        Self {
            name: post.name.clone().unwrap_or_else(|| span.name.clone()),
            kind: span.kind.clone(),
            start: post.start.unwrap_or(span.start),
            end: (end > 0.0).then_some(end),
            state,
            code: span.code,
        }
    }
}

/// A span that is stored already.
#[derive(Debug, Clone, Copy)]
struct Known {
    number: i64,
    has_ended: bool,
    usage: TokenUsage,
}

impl Known {
    /// The stored span with this id.
    fn find(txn: &Txn<'_>, trace: i64, id: &str) -> Outcome<Option<Self>> {
        let sql = "SELECT number, end, input_tokens, output_tokens, total_tokens, cost
             FROM spans WHERE trace = ?1 AND id = ?2";
        let read = |row: &rusqlite::Row<'_>| {
            Ok(Self {
                number: row.get(0)?,
                has_ended: row.get::<_, f64>(1)? > 0.0,
                usage: usage_at(row, 2)?.unwrap_or_default(),
            })
        };
        Ok(txn.sql(sql)?.query_row((trace, id), read).optional()?)
    }
}

/// The usage in four columns, of which `column` is the first; `None` if they are empty.
pub(super) fn usage_at(
    row: &rusqlite::Row<'_>,
    column: usize,
) -> rusqlite::Result<Option<TokenUsage>> {
    let Some(input_tokens) = row.get(column)? else { return Ok(None) };
    Ok(Some(TokenUsage {
        input_tokens,
        output_tokens: row.get(column + 1)?,
        total_tokens: row.get(column + 2)?,
        cost: row.get(column + 3)?,
    }))
}

/// The four columns of a span's usage.
fn usage_columns(span: &NewSpan) -> (Option<i64>, Option<i64>, Option<i64>, Option<f64>) {
    let tokens = |pick: fn(&TokenUsage) -> i64| span.usage.as_ref().map(pick);
    (
        tokens(|usage| usage.input_tokens),
        tokens(|usage| usage.output_tokens),
        tokens(|usage| usage.total_tokens),
        span.usage.and_then(|usage| usage.cost),
    )
}

/// Inserts a span. Returns `false` if the trace has a span with this id.
fn insert_span(txn: &Txn<'_>, trace: i64, number: i64, span: &NewSpan) -> Outcome<bool> {
    let (input, output, total, cost) = usage_columns(span);
    let sql =
        "INSERT INTO spans (number, end, input_tokens, output_tokens, total_tokens, cost, json,
             trace, id) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
         ON CONFLICT (trace, id) DO NOTHING";
    let row = (number, span.end, input, output, total, cost, &span.json, trace, &span.id);
    Ok(txn.sql(sql)?.execute(row)? > 0)
}

/// Replaces a stored span. Its number stays the same.
fn update_span(txn: &Txn<'_>, number: i64, span: &NewSpan) -> Outcome<()> {
    let (input, output, total, cost) = usage_columns(span);
    let sql = "UPDATE spans SET end = ?2, input_tokens = ?3, output_tokens = ?4, total_tokens = ?5,
             cost = ?6, json = ?7 WHERE number = ?1";
    txn.sql(sql)?.execute((number, span.end, input, output, total, cost, &span.json))?;
    Ok(())
}
