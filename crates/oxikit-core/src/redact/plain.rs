//! Secrets behind their names in plain text: `password=…` in a line of a log, and
//! `Authorization: Basic …` among headers.

use std::ops::Range;

/// Words that say how to read what follows them.
const SCHEMES: [&[u8]; 4] = [b"Basic ", b"Bearer ", b"Digest ", b"Token "];
/// A shorter value is a secret only with a digit in it.
const LONG: usize = 20;
const SHORT: usize = 6;

/// What stands behind the `:` or `=` at `at`, if it does not look like a word or like
/// code: `password=hunter2`, but not `password=readPassword()`, and no `password: wrong`.
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
