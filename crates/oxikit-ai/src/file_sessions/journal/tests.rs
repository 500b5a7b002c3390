use oxikit_wire::SessionSnapshot;
use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::file_sessions::disk::Stamp;
use crate::file_sessions::record::{Outline, Row};

fn row(id: u8, revision: u64) -> Row {
    let metadata = std::fs::metadata(".").unwrap();
    let outline = Outline::of(&SessionSnapshot::default(), None);
    Row::new(id.to_string(), revision, Stamp::of(&metadata), outline)
}

/// Records that follow one another: a row is added, changed or removed in each.
fn history(steps: &[(u8, bool)]) -> Vec<Record> {
    let mut record = Record::default();
    let step = |(n, (id, is_kept)): (usize, &(u8, bool))| {
        record.written += 1;
        record.fence = n as u64;
        match (record.rows.iter().position(|row| row.id == id.to_string()), is_kept) {
            (Some(place), true) => record.rows[place].revision += 1,
            (Some(place), false) => drop(record.rows.remove(place)),
            (None, _) => record.rows.push(row(*id, 1)),
        }
        record.clone()
    };
    steps.iter().enumerate().map(step).collect()
}

fn write(path: &Path, record: &Record, writer: &Writer) {
    Journals::default().write(path, record, writer).unwrap();
}

fn read(path: &Path) -> Record {
    Journal::read(path).unwrap().unwrap().0.record
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Wherever the log is cut, it tells of one of the records, and goes on from it.
    #[test]
    fn a_log_that_is_cut_tells_what_was_before(
        steps in prop::collection::vec((0_u8..5, any::<bool>()), 1..12),
        cut in 0.0..1.0,
    ) {
        let folder = TempDir::new().unwrap();
        let (path, writer) = (folder.path().join("log"), Writer::new("test".to_owned()));
        let history = history(&steps);
        let mut ends = Vec::new();
        let journals = Journals::default();
        for record in &history {
            journals.write(&path, record, &writer).unwrap();
            prop_assert_eq!(&journals.read(&path).unwrap().unwrap().record, record);
            prop_assert_eq!(&read(&path), record);
            ends.push(std::fs::metadata(&path).unwrap().len());
        }
        let whole = std::fs::read(&path).unwrap();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "any place")]
        let length = (whole.len() as f64 * cut) as usize;
        std::fs::write(&path, &whole[..length]).unwrap();
        let left = ends.iter().filter(|end| **end <= length as u64).count();
        let found = Journal::read(&path).unwrap();
        let Some(last) = left.checked_sub(1) else {
            // The first line is never torn by us: it comes with its name.
            prop_assert!(found.is_err());
            return Ok(());
        };
        prop_assert_eq!(&found.unwrap().0.record, &history[last]);
        let mut next = history[last].clone();
        next.rows.push(row(9, 1));
        write(&path, &next, &writer);
        prop_assert_eq!(read(&path), next);
    }
}

#[test]
fn a_line_that_was_changed_ends_the_log_and_no_lease_is_given_twice() {
    let folder = TempDir::new().unwrap();
    let (path, writer) = (folder.path().join("log"), Writer::new("test".to_owned()));
    let history = history(&[(1, true), (2, true), (3, true)]);
    let ends = history.iter().map(|record| {
        write(&path, record, &writer);
        std::fs::metadata(&path).unwrap().len()
    });
    let ends: Vec<_> = ends.collect();
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[usize::try_from(ends[0]).unwrap() + 20] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    let (found, _) = Journal::read(&path).unwrap().unwrap();
    assert_eq!(found.record.rows, history[0].rows);
    assert!(found.record.fence > 1_000_000, "{}", found.record.fence);
    write(&path, &history[2], &writer);
    assert_eq!(read(&path), history[2]);
}

/// Renewals of a lease change no row: their lines lose their use.
#[test]
fn a_log_that_tells_too_much_is_written_anew() {
    let folder = TempDir::new().unwrap();
    let (path, writer) = (folder.path().join("log"), Writer::new("test".to_owned()));
    let mut record = Record { rows: vec![row(1, 1)], ..Record::default() };
    let mut text = text(&Line { set: record.clone(), gone: Vec::new() }).unwrap();
    let renewal = Line { set: record.without_rows(), gone: Vec::new() };
    let most = MAX_TIMES * 2 + MAX_MORE - 2;
    text.extend(super::text(&renewal).unwrap().repeat(most));
    std::fs::write(&path, &text).unwrap();
    record.fence = 1;
    write(&path, &record, &writer);
    let lines = || std::fs::read_to_string(&path).unwrap().lines().count();
    assert_eq!(lines(), most + 2);
    record.fence = 2;
    write(&path, &record, &writer);
    assert_eq!(lines(), 1);
    assert_eq!(read(&path), record);
}

/// Without its checksum a line is valid JSON, and a record that lacks every member is valid too.
#[test]
fn a_log_without_a_whole_line_is_damaged() {
    let folder = TempDir::new().unwrap();
    let (path, writer) = (folder.path().join("log"), Writer::new("test".to_owned()));
    write(&path, &history(&[(1, true)])[0], &writer);
    let whole = std::fs::read(&path).unwrap();
    for cut in (1..=SUM_DIGITS + 2).chain([whole.len()]) {
        std::fs::write(&path, &whole[..whole.len() - cut]).unwrap();
        assert!(Journal::read(&path).unwrap().is_err(), "{cut}");
    }
}
