//! The pages of a SQLite file that say which tables it has, and where.
//!
//! They begin with the first page of the file; those of a longer list of tables hang below
//! it. The format is <https://sqlite.org/fileformat2.html>.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// Of all files that we make.
const PAGE: usize = 4096;
/// On the first page the file has a header of its own before that of the page.
const FILE_HEADER: usize = 100;
/// The kind of a page with rows below it.
const INTERIOR: u8 = 5;

/// Puts these pages of one file into another, with the length of the other.
pub(super) fn transplant(template: &Path, into: &Path) -> io::Result<()> {
    let mut pages = Vec::new();
    File::open(template)?.read_to_end(&mut pages)?;
    let page_at = |number: usize| pages.get((number - 1) * PAGE..number * PAGE);
    let Some(first) = page_at(1) else { return Ok(()) };
    let mut file = File::options().read(true).write(true).open(into)?;
    let length = usize::try_from(file.metadata()?.len() / PAGE as u64).unwrap_or(0).max(1);
    let mut write = |number: usize, page: &[u8]| {
        file.seek(SeekFrom::Start(((number - 1) * PAGE) as u64))?;
        file.write_all(page)
    };
    for number in below(first) {
        if let Some(page) = page_at(number) {
            write(number, page)?;
        }
    }
    let mut first = first.to_vec();
    first[28..32].copy_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes());
    // No pages are free, as far as is known.
    first[32..40].fill(0);
    write(1, &first)?;
    file.sync_all()
}

/// The numbers of the pages below the first; none if it holds all of the list.
fn below(first: &[u8]) -> Vec<usize> {
    let header = &first[FILE_HEADER..];
    if header[0] != INTERIOR {
        return Vec::new();
    }
    let number = |at: usize| {
        first
            .get(at..at + 4)
            .map(|bytes| u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    };
    let cells = usize::from(u16::from_be_bytes([header[3], header[4]]));
    let cell = |place: usize| {
        let at = FILE_HEADER + 12 + 2 * place;
        let bytes = first.get(at..at + 2)?;
        number(usize::from(u16::from_be_bytes([bytes[0], bytes[1]])))
    };
    let last = number(FILE_HEADER + 8);
    (0..cells)
        .filter_map(cell)
        .chain(last)
        .map(|number| number as usize)
        .filter(|number| *number > 1)
        .collect()
}
