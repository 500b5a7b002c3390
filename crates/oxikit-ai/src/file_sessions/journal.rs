//! The record of a session as a log: a write adds a line that says what it changes.
//!
//! Each line has a checksum. A torn last line is ignored, because its write was never confirmed.
//! The log is compacted (written anew as one line) once it has grown to a multiple of the record.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::disk::{self, FNV, Stamp, Writer, fnv};
use super::record::Record;

/// A log is written anew when it has more than this many entries per entry of the record, plus
/// [`MAX_MORE`]: rarely enough that a write costs little on average.
const MAX_TIMES: usize = 4;
const MAX_MORE: usize = 1024;
/// Maximum number of cached logs. Beyond it the whole cache is cleared.
const MAX_JOURNALS: usize = 64;
/// Hexadecimal digits of a checksum.
const SUM_DIGITS: usize = 16;

/// A line of the log: the changes of one write.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Line {
    /// As it is now, but with those rows only that have changed. Metadata that are
    /// missing have not changed.
    set: Record,
    /// Ids of the rows that were removed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    gone: Vec<String>,
}

/// A record and how it is written down.
#[derive(Debug, Clone, Default)]
pub(super) struct Journal {
    pub(super) record: Record,
    /// Where the next line begins. What is behind it was never answered.
    end: u64,
    /// Number of entries in the log. `None` if the log has to be written anew.
    entries: Option<usize>,
}

/// Logs that were read or written last, so that they need not be read again.
#[derive(Debug, Default)]
pub(super) struct Journals(Mutex<HashMap<PathBuf, (Stamp, Journal)>>);

impl Journals {
    /// Reads the log; `None` if there is none. An error has been reported.
    pub(super) fn read(&self, path: &Path) -> Option<Result<Journal, ()>> {
        if let Ok(Some(stamp)) = disk::stamp(path)
            && let Some((_, journal)) = self.lock().get(path).filter(|(of, _)| *of == stamp)
        {
            return Some(Ok(journal.clone()));
        }
        let read = Journal::read(path)?;
        Some(read.map(|(journal, stamp)| {
            self.remember(path, stamp, journal.clone());
            journal
        }))
    }

    /// Writes the record, durable when it is answered; says whether a line was added,
    /// which leaves no trace in the folder. The caller must hold the lock of the session.
    pub(super) fn write(&self, path: &Path, record: &Record, writer: &Writer) -> io::Result<bool> {
        let previous = self.read(path).and_then(Result::ok);
        let (journal, is_added) = Journal::write(previous, path, record, writer)?;
        if let Some(stamp) = disk::stamp(path)? {
            self.remember(path, stamp, journal);
        }
        Ok(is_added)
    }

    fn remember(&self, path: &Path, stamp: Stamp, journal: Journal) {
        let mut known = self.lock();
        if known.len() >= MAX_JOURNALS && !known.contains_key(path) {
            known.clear();
        }
        known.insert(path.to_owned(), (stamp, journal));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<PathBuf, (Stamp, Journal)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Journal {
    /// Reads the log; `None` if there is none. An error has been reported.
    pub(super) fn read(path: &Path) -> Option<Result<(Self, Stamp), ()>> {
        let read = disk::read(path).and_then(|found| {
            let journal = found.map(|found| Ok((Self::parse(&found.bytes)?, found.stamp)));
            journal.transpose()
        });
        read.map_err(|error| tracing::warn!(file = %path.display(), %error, "file is damaged"))
            .transpose()
    }

    fn parse(bytes: &[u8]) -> io::Result<Self> {
        let (mut journal, mut entries) = (Self::default(), 0);
        let mut places = HashMap::new();
        let mut lines = bytes.split_inclusive(|byte| *byte == b'\n').peekable();
        while let Some(line) = lines.next() {
            let Some(change) = read_line(line) else {
                if journal.end > 0 && lines.peek().is_some() {
                    // The lines after a damaged one are lost, and the fences of leases with them.
                    // A fence must never be given out twice. Seconds since 1970 are more than any
                    // session has had leases, so numbering goes on from there.
                    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                    journal.record.fence = journal.record.fence.max(now.as_secs());
                    return Ok(journal);
                }
                // The last line is torn: its writer died before it answered.
                break;
            };
            entries += 1 + change.set.rows.len();
            journal.end += line.len() as u64;
            journal.record.apply(change, &mut places);
        }
        if journal.end == 0 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "no line can be read"));
        }
        Ok(Self { entries: Some(entries), ..journal })
    }

    /// Adds a line, or writes the log anew; says which.
    fn write(
        previous: Option<Self>,
        path: &Path,
        record: &Record,
        writer: &Writer,
    ) -> io::Result<(Self, bool)> {
        let change = previous.as_ref().and_then(|previous| previous.change(record));
        let (previous, change) = match previous.zip(change) {
            Some((previous, change)) => (Some(previous), change),
            None => (None, Line { set: record.clone(), gone: Vec::new() }),
        };
        let text = text(&change)?;
        match &previous {
            Some(previous) => disk::append(path, previous.end, &text)?,
            None => drop(writer.replace(path, &text)?),
        }
        let (end, entries) =
            previous.as_ref().map_or((0, None), |previous| (previous.end, previous.entries));
        let entries = Some(entries.unwrap_or_default() + 1 + change.set.rows.len());
        let end = end + text.len() as u64;
        Ok((Self { record: record.clone(), end, entries }, previous.is_some()))
    }

    /// The line that makes this record of it; `None` if the log has to be written anew.
    fn change(&self, record: &Record) -> Option<Line> {
        let most = MAX_TIMES * (1 + record.rows.len()) + MAX_MORE;
        self.entries.filter(|entries| *entries <= most)?;
        let before = &self.record;
        if before.metadata.is_some() && record.metadata.is_none() {
            return None;
        }
        let known: HashMap<_, _> = before.rows.iter().map(|row| (&row.id, row)).collect();
        let left: HashSet<_> = record.rows.iter().map(|row| &row.id).collect();
        let rows = record.rows.iter().filter(|row| known.get(&row.id) != Some(row));
        let gone = before.rows.iter().filter(|row| !left.contains(&row.id));
        let metadata = record.metadata.as_ref().filter(|now| before.metadata.as_ref() != Some(now));
        let set = Record {
            rows: rows.cloned().collect(),
            metadata: metadata.cloned(),
            ..record.without_rows()
        };
        Some(Line { set, gone: gone.map(|row| row.id.clone()).collect() })
    }
}

impl Record {
    /// Brings the record up to date; `places` says where its rows are.
    fn apply(&mut self, change: Line, places: &mut HashMap<String, usize>) {
        let Line { set, gone } = change;
        let mut rows = std::mem::take(&mut self.rows);
        if !gone.is_empty() {
            let gone: HashSet<_> = gone.iter().collect();
            rows.retain(|row| !gone.contains(&row.id));
            places.clear();
            places.extend(rows.iter().enumerate().map(|(place, row)| (row.id.clone(), place)));
        }
        for row in set.rows {
            match places.get(&row.id) {
                Some(place) => rows[*place] = row,
                None => {
                    places.insert(row.id.clone(), rows.len());
                    rows.push(row);
                }
            }
        }
        let metadata = set.metadata.or_else(|| self.metadata.take());
        *self = Self { rows, metadata, ..set };
    }
}

/// The JSON, its checksum and the end of the line.
fn text(change: &Line) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(change)?;
    let sum = fnv(FNV, &line);
    line.extend_from_slice(format!(" {sum:0SUM_DIGITS$x}\n").as_bytes());
    Ok(line)
}

/// `None` if the line is not as it was written.
fn read_line(line: &[u8]) -> Option<Line> {
    let (json, sum) = line.strip_suffix(b"\n")?.split_last_chunk::<SUM_DIGITS>()?;
    let json = json.strip_suffix(b" ")?;
    let sum = u64::from_str_radix(std::str::from_utf8(sum).ok()?, 16).ok()?;
    (fnv(FNV, json) == sum).then(|| serde_json::from_slice(json).ok())?
}
