//! Finds secrets whose shape is more than a prefix and an alphabet: private keys, web tokens, and
//! the token after `Bearer`.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};

use super::REDACTED;
use super::edit::Edit;
use super::formats::Alphabet;

/// The text that a secret of this shape begins with, and the function that finds its extent.
const SHAPES: [(&str, Shape); 8] = [
    ("sk-", key),
    ("Bearer ", bearer),
    ("bearer ", bearer),
    ("BEARER ", bearer),
    ("Bearer%20", bearer),
    ("bearer%20", bearer),
    ("eyJ", web_token),
    ("-----BEGIN ", private_key),
];

/// Finds the secret, given the text and the position of the mark in it.
type Shape = fn(&[u8], Range<usize>) -> Option<Range<usize>>;

static MARKS: LazyLock<AhoCorasick> = LazyLock::new(|| {
    AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostFirst)
        .build(SHAPES.map(|(mark, _)| mark))
        .expect("the marks are few and short")
});

pub(super) fn cover(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let mut edit = Edit::new(text);
    for mark in MARKS.find_iter(bytes) {
        if edit.has_passed(mark.start()) || !begins_a_word(bytes, mark.start()) {
            continue;
        }
        let (_, shape) = SHAPES[mark.pattern().as_usize()];
        if let Some(secret) = shape(bytes, mark.range()) {
            edit.replace(secret, REDACTED);
        }
    }
    edit.finish()
}

/// A letter before it makes it the middle of another word, unless that letter
/// belongs to an escape such as `\n` or `%3D`.
pub(super) fn begins_a_word(bytes: &[u8], at: usize) -> bool {
    let before = &bytes[..at];
    match before {
        [.., b'\\', b'n' | b'r' | b't' | b'b' | b'f'] => true,
        [.., b'\\', b'u', _, _, _, _] => true,
        [.., b'%', high, low] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => true,
        [.., last] => !last.is_ascii_alphanumeric(),
        [] => true,
    }
}

/// A key of OpenAI, or of a provider with the same format: the mark and a run of letters that is
/// not a plain word.
fn key(bytes: &[u8], mark: Range<usize>) -> Option<Range<usize>> {
    let run = run(bytes, mark.end, |byte| Alphabet::Word.has(byte));
    let mixed = run.iter().any(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
    (run.len() >= 32 || mixed && run.len() >= 10).then_some(mark.start..mark.end + run.len())
}

/// The token after `Bearer`, if it is too long for a word.
fn bearer(bytes: &[u8], mark: Range<usize>) -> Option<Range<usize>> {
    let start = mark.end + run(bytes, mark.end, |byte| byte == b' ').len();
    let run = run(bytes, start, |byte| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte));
    let has_digit = run.iter().any(u8::is_ascii_digit);
    (run.len() >= 16 || has_digit && run.len() >= 8).then_some(start..start + run.len())
}

/// A JSON web token: the header, a dot, the claims, and mostly a signature.
fn web_token(bytes: &[u8], mark: Range<usize>) -> Option<Range<usize>> {
    let part = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    // In the middle of a longer run it is not the start of a token. Scanning on from every such
    // position would also take quadratic time.
    if mark.start > 0 && matches!(bytes[mark.start - 1], b'_' | b'-') {
        return None;
    }
    let header = run(bytes, mark.end, part).len();
    let rest = mark.end + header;
    if header < 8 || bytes.get(rest) != Some(&b'.') {
        return None;
    }
    let claims = sentence(run(bytes, rest + 1, |byte| part(byte) || byte == b'.'));
    (claims.starts_with(b"eyJ") || claims.contains(&b'.') && claims.len() >= 16)
        .then_some(mark.start..rest + 1 + claims.len())
}

/// A private key in PEM, to its last line or, if that is missing, to the end of
/// the string.
fn private_key(bytes: &[u8], mark: Range<usize>) -> Option<Range<usize>> {
    let label = run(bytes, mark.end, |byte| byte.is_ascii_uppercase() || byte == b' ');
    if !label.ends_with(b"PRIVATE KEY") && !label.ends_with(b"PRIVATE KEY BLOCK") {
        return None;
    }
    let rest = &bytes[mark.end..];
    let rest = &rest[..memchr::memchr(b'"', rest).unwrap_or(rest.len())];
    let end = memchr::memmem::find(rest, b"-----END ").map(|end| {
        let label = memchr::memmem::find(&rest[end + 9..], b"-----");
        label.map_or(rest.len(), |label| end + 9 + label + 5)
    });
    let end = end.unwrap_or_else(|| trim_backslashes(rest));
    Some(mark.start..mark.end + end)
}

/// The closing quote may be an escaped one; its backslashes stay.
fn trim_backslashes(text: &[u8]) -> usize {
    text.len() - text.iter().rev().take_while(|byte| **byte == b'\\').count()
}

pub(super) fn run(bytes: &[u8], from: usize, part: impl Fn(u8) -> bool) -> &[u8] {
    let length = bytes[from..].iter().take_while(|byte| part(**byte)).count();
    &bytes[from..from + length]
}

/// A run without the full stop of the sentence that it ends.
pub(super) fn sentence(run: &[u8]) -> &[u8] {
    &run[..run.len() - run.iter().rev().take_while(|byte| **byte == b'.').count()]
}
