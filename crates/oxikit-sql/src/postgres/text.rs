//! Escapes texts of clients for columns: PostgreSQL does not store NUL.
//!
//! Ids and names are chosen by clients, and a NUL in one must neither fail the write nor make two
//! different ids equal.

use std::borrow::Cow;

/// The escape character: a code point that Unicode reserves as a noncharacter.
const ESCAPE: char = '\u{10FFFF}';

/// The text for a column: PostgreSQL keeps all characters but NUL. Different texts
/// stay different.
pub(super) fn column(text: &str) -> Cow<'_, str> {
    if !text.contains(['\0', ESCAPE]) {
        return Cow::Borrowed(text);
    }
    let mut written = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\0' => written.extend([ESCAPE, '0']),
            ESCAPE => written.extend([ESCAPE, ESCAPE]),
            c => written.push(c),
        }
    }
    Cow::Owned(written)
}

/// The text that [`column`] was given.
pub(super) fn original(column: String) -> String {
    if !column.contains(ESCAPE) {
        return column;
    }
    let mut text = String::with_capacity(column.len());
    let mut chars = column.chars();
    while let Some(c) = chars.next() {
        match (c == ESCAPE).then(|| chars.next()).flatten() {
            None => text.push(c),
            Some('0') => text.push('\0'),
            Some(other) => text.push(other),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str) {
        let written = column(text);
        assert!(!written.contains('\0'));
        assert_eq!(original(written.into_owned()), text);
    }

    #[test]
    fn every_text_comes_back() {
        check("");
        check("plain");
        check("a\0b");
        check("\0");
        check("\u{10FFFF}0");
        check("\u{10FFFF}\0\u{10FFFF}\u{10FFFF}0");
        assert_ne!(column("\u{10FFFF}0"), column("\0"));
    }
}
