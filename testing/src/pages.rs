//! Reads and damages pages of a SQLite file, for tests of damaged databases.

use std::path::Path;

use rusqlite::Connection;

/// Page size in bytes of all databases that the stores create.
pub const PAGE: usize = 4096;

/// The bytes of a database that no connection has open. The write-ahead log is moved into the file
/// first.
pub fn bytes_of(path: &Path) -> Vec<u8> {
    let connection = Connection::open(path).unwrap();
    connection.busy_timeout(std::time::Duration::from_secs(10)).unwrap();
    let busy: i64 =
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0)).unwrap();
    assert_eq!(busy, 0);
    drop(connection);
    let bytes = std::fs::read(path).unwrap();
    assert_eq!(bytes.len() % PAGE, 0);
    bytes
}

/// A copy in which one page, counted from 0, is overwritten with ones, zeros or random bytes.
pub fn damaged(bytes: &[u8], page: usize) -> Vec<u8> {
    let mut damaged = bytes.to_vec();
    let bytes = &mut damaged[page * PAGE..(page + 1) * PAGE];
    match page % 3 {
        0 => bytes.fill(0xff),
        1 => bytes.fill(0),
        _ => fastrand::Rng::with_seed(page as u64).fill(bytes),
    }
    damaged
}
