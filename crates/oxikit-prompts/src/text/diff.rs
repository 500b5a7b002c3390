//! Differences for people: lines that were deleted and inserted, with the changed words marked.
//!
//! Programs that apply a difference use [`Patch`](super::Patch).

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::changes::{Change, changes, line_changes};
use super::patch::utf16_len;

/// One line of a difference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DiffLine {
    /// Whether the line is in both texts or only in one of them.
    pub op: DiffOp,
    /// The line with its line end.
    pub text: String,
    /// Start and end of the changed words, in UTF-16 units of `text`. Empty for a line that is
    /// the same, or that has no counterpart in the other text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<(usize, usize)>,
}

/// What happened to a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DiffOp {
    /// The line is in both texts.
    Same,
    /// The line is only in the new text.
    Insert,
    /// The line is only in the old text.
    Delete,
}

/// All lines of both texts: those that are the same, and for each difference first the deleted
/// and then the inserted lines.
///
/// ```
/// use oxikit_prompts::text::{DiffOp, diff};
///
/// let lines = diff("Hello.\nTell a joke.\n", "Hello.\nTell a pun.\n");
/// let shown: Vec<_> = lines.iter().map(|line| (line.op, line.text.as_str())).collect();
/// assert_eq!(shown, [
///     (DiffOp::Same, "Hello.\n"),
///     (DiffOp::Delete, "Tell a joke.\n"),
///     (DiffOp::Insert, "Tell a pun.\n"),
/// ]);
/// assert_eq!(lines[1].words, [(7, 11)]);
/// ```
pub fn diff(from: &str, to: &str) -> Vec<DiffLine> {
    let mut lines = Vec::new();
    let mut at = 0;
    for change in line_changes(from, to) {
        push_lines(&mut lines, DiffOp::Same, &from[at..change.base.start], &[]);
        at = change.base.end;
        let (old, new) = (&from[change.base], &to[change.new]);
        let words = match old.is_empty() || new.is_empty() {
            true => Vec::new(),
            false => changes(old, new),
        };
        let ranges = |range: fn(&Change) -> Range<usize>| Vec::from_iter(words.iter().map(range));
        push_lines(&mut lines, DiffOp::Delete, old, &ranges(|change| change.base.clone()));
        push_lines(&mut lines, DiffOp::Insert, new, &ranges(|change| change.new.clone()));
    }
    push_lines(&mut lines, DiffOp::Same, &from[at..], &[]);
    lines
}

/// Adds the lines of a text. `words` are ranges of its bytes, which are split at line ends.
fn push_lines(lines: &mut Vec<DiffLine>, op: DiffOp, text: &str, words: &[Range<usize>]) {
    let mut start = 0;
    let mut words = words.iter().peekable();
    for line in text.split_inclusive('\n') {
        let end = start + line.len();
        let mut units = Units { line, byte: 0, unit: 0 };
        let mut marked = Vec::new();
        while let Some(word) = words.peek().filter(|word| word.start < end) {
            let from = word.start.max(start) - start;
            let to = word.end.min(end) - start;
            if from < to {
                marked.push((units.at(from), units.at(to)));
            }
            if word.end > end {
                break;
            }
            words.next();
        }
        lines.push(DiffLine { op, text: line.to_owned(), words: marked });
        start = end;
    }
}

/// Turns increasing positions of bytes into positions of UTF-16 units.
struct Units<'t> {
    line: &'t str,
    byte: usize,
    unit: usize,
}

impl Units<'_> {
    fn at(&mut self, byte: usize) -> usize {
        self.unit += utf16_len(&self.line[self.byte..byte]);
        self.byte = byte;
        self.unit
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A line with its marks.
    type Line<'t> = (DiffOp, &'t str, &'t [(usize, usize)]);

    #[track_caller]
    fn check(from: &str, to: &str, expected: &[Line<'_>]) {
        let lines = diff(from, to);
        let found: Vec<_> =
            lines.iter().map(|line| (line.op, line.text.as_str(), line.words.as_slice())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn changed_lines_have_their_changed_words_marked() {
        check("", "", &[]);
        check("a\n", "a\n", &[(DiffOp::Same, "a\n", &[])]);
        check(
            "one\n👍 two three\nend",
            "one\n👍 2 three 4\nend",
            &[
                (DiffOp::Same, "one\n", &[]),
                (DiffOp::Delete, "👍 two three\n", &[(3, 6)]),
                (DiffOp::Insert, "👍 2 three 4\n", &[(3, 4), (10, 12)]),
                (DiffOp::Same, "end", &[]),
            ],
        );
    }

    #[test]
    fn new_lines_have_no_marks() {
        check("a\n", "a\nb\n", &[(DiffOp::Same, "a\n", &[]), (DiffOp::Insert, "b\n", &[])]);
    }

    #[test]
    fn a_change_over_several_lines_is_marked_in_each() {
        check(
            "a b\nc d\n",
            "a x\ny d\n",
            &[
                (DiffOp::Delete, "a b\n", &[(2, 3)]),
                (DiffOp::Delete, "c d\n", &[(0, 1)]),
                (DiffOp::Insert, "a x\n", &[(2, 3)]),
                (DiffOp::Insert, "y d\n", &[(0, 1)]),
            ],
        );
    }

    proptest! {
        #[test]
        fn the_lines_are_those_of_both_texts(
            from in "((a|b|👍)( |\n|\r\n)){0,12}", to in "((a|b|👍)( |\n|\r\n)){0,12}"
        ) {
            let lines = diff(&from, &to);
            let without = |op| lines.iter().filter(move |line| line.op != op);
            let text = |op| without(op).map(|line| line.text.as_str()).collect::<String>();
            prop_assert_eq!(text(DiffOp::Insert), from);
            prop_assert_eq!(text(DiffOp::Delete), to);
        }
    }
}
