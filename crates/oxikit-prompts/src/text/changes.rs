//! The changes between two texts, as ranges of bytes that begin and end between tokens.
//!
//! Texts up to [`MAX_WORDS`] are compared by tokens. Longer ones are compared by lines first, then
//! by sections of some words, and the parts that differ by tokens. The form of a change is
//! canonical: an insertion or deletion that could stand at several places stands at the last one,
//! so that equal edits of two texts are equal changes.

use std::collections::HashMap;
use std::ops::Range;

use super::align::{Edit, MAX_STEPS, align};
use super::tokens::{first_len, is_boundary, tokens};

/// Maximum size of two parts together, in bytes, that are compared by tokens. Larger parts are
/// compared by lines and sections, and replaced as a whole where they have none in common.
const MAX_WORDS: usize = 512 * 1024;

/// The same for parts that longer texts were split into. Larger parts without a common section
/// have little in common.
const MAX_PART: usize = 64 * 1024;

/// Mean number of words of a section of a text with many different words.
const SECTION_WORDS: u32 = 16;

/// Number of tokens that are unlikely to be in two places of a text.
const TOKEN_ANCHOR: usize = 8;

/// Number of sections or lines that are unlikely to be in two places of a text.
const SECTION_ANCHOR: usize = 2;

/// Minimum size in bytes, both of the deleted and the inserted text, of changes that are joined.
/// Changes of a few words are never joined.
const MIN_REWRITTEN: usize = 32;

/// Maximum size in bytes of the text between changes that are looked at together. More may be
/// kept between two large changes that are joined.
const MAX_KEPT: usize = 8;

/// A range of `base` that a range of `new` replaces; one of them may be empty, not both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) base: Range<usize>,
    pub(super) new: Range<usize>,
}

/// The changes that turn `base` into `new`, in order. Between two of them at least one token is
/// the same in both.
pub(super) fn changes(base: &str, new: &str) -> Vec<Change> {
    let whole = differing(base, new);
    let mut found = join_rewritten(refine(base, new, whole, &COARSE, &mut { MAX_STEPS }));
    slide(&mut found, base, new);
    found
}

/// The same in whole lines.
pub(super) fn line_changes(base: &str, new: &str) -> Vec<Change> {
    align_parts(&lines(base), &lines(new), SECTION_ANCHOR, &mut { MAX_STEPS })
}

/// The smallest change that turns `base` into `new`, without the common tokens at both ends.
/// Both ranges are empty for equal texts.
pub(super) fn differing(base: &str, new: &str) -> Change {
    let (a, b) = (base.as_bytes(), new.as_bytes());
    let is_token_boundary = |text: &str, at| text.is_char_boundary(at) && is_boundary(text, at);
    let mut prefix = common_prefix(a, b);
    while !is_token_boundary(base, prefix) || !is_token_boundary(new, prefix) {
        prefix -= 1;
    }
    let mut suffix = common_suffix(&a[prefix..], &b[prefix..]);
    while !is_token_boundary(base, a.len() - suffix) || !is_token_boundary(new, b.len() - suffix) {
        suffix -= 1;
    }
    Change { base: prefix..a.len() - suffix, new: prefix..b.len() - suffix }
}

fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    /// Number of bytes that are compared at once.
    const BLOCK: usize = 256;
    let blocks = a.chunks_exact(BLOCK).zip(b.chunks_exact(BLOCK));
    let skipped = BLOCK * blocks.take_while(|(a, b)| a == b).count();
    skipped + a[skipped..].iter().zip(&b[skipped..]).take_while(|(a, b)| a == b).count()
}

fn common_suffix(a: &[u8], b: &[u8]) -> usize {
    const BLOCK: usize = 256;
    let blocks = a.rchunks_exact(BLOCK).zip(b.rchunks_exact(BLOCK));
    let skipped = BLOCK * blocks.take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[..a.len() - skipped], &b[..b.len() - skipped]);
    skipped + a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count()
}

/// Splits a change into smaller ones: by tokens, or by each of the `coarse` splits in turn until
/// the parts are small enough for that.
fn refine(
    base: &str,
    new: &str,
    change: Change,
    coarse: &[Split],
    steps: &mut usize,
) -> Vec<Change> {
    let size = change.base.len() + change.new.len();
    if size == 0 {
        return Vec::new();
    }
    if change.base.is_empty() || change.new.is_empty() {
        return vec![change];
    }
    let is_whole = coarse.len() == COARSE.len();
    if size <= if is_whole { MAX_WORDS } else { MAX_PART } {
        return split_change(base, new, &change, (token_list, TOKEN_ANCHOR), steps);
    }
    let Some((split, finer)) = coarse.split_first().filter(|_| *steps > 0) else {
        return vec![change];
    };
    let found = split_change(base, new, &change, (*split, SECTION_ANCHOR), steps);
    found.into_iter().flat_map(|change| refine(base, new, change, finer, steps)).collect()
}

/// Splits both sides of a change, and leaves out the parts that they have in common.
fn split_change(
    base: &str,
    new: &str,
    change: &Change,
    (split, anchor): (Split, usize),
    steps: &mut usize,
) -> Vec<Change> {
    let a = split(&base[change.base.clone()]);
    let b = split(&new[change.new.clone()]);
    let moved = |found: Change| Change {
        base: found.base.start + change.base.start..found.base.end + change.base.start,
        new: found.new.start + change.new.start..found.new.end + change.new.start,
    };
    align_parts(&a, &b, anchor, steps).into_iter().map(moved).collect()
}

/// A way to split a text into parts.
type Split = fn(&str) -> Vec<&str>;

/// The ways to split a long text, the coarsest first.
const COARSE: [Split; 2] = [lines, sections];

fn token_list(text: &str) -> Vec<&str> {
    tokens(text).collect()
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// Splits a text into sections of about [`SECTION_WORDS`] words, each within one line.
// A section ends after certain tokens, so that it depends on nothing but its own text: after an
// insertion the sections are the same again.
fn sections(text: &str) -> Vec<&str> {
    // Every word has a number; white space ends no section, or all of them would be words.
    let is_last = |token: &str| {
        let sum = token
            .bytes()
            .fold(7_u32, |sum, byte| (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193));
        token.ends_with('\n')
            || (!token.starts_with(' ') && (sum >> 16).is_multiple_of(SECTION_WORDS))
    };
    let mut sections = Vec::new();
    let (mut start, mut end) = (0, 0);
    for token in tokens(text) {
        end += token.len();
        if is_last(token) {
            sections.push(&text[start..end]);
            start = end;
        }
    }
    if start < end {
        sections.push(&text[start..]);
    }
    sections
}

/// Aligns two texts that were split into parts. The ranges are bytes.
fn align_parts<'t>(a: &[&'t str], b: &[&'t str], anchor: usize, steps: &mut usize) -> Vec<Change> {
    let mut numbers = HashMap::new();
    let mut number = |part: &&'t str| {
        let next = numbers.len() as u32;
        *numbers.entry(*part).or_insert(next)
    };
    let a_numbers: Vec<u32> = a.iter().map(&mut number).collect();
    let b_numbers: Vec<u32> = b.iter().map(&mut number).collect();
    let edits = align(&a_numbers, &b_numbers, anchor, steps);
    let (mut a_bytes, mut b_bytes) = (Bytes::of(a), Bytes::of(b));
    let in_bytes = |Edit { a, b }| Change { base: a_bytes.range(a), new: b_bytes.range(b) };
    edits.into_iter().map(in_bytes).collect()
}

/// Turns increasing positions of parts into positions of bytes.
struct Bytes<'t> {
    parts: &'t [&'t str],
    part: usize,
    byte: usize,
}

impl<'t> Bytes<'t> {
    fn of(parts: &'t [&'t str]) -> Self {
        Self { parts, part: 0, byte: 0 }
    }

    fn range(&mut self, parts: Range<usize>) -> Range<usize> {
        self.position(parts.start)..self.position(parts.end)
    }

    fn position(&mut self, part: usize) -> usize {
        self.byte += self.parts[self.part..part].iter().map(|part| part.len()).sum::<usize>();
        self.part = part;
        self.byte
    }
}

/// Joins changes where much text was replaced and only a little between them is the same.
// Two unrelated sentences have some common words, which are in both by chance. A merge around such
// words would mix the sentences of two people.
fn join_rewritten(changes: Vec<Change>) -> Vec<Change> {
    let is_near = |left: &Change, right: &Change| right.base.start - left.base.end <= MAX_KEPT;
    let mut joined: Vec<Change> = Vec::with_capacity(changes.len());
    for near in changes.chunk_by(is_near) {
        let [first, .., last] = near else {
            push_joined(&mut joined, near[0].clone());
            continue;
        };
        let whole = joined_change(first, last);
        let deleted: usize = near.iter().map(|change| change.base.len()).sum();
        let inserted: usize = near.iter().map(|change| change.new.len()).sum();
        if is_rewritten(deleted, inserted, 2 * (whole.base.len() - deleted)) {
            push_joined(&mut joined, whole);
        } else {
            near.iter().for_each(|change| push_joined(&mut joined, change.clone()));
        }
    }
    joined
}

/// Adds a change, joined with those before it that are one rewritten part with it.
fn push_joined(joined: &mut Vec<Change>, mut change: Change) {
    let is_one = |left: &Change, right: &Change| {
        let deleted = left.base.len() + right.base.len();
        let inserted = left.new.len() + right.new.len();
        is_rewritten(deleted, inserted, 4 * (right.base.start - left.base.end))
    };
    while let Some(last) = joined.pop_if(|last| is_one(last, &change)) {
        change = joined_change(&last, &change);
    }
    joined.push(change);
}

fn joined_change(first: &Change, last: &Change) -> Change {
    Change { base: first.base.start..last.base.end, new: first.new.start..last.new.end }
}

fn is_rewritten(deleted: usize, inserted: usize, least: usize) -> bool {
    deleted.min(inserted) >= MIN_REWRITTEN.max(least)
}

/// Moves insertions and deletions to the last place at which they can stand, and joins changes
/// that touch each other then.
// `a x b` is `a b` with `x ` inserted before `b`, or ` x` inserted after `a`. Two texts whose
// insertions are written in different forms would be merged in an unexpected order.
fn slide(changes: &mut Vec<Change>, base: &str, new: &str) {
    let mut slid: Vec<Change> = Vec::with_capacity(changes.len());
    for mut change in changes.drain(..).rev() {
        let limit = slid.last().map_or(base.len(), |next| next.base.start);
        while let Some(length) = slides_by(&change, base, new, limit) {
            change.base = change.base.start + length..change.base.end + length;
            change.new = change.new.start + length..change.new.end + length;
        }
        match slid.last_mut() {
            Some(next) if next.base.start == change.base.end => {
                (next.base.start, next.new.start) = (change.base.start, change.new.start);
            }
            _ => slid.push(change),
        }
    }
    slid.reverse();
    *changes = slid;
}

/// Length of the token by which a change can be moved to the right; `None` if it cannot.
fn slides_by(change: &Change, base: &str, new: &str, limit: usize) -> Option<usize> {
    let moved = match (change.base.is_empty(), change.new.is_empty()) {
        (true, false) => &new[change.new.clone()],
        (false, true) => &base[change.base.clone()],
        _ => return None,
    };
    let first = &moved[..first_len(moved)];
    let following = &base[change.base.end..limit];
    (!following.is_empty() && first == &following[..first_len(following)]).then_some(first.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn apply(base: &str, new: &str, changes: &[Change]) -> String {
        let (mut text, mut at) = (String::new(), 0);
        for change in changes {
            text.push_str(&base[at..change.base.start]);
            assert_eq!(text.len(), change.new.start);
            text.push_str(&new[change.new.clone()]);
            at = change.base.end;
        }
        text.push_str(&base[at..]);
        text
    }

    #[track_caller]
    fn check(base: &str, new: &str, expected: &[(&str, &str)]) {
        let found = changes(base, new);
        let texts = |c: &Change| (&base[c.base.clone()], &new[c.new.clone()]);
        assert_eq!(found.iter().map(texts).collect::<Vec<_>>(), expected);
        assert_eq!(apply(base, new, &found), new);
    }

    #[test]
    fn a_changed_word_is_one_change() {
        check("Tell a joke.", "Tell a joke.", &[]);
        check("Tell a joke.", "Tell a pun.", &[("joke", "pun")]);
        check("Tell a joke.", "Tell a jokes.", &[("joke", "jokes")]);
        check("Tell a joke.", "Tell me a funny joke.", &[("", "me "), ("", "funny ")]);
        check("", "all new", &[("", "all new")]);
        check("gone", "", &[("gone", "")]);
    }

    #[test]
    fn an_insertion_stands_at_its_last_place() {
        check("a b", "a x b", &[("", "x ")]);
        check("q a b", "r a x b", &[("q", "r"), ("", "x ")]);
        check("one\ntwo\n", "one\nnew\ntwo\n", &[("", "new\n")]);
        check("a a a", "a a", &[(" a", "")]);
    }

    #[test]
    fn a_rewritten_sentence_is_one_change() {
        let (old, new) = (
            "You are a helpful assistant that answers questions about the weather",
            "Act as the most sarcastic comedian that the whole wide world has seen",
        );
        check(old, new, &[(old, new)]);
        let text = |sentence: &str, end: &str| {
            format!("Hello there. {sentence}. The rest of this text stays as it was before. {end}.")
        };
        let expected = [(old, new), ("Bye", "See"), ("now", "you")];
        check(&text(old, "Bye now"), &text(new, "See you"), &expected);
    }

    #[test]
    fn a_word_is_never_split() {
        check("naïve", "naïf", &[("naïve", "naïf")]);
        check("caf\u{e9}", "caf\u{e8}", &[("caf\u{e9}", "caf\u{e8}")]);
        check("a\r\nb", "a\nb", &[("\r\n", "\n")]);
    }

    #[test]
    fn a_long_text_is_compared_by_lines_or_sections_and_then_by_words() {
        let lines: Vec<String> =
            (0..20_000).map(|n| format!("line {n} of a long text\n")).collect();
        let mut new = lines.clone();
        new[10] = "line 10 of a very long text\n".into();
        new[19_990] = "line 19990 of a long book\n".into();
        check(&lines.concat(), &new.concat(), &[("", "very "), ("text", "book")]);
        let one_line = |lines: &[String]| lines.concat().replace('\n', ". ");
        check(&one_line(&lines), &one_line(&new), &[("", "very "), ("text", "book")]);
    }

    proptest! {
        #[test]
        fn changes_applied_to_the_base_are_the_new_text(
            base in "([ab] |c|\n|\u{301}|é|\r\n|👩|\u{200d}){0,12}",
            new in "([ab] |c|\n|\u{301}|é|\r\n|👩|\u{200d}){0,12}",
        ) {
            let found = changes(&base, &new);
            prop_assert_eq!(apply(&base, &new, &found), new.clone());
            for change in found {
                for at in [change.base.start, change.base.end] {
                    prop_assert!(is_boundary(&base, at));
                }
                for at in [change.new.start, change.new.end] {
                    prop_assert!(is_boundary(&new, at));
                }
            }
        }
    }
}
