//! Replaces the schema pages of a damaged file, which list its tables and their root pages.
//!
//! The list begins on the first page of the file. A longer list is a tree whose root is the
//! first page. All files of a store were created by the same steps, so their tables have the
//! same root pages, and the list of an empty file fits a damaged one. The format is
//! <https://sqlite.org/fileformat2.html>.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// Page size in bytes of all files that this crate creates.
const PAGE: usize = 4096;
/// Bytes of the file header, which precedes the page header on the first page.
const FILE_HEADER: usize = 100;
/// Type byte of an interior page of a table.
const INTERIOR: u8 = 5;

/// Copies the schema pages of `template` into a file, whose length is kept.
pub(crate) fn transplant(template: &Path, into: &Path) -> io::Result<()> {
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
    // Offset 28 of the file header has the number of pages of the file, 32 and 36 the list of
    // free pages.
    first[28..32].copy_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes());
    // The list of free pages may be damaged, too: an empty one is safe, since the file is
    // only read.
    first[32..40].fill(0);
    write(1, &first)?;
    file.sync_all()
}

/// The page numbers of the children of the first page; none if it holds the whole list.
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
