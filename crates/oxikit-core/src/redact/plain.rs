//! Finds secrets after their names in plain text: `password=…` in a log line, and
//! `Authorization: Basic …` among headers.

use std::ops::Range;

/// Authentication schemes: the secret is the word after them.
const SCHEMES: [&[u8]; 4] = [b"Basic ", b"Bearer ", b"Digest ", b"Token "];
/// Values with fewer characters than this are secrets only with a digit in them.
const LONG: usize = 20;
/// Minimum number of characters of a secret in plain text. Shorter values are left alone.
const SHORT: usize = 6;

/// The value after the `:` or `=` at `at`, if it does not look like a word or like
/// code: `password=hunter2`, but neither `password=readPassword()` nor `password: wrong`.
pub(super) fn secret(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let mut start = at + 1;
    if bytes.get(start) == Some(&b' ') {
        // `name = value` is more often code.
        if bytes[at] == b'=' {
            return None;
        }
        start += 1;
    }
    let scheme = SCHEMES.iter().find(|scheme| bytes[start..].starts_with(scheme));
    start += scheme.map_or(0, |scheme| scheme.len());
    let part = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~+/=%".contains(byte);
    let value = bytes[start..].iter().take_while(|byte| part(byte)).count();
    let value = &bytes[start..start + value];
    let is_code = matches!(bytes.get(start + value.len()), Some(b'(' | b'[' | b'{' | b':' | b'<'));
    let has_digit = value.iter().any(u8::is_ascii_digit);
    let is_random = value.len() >= LONG || has_digit && value.len() >= SHORT;
    (is_random && !is_code).then_some(start..start + value.len())
}
