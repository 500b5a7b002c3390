//! Finds secrets by the name of their field: `"password": …`, `?api_key=…`,
//! `token: "…"`, and the password of a URL.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memchr2_iter;

use super::edit::Edit;
use super::{REDACTED, plain};

/// The endings of secret names. `token` alone is not among them, because counts of tokens and
/// page tokens are not secrets: the secret ones are listed one by one.
pub(super) const SECRET_ENDINGS: [&str; 40] = [
    "accesskey",
    "accesstoken",
    "accountkey",
    "apikey",
    "apitoken",
    "appkey",
    "applicationkey",
    "authorization",
    "authtoken",
    "bearertoken",
    "bottoken",
    "clientkey",
    "connectionstring",
    "cookie",
    "credential",
    "credentials",
    "csrftoken",
    "encryptionkey",
    "githubtoken",
    "gitlabtoken",
    "idtoken",
    "masterkey",
    "passphrase",
    "passwd",
    "password",
    "privatekey",
    "pwd",
    "refreshtoken",
    "resettoken",
    "secret",
    "secretkey",
    "securitytoken",
    "sessiontoken",
    "sharedaccesskey",
    "sharedaccesssignature",
    "signingkey",
    "slacktoken",
    "storagekey",
    "subscriptionkey",
    "xsrftoken",
];

/// Maximum number of characters of a name that are compared. Of longer names, the end counts.
const LONGEST_NAME: usize = 48;

/// Whether a field of this name holds a secret: `Authorization`, `api_key`,
/// `dbPassword`. Only letters and digits count; case is ignored.
///
/// ```
/// use oxikit_core::redact::is_secret_name;
///
/// assert!(is_secret_name("X-Api-Key"));
/// assert!(!is_secret_name("maxOutputTokens"));
/// ```
pub fn is_secret_name(name: &str) -> bool {
    if !may_be_secret(name.as_bytes()) {
        return false;
    }
    let mut plain = [0; LONGEST_NAME];
    let mut start = LONGEST_NAME;
    for byte in name.bytes().rev().filter(u8::is_ascii_alphanumeric).take(LONGEST_NAME) {
        start -= 1;
        plain[start] = byte.to_ascii_lowercase();
    }
    let plain = &plain[start..];
    let last = name.rsplit(['.', ':', '/']).next().unwrap_or(name);
    plain == b"token"
        || last.eq_ignore_ascii_case("token")
        || SECRET_ENDINGS.iter().any(|ending| plain.ends_with(ending.as_bytes()))
}

/// The last two letters of all secret names.
const LAST_LETTERS: [&[u8; 2]; 12] =
    [b"wd", b"rd", b"ie", b"se", b"re", b"ng", b"al", b"en", b"on", b"ls", b"et", b"ey"];

/// By the last letter of a name, the letters that may stand before it in a secret one, a bit for
/// each.
const BEFORE_LAST: [u32; 32] = {
    let mut before_last = [0; 32];
    let mut place = 0;
    while place < LAST_LETTERS.len() {
        let [before, last] = *LAST_LETTERS[place];
        before_last[(last & 31) as usize] |= 1 << (before & 31);
        place += 1;
    }
    before_last
};

/// A quick test of the last two letters, which excludes nearly all names. A name that ends with
/// another character than letters and digits may be secret.
fn may_end_secret(before: u8, last: u8) -> bool {
    if !before.is_ascii_alphanumeric() || !last.is_ascii_alphanumeric() {
        return true;
    }
    let are_letters = before.is_ascii_alphabetic() && last.is_ascii_alphabetic();
    are_letters && BEFORE_LAST[usize::from(last & 31)] & (1 << (before & 31)) != 0
}

/// A second quick test of a few more letters, which excludes most of the other names.
fn may_be_secret(name: &[u8]) -> bool {
    let [.., before, last] = name else {
        return false;
    };
    if !may_end_secret(*before, *last) {
        return false;
    }
    if !before.is_ascii_alphanumeric() || !last.is_ascii_alphanumeric() {
        return true; // Letters may stand behind the separator.
    }
    let ends_with = |ending: &[u8]| {
        let start = name.len().saturating_sub(ending.len());
        name[start..].eq_ignore_ascii_case(ending)
    };
    match last | 0x20 {
        b'd' => ends_with(b"wd") || ends_with(b"word"),
        b'e' => ends_with(b"okie") || ends_with(b"hrase") || ends_with(b"signature"),
        b'g' => ends_with(b"string"),
        b'l' => ends_with(b"tial"),
        b'n' => ends_with(b"oken") || ends_with(b"zation"),
        b's' => ends_with(b"tials"),
        b't' => ends_with(b"cret"),
        b'y' => ends_with(b"key"),
        _ => false,
    }
}

pub(super) fn cover(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let mut edit = Edit::new(text);
    for at in memchr2_iter(b':', b'=', bytes) {
        if edit.has_passed(at) || is_plain(bytes, at) {
            continue;
        }
        if let Some(password) = url_password(bytes, at) {
            edit.replace(password, REDACTED);
        } else if let Some((value, quotes)) = named_value(text, at) {
            match quotes {
                None => edit.replace(value, REDACTED),
                Some(depth) => {
                    let quote = format!("{}\"", "\\".repeat(depth));
                    edit.replace(value, &format!("{quote}{REDACTED}{quote}"));
                }
            }
        }
    }
    edit.finish()
}

/// Whether the `:` or `=` at `at` follows a name that is not secret, by its last letters, and is
/// not part of a URL. Nearly all are of this kind.
fn is_plain(bytes: &[u8], at: usize) -> bool {
    let mut name = &bytes[..at];
    if let [rest @ .., b'"'] = name {
        name = rest;
        while let [rest @ .., b'\\'] = name {
            name = rest;
        }
    }
    let [.., before, last] = name else { return false };
    !may_end_secret(*before, *last) && bytes.get(at + 1) != Some(&b'/')
}

/// The password in `scheme://user:password@host`, whose first `:` is at `at`.
fn url_password(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let start = at + 3;
    if at == 0 || !bytes[at - 1].is_ascii_alphanumeric() || bytes.get(at..start)? != b"://" {
        return None;
    }
    let ends = |byte: &u8| byte.is_ascii_whitespace() || b"/?#\"'<>\\`".contains(byte);
    let authority = bytes[start..].iter().position(ends).map_or(bytes.len(), |end| start + end);
    let host = start + bytes[start..authority].iter().rposition(|byte| *byte == b'@')?;
    let password = start + bytes[start..host].iter().position(|byte| *byte == b':')? + 1;
    (password < host).then_some(password..host)
}

/// The value of a secret name that ends before `at`, which is a `:` or `=`. A depth is returned
/// with it if the replacement needs quotes.
fn named_value(text: &str, at: usize) -> Option<(Range<usize>, Option<usize>)> {
    let bytes = text.as_bytes();
    let name = Name::before(bytes, at)?;
    if !is_secret_name(&text[name.range.clone()]) {
        return None;
    }
    let start = skip_space(bytes, at + 1);
    let depth = backslashes_from(bytes, start);
    let range = match (bytes.get(start + depth)?, name.quotes) {
        (b'"' | b'\'', quotes) if depth >= quotes.unwrap_or(0) => {
            let content = start + depth + 1;
            let range = content..string_end(bytes, content, bytes[content - 1], depth).0;
            let shown = &text[range.clone()];
            return (!shown.is_empty() && shown != REDACTED).then_some((range, None));
        }
        (b'{' | b'[', Some(quotes)) if depth == 0 => start..bracket_end(bytes, start, quotes),
        (_, Some(_)) if depth == 0 && bytes[at] == b':' => start..scalar_end(bytes, start),
        (_, None) if is_query(bytes, name.range.start, at) => {
            return Some((start..query_end(bytes, start), None))
                .filter(|(range, _)| !range.is_empty());
        }
        // The environment variable `PWD` holds the working directory of a process.
        (b'/', None) if text[name.range.clone()].ends_with("PWD") => return None,
        (_, None) => return plain::secret(bytes, at).map(|range| (range, None)),
        _ => return None,
    };
    let tells = !matches!(&text[range.clone()], "" | "null" | "true" | "false");
    tells.then_some((range, name.quotes))
}

struct Name {
    range: Range<usize>,
    /// Number of backslashes before its quotes, if it has quotes.
    quotes: Option<usize>,
}

impl Name {
    fn before(bytes: &[u8], at: usize) -> Option<Self> {
        let mut end = bytes[..at].trim_ascii_end().len();
        let quoted = end > 0 && matches!(bytes[end - 1], b'"' | b'\'');
        let mut quotes = None;
        if quoted {
            let depth = backslashes_before(bytes, end - 1);
            quotes = Some(depth);
            end -= 1 + depth;
        }
        if !may_be_secret(&bytes[..end]) {
            return None;
        }
        let part = |byte: &u8| {
            byte.is_ascii_alphanumeric() || b"_-.".contains(byte) || quoted && *byte == b' '
        };
        let earliest = end.saturating_sub(LONGEST_NAME + 16);
        let length = bytes[earliest..end].iter().rev().take_while(|byte| part(byte)).count();
        let mut start = end - length;
        // The letter of an escape such as `\n` is not part of a name.
        if start > 0 && bytes[start - 1] == b'\\' && matches!(bytes[start], b'n' | b'r' | b't') {
            start += 1;
        }
        Some(Self { range: start..end, quotes })
    }
}

/// White space, also as JSON inside of a string writes it.
fn skip_space(bytes: &[u8], mut at: usize) -> usize {
    loop {
        let depth = backslashes_from(bytes, at);
        match bytes.get(at + depth) {
            Some(byte) if depth == 0 && byte.is_ascii_whitespace() => at += 1,
            Some(b'n' | b'r' | b't') if depth > 0 => at += depth + 1,
            _ => return at,
        }
    }
}

/// The end of the string that began before `from`, and whether its own quote ends
/// it. `depth` is the number of backslashes before its quotes: 0, and 1, 3 or 7 inside of
/// other strings.
fn string_end(bytes: &[u8], from: usize, quote: u8, depth: usize) -> (usize, bool) {
    for at in memchr2_iter(b'"', quote, &bytes[from..]) {
        let at = from + at;
        let found = backslashes_before(&bytes[from..], at - from);
        if found < depth {
            return (at - found, false); // The string around it ends.
        }
        if ((found - depth) / (depth + 1)).is_multiple_of(2) {
            return (at - depth, true);
        }
    }
    (bytes.len(), false)
}

fn bracket_end(bytes: &[u8], open: usize, depth: usize) -> usize {
    let (mut at, mut nesting) = (open, 0_usize);
    while at < bytes.len() {
        match bytes[at] {
            b'{' | b'[' => nesting += 1,
            b'}' | b']' if nesting == 1 => return at + 1,
            b'}' | b']' => nesting -= 1,
            b'"' => {
                let found = backslashes_before(bytes, at);
                if found < depth {
                    return at - found;
                }
                let (end, closed) = string_end(bytes, at + 1, b'"', depth);
                if !closed {
                    return end;
                }
                at = end + depth;
            }
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

fn scalar_end(bytes: &[u8], start: usize) -> usize {
    end_at(bytes, start, b",}]\"'\\")
}

/// In `?name=` and `&name=`.
fn is_query(bytes: &[u8], name: usize, at: usize) -> bool {
    bytes[at] == b'=' && name > 0 && matches!(bytes[name - 1], b'?' | b'&')
}

fn query_end(bytes: &[u8], start: usize) -> usize {
    end_at(bytes, start, b"&#;,\"'<>\\)]}")
}

fn end_at(bytes: &[u8], start: usize, ends: &[u8]) -> usize {
    let ends = |byte: &u8| byte.is_ascii_whitespace() || ends.contains(byte);
    bytes[start..].iter().position(ends).map_or(bytes.len(), |end| start + end)
}

fn backslashes_from(bytes: &[u8], at: usize) -> usize {
    bytes[at..].iter().take_while(|byte| **byte == b'\\').count()
}

fn backslashes_before(bytes: &[u8], at: usize) -> usize {
    bytes[..at].iter().rev().take_while(|byte| **byte == b'\\').count()
}
