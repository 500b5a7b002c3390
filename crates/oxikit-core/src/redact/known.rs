//! Finds secrets of known formats, independent of the names before them.
//!
//! Every such secret is a long run of letters, digits and a few other characters, and most texts
//! have few such runs. So the scan tests only every n-th byte, where n is the length of the
//! shortest secret: every run that is long enough contains a tested byte. Only those runs are
//! examined closely.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use super::REDACTED;
use super::edit::Edit;
use super::formats::{Alphabet, FORMATS, Format};
use super::patterns::{begins_a_word, run, sentence};

/// Length of the shortest secret of a known format, with its mark. It is the step of the scan.
const SHORTEST: usize = 14;

/// Whether a byte may be a part of a secret: letters, digits, and the signs of all alphabets.
const IS_PART: [bool; 256] = {
    let mut is_part = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        is_part[byte] = (byte as u8).is_ascii_alphanumeric()
            || matches!(byte as u8, b'_' | b'-' | b'.' | b'+' | b'/' | b'=' | b'~' | b'%' | b'@');
        byte += 1;
    }
    is_part
};

/// Whether no format that is recognised by its middle can have this byte there.
const MAY_BE_INSIDE: [bool; 256] = {
    let mut may_be_inside = [true; 256];
    may_be_inside[b'Q' as usize] = false;
    may_be_inside[b'.' as usize] = false;
    may_be_inside[b'_' as usize] = false;
    may_be_inside[b'-' as usize] = false;
    may_be_inside
};

/// The formats by the first byte of their marks.
static BY_FIRST: LazyLock<Vec<Vec<&'static Format>>> = LazyLock::new(|| {
    let mut by_first = vec![Vec::new(); 256];
    for format in FORMATS {
        by_first[usize::from(format.mark.as_bytes()[0])].push(format);
    }
    by_first
});

pub(super) fn cover(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let mut edit = Edit::new(text);
    let mut at = SHORTEST - 1;
    let mut begin = 0;
    while at < bytes.len() {
        if !IS_PART[usize::from(bytes[at])] {
            begin = at + 1;
            at += SHORTEST;
            continue;
        }
        let before = bytes[begin..at].iter().rev().take_while(|byte| is_part(byte)).count();
        let behind = bytes[at..].iter().take_while(|byte| is_part(byte)).count();
        let long_run = at - before..at + behind;
        begin = long_run.end;
        at = long_run.end + SHORTEST;
        if long_run.len() >= SHORTEST {
            look(bytes, long_run, &mut edit);
        }
    }
    edit.finish()
}

fn is_part(byte: &u8) -> bool {
    IS_PART[usize::from(*byte)]
}

/// Covers the secrets of a run.
fn look(bytes: &[u8], long_run: Range<usize>, edit: &mut Edit<'_>) {
    let mut at = long_run.start;
    while at < long_run.end {
        at = skip_inside(bytes, at, &long_run);
        if at == long_run.end {
            break;
        }
        let secret = secret_at(bytes, at, long_run.start);
        // Some formats begin before the mark by which they are recognised.
        match secret.filter(|secret| !edit.has_passed(secret.start)) {
            Some(secret) => {
                at = secret.end.max(at + 1);
                edit.replace(secret, REDACTED);
            }
            None => at += 1,
        }
    }
}

/// The next position from `at` on where a mark may begin: not in the middle of a word, or where a
/// format that is recognised by its middle may be. It is called for every byte of images and other
/// encoded data, so it must be fast.
fn skip_inside(bytes: &[u8], at: usize, long_run: &Range<usize>) -> usize {
    /// Length of the longest escape, such as `\\u000a`, after which a word may begin.
    const ESCAPE: usize = 5;
    if at <= long_run.start + ESCAPE {
        return at;
    }
    let mut at = at;
    while at < long_run.end
        && bytes[at - 1].is_ascii_alphanumeric()
        && MAY_BE_INSIDE[usize::from(bytes[at])]
        && bytes[at - 3] != b'%'
    {
        at += 1;
    }
    at
}

/// The secret whose mark is here. `from` is where the run begins.
fn secret_at(bytes: &[u8], at: usize, from: usize) -> Option<Range<usize>> {
    let formats = &BY_FIRST[usize::from(bytes[at])];
    let marked = |mark: &str| bytes[at..].starts_with(mark.as_bytes());
    if !formats.is_empty() && begins_a_word(bytes, at) {
        let format = formats.iter().filter(|format| marked(format.mark));
        let mut secrets =
            format.filter_map(|format| formatted(bytes, at..at + format.mark.len(), format));
        if let Some(secret) = secrets.next() {
            return Some(secret);
        }
    }
    match bytes[at] {
        b'p' if marked("pat") && begins_a_word(bytes, at) => airtable(bytes, at..at + 3),
        b'Q' if marked("Q~") => azure_application(bytes, at..at + 2),
        b'.' if marked(".atlasv1.") => terraform(bytes, at..at + 9),
        b'.' => discord(bytes, at..at + 1),
        b'-' if marked("-us") => mailchimp(bytes, at..at + 3),
        b'_' if marked("_mmk") => maxmind(bytes, at..at + 4),
        // The `:` before it ends what may be a part of others.
        b'A' if at == from && at > 0 && bytes[at - 1] == b':' && marked("AA") => {
            telegram(bytes, at - 1..at + 2)
        }
        _ => None,
    }
}

/// A secret of a known format.
fn formatted(bytes: &[u8], mark: Range<usize>, format: &Format) -> Option<Range<usize>> {
    // Only the first characters decide, so that a text full of marks does not take longer.
    let end = bytes.len().min(mark.end + LONG);
    let begin = run(&bytes[..end], mark.end, |byte| format.rest.has(byte));
    // Words that are joined have neither digits nor capital letters.
    let is_random = begin.iter().any(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
        || begin.len() >= 32 && !begin.iter().any(|byte| matches!(byte, b'_' | b'-' | b'.'));
    if begin.len() < format.length || !is_random {
        return None;
    }
    let rest = sentence(run(bytes, mark.end, |byte| format.rest.has(byte)));
    // In the middle of data that is written with letters, every mark occurs by chance.
    let is_data = is_data_before(bytes, mark.start) || is_data_behind(bytes, mark.end + rest.len());
    (rest.len() >= format.length && !is_data).then_some(mark.start..mark.end + rest.len())
}

/// Maximum number of characters after the mark that decide whether it is a secret; no format
/// needs more.
const LONG: usize = 160;

/// Number of base64 characters without a `/` from which on a text is taken for data, not a path.
const DATA: usize = 40;

/// Whether base64 data continues before the mark, whose first letter follows a `+` or a `/` of it.
fn is_data_before(bytes: &[u8], at: usize) -> bool {
    at > DATA
        && matches!(bytes[at - 1], b'+' | b'/')
        && bytes[at - DATA..at - 1].iter().all(|byte| Alphabet::Base64.has(*byte))
}

/// Whether base64 data continues after the secret.
fn is_data_behind(bytes: &[u8], at: usize) -> bool {
    let rest = bytes.get(at + 1..at + DATA);
    matches!(bytes.get(at), Some(b'+' | b'/'))
        && rest.is_some_and(|rest| rest.iter().all(|byte| Alphabet::Base64.has(*byte)))
}

/// `pat`, 14 letters, a dot, and 64 digits of base 16.
fn airtable(bytes: &[u8], mark: Range<usize>) -> Option<Range<usize>> {
    let id = run(bytes, mark.end, |byte| byte.is_ascii_alphanumeric());
    let dot = mark.end + id.len();
    if id.len() != 14 || bytes.get(dot) != Some(&b'.') {
        return None;
    }
    let secret = run(bytes, dot + 1, |byte| byte.is_ascii_hexdigit());
    (secret.len() >= 64).then_some(mark.start..dot + 1 + secret.len())
}

/// The secret of an application in Microsoft Entra: three letters, a digit, `Q~`, and 31 or
/// more letters.
fn azure_application(bytes: &[u8], mark: Range<usize>) -> Option<Range<usize>> {
    let part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'~' | b'.' | b'-');
    let start = mark.start.checked_sub(4)?;
    let [before @ .., digit] = &bytes[start..mark.start] else { return None };
    let is_begun = digit.is_ascii_digit() && before.iter().all(|byte| part(*byte));
    if !is_begun || !begins_a_word(bytes, start) {
        return None;
    }
    let rest = sentence(run(bytes, mark.end, part));
    (rest.len() >= 31).then_some(start..mark.end + rest.len())
}

/// 14 letters, `.atlasv1.`, and 60 or more.
fn terraform(bytes: &[u8], mark: Range<usize>) -> Option<Range<usize>> {
    let start = mark.start.checked_sub(14)?;
    let is_id = bytes[start..mark.start].iter().all(u8::is_ascii_alphanumeric);
    if !is_id || !begins_a_word(bytes, start) {
        return None;
    }
    let rest = sentence(run(bytes, mark.end, |byte| Alphabet::Token.has(byte)));
    (rest.len() >= 60).then_some(start..mark.end + rest.len())
}

/// The token of a bot: 24 to 26 letters of which the first is `M`, `N` or `O`, six, and 27 or
/// more, with a dot between them.
fn discord(bytes: &[u8], mark: Range<usize>) -> Option<Range<usize>> {
    let part = |byte: u8| Alphabet::Word.has(byte);
    let second = mark.end + 6;
    if bytes.get(second) != Some(&b'.') || !bytes[mark.end..second].iter().all(|byte| part(*byte)) {
        return None;
    }
    let begins = |start: &usize| {
        matches!(bytes[*start], b'M' | b'N' | b'O')
            && bytes[*start..mark.start].iter().all(|byte| part(*byte))
            && begins_a_word(bytes, *start)
    };
    let start = (24..=26).filter_map(|id| mark.start.checked_sub(id)).find(begins)?;
    let rest = sentence(run(bytes, second + 1, part));
    (rest.len() >= 27).then_some(start..second + 1 + rest.len())
}

/// 32 digits and letters, `-us`, and the number of a data centre.
fn mailchimp(bytes: &[u8], mark: Range<usize>) -> Option<Range<usize>> {
    let start = mark.start.checked_sub(32)?;
    let is_part = |byte: &u8| byte.is_ascii_digit() || byte.is_ascii_lowercase();
    let centre = run(bytes, mark.end, |byte| byte.is_ascii_digit());
    let is_key = bytes[start..mark.start].iter().all(is_part)
        && bytes[start..mark.start].iter().any(u8::is_ascii_digit);
    (is_key && (1..=2).contains(&centre.len()) && begins_a_word(bytes, start))
        .then_some(start..mark.end + centre.len())
}

/// Six letters, `_`, 29 letters, `_mmk`.
fn maxmind(bytes: &[u8], mark: Range<usize>) -> Option<Range<usize>> {
    let start = mark.start.checked_sub(36)?;
    let key = &bytes[start..mark.start];
    let is_key = key.iter().enumerate().all(|(place, byte)| match place {
        6 => *byte == b'_',
        _ => byte.is_ascii_alphanumeric(),
    });
    (is_key && begins_a_word(bytes, start)).then_some(start..mark.end)
}

/// The token of a bot: its number, `:AA`, and 33 letters.
fn telegram(bytes: &[u8], mark: Range<usize>) -> Option<Range<usize>> {
    let digits = bytes[..mark.start].iter().rev().take(17);
    let number = digits.take_while(|byte| byte.is_ascii_digit()).count();
    let start = mark.start - number;
    let start = if bytes[..start].ends_with(b"%") { start + 2 } else { start };
    let number = mark.start.saturating_sub(start);
    let rest = run(bytes, mark.end, |byte| Alphabet::Word.has(byte));
    ((8..=16).contains(&number) && rest.len() >= 32 && begins_a_word(bytes, start))
        .then_some(start..mark.end + rest.len())
}
