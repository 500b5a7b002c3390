//! Measures, cuts and pads text by the columns that it takes on a terminal.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Marks that text was cut.
pub(super) const ELLIPSIS: char = '…';

/// The number of columns that a text takes.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// Cuts text to a maximum number of columns. Cut text ends with `…`.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    match is_wider(text, columns) {
        true => format!("{}{ELLIPSIS}", prefix(text, columns.saturating_sub(1))),
        false => text.to_owned(),
    }
}

/// Whether text takes more columns. Text with very many characters of width 0 counts as wider
/// too.
pub(super) fn is_wider(text: &str, columns: usize) -> bool {
    // A text has at least as many bytes as columns.
    text.len() > columns && (text.len() > max_bytes(columns) || width(text) > columns)
}

/// The beginning of a text that fits into this number of columns.
pub(super) fn prefix(text: &str, columns: usize) -> &str {
    let mut left = columns;
    let is_beyond = |(at, c): &(usize, char)| {
        let taken = c.width().unwrap_or_default();
        if taken > left || *at > max_bytes(columns) {
            return true;
        }
        left -= taken;
        false
    };
    let end = text.char_indices().find(is_beyond);
    end.map_or(text, |(at, _)| &text[..at])
}

/// Maximum number of bytes for a number of columns. It limits combining marks, of which any
/// number may follow a letter without taking a column.
fn max_bytes(columns: usize) -> usize {
    64 + 8 * columns
}

/// Appends spaces until the text takes this number of columns. (`{:width$}` counts characters
/// in place of columns, and panics beyond 65,535.)
pub(crate) fn pad(text: &str, columns: usize) -> String {
    let missing = columns.saturating_sub(width(text));
    format!("{text}{}", " ".repeat(missing))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_to_its_columns() {
        let check = |text: &str, columns, expected: &str| {
            assert_eq!(cut(text, columns), expected);
        };
        check("short", 5, "short");
        check("longer", 5, "long…");
        check("猫猫猫", 5, "猫猫…");
        check("猫猫猫", 6, "猫猫猫");
        check("éa", 1, "…");
        check("", 0, "");
        let marks = format!("a{}", "\u{301}".repeat(100_000));
        assert!(cut(&format!("{marks}bcdef"), 4).len() < 128);
    }

    #[test]
    fn padding_counts_columns_and_has_no_largest_width() {
        assert_eq!(pad("猫", 4), "猫  ");
        assert_eq!(pad("longer", 3), "longer");
        assert_eq!(pad("", 70_000).len(), 70_000);
    }
}
