//! Pages of a database file, to be damaged.

use std::path::Path;

use rusqlite::Connection;

/// Of all files that the stores make.
pub(crate) const PAGE: usize = 4096;

/// The bytes of a database that nobody has open any more, all of it in the file itself.
pub(crate) fn bytes_of(path: &Path) -> Vec<u8> {
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

/// The same with one page, counted from 0, overwritten: with ones, with zeros, or with noise.
pub(crate) fn damaged(bytes: &[u8], page: usize) -> Vec<u8> {
    let mut damaged = bytes.to_vec();
    let bytes = &mut damaged[page * PAGE..(page + 1) * PAGE];
    match page % 3 {
        0 => bytes.fill(0xff),
        1 => bytes.fill(0),
        _ => fastrand::Rng::with_seed(page as u64).fill(bytes),
    }
    damaged
}
