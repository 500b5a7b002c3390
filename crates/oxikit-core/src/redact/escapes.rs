//! Removes needless escapes: JSON may write `/` and any letter as an escape, which would hide a
//! secret name from the scan.

use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::edit::Edit;

static LETTER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(r"\u00"));
static SLASH: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(r"\/"));

/// The same JSON without needless escapes; `None` if it has none.
pub(super) fn plain(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    if LETTER.find(bytes).is_none() && SLASH.find(bytes).is_none() {
        return None;
    }
    let mut edit = Edit::new(text);
    for at in memchr::memchr_iter(b'\\', bytes) {
        if edit.has_passed(at) {
            continue;
        }
        match bytes.get(at + 1) {
            Some(b'/') => edit.replace(at..at + 2, "/"),
            Some(b'u') => match ascii(text.get(at + 2..at + 6)) {
                Some(letter @ ('"' | '\\')) => edit.replace(at..at + 6, &format!("\\{letter}")),
                Some(letter) => edit.replace(at..at + 6, letter.encode_utf8(&mut [0; 4])),
                None => {}
            },
            // The second backslash of a pair does not begin another escape.
            Some(b'\\') => edit.replace(at..at + 2, r"\\"),
            _ => {}
        }
    }
    Some(edit.finish().into_owned())
}

/// Control characters stay escapes: JSON does not allow them in any other form.
fn ascii(hex: Option<&str>) -> Option<char> {
    let code = u8::try_from(u32::from_str_radix(hex?, 16).ok()?).ok()?;
    (0x20..0x7f).contains(&code).then_some(char::from(code))
}
