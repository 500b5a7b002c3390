//! Lengths of words in a tag: names, numbers and `else`. The Handlebars grammar defines them by
//! regular expressions, some of which look at the character after the word.

use crate::handlebars::text::is_js_space;

/// Replaces `\\` by `\` and `\]` by `]`.
pub(super) fn unescape_bracket(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match characters.peek() {
            Some(next @ ('\\' | ']')) if character == '\\' => {
                out.push(*next);
                characters.next();
            }
            _ => out.push(character),
        }
    }
    out
}

/// Length of `^}}` or `else}}` with optional spaces and `~`; `None` if more follows in the tag.
pub(super) fn inverse_length(tail: &str) -> Option<usize> {
    let after = match tail.strip_prefix('^') {
        Some(after) => after,
        None => tail.trim_start_matches(is_js_space).strip_prefix("else")?,
    };
    let after = after.trim_start_matches(is_js_space);
    let after = after.strip_prefix('~').unwrap_or(after);
    let after = after.strip_prefix("}}")?;
    Some(tail.len() - after.len())
}

/// Length of `else` up to its end; `None` if it is only the start of a longer name.
pub(super) fn else_length(tail: &str) -> Option<usize> {
    let after = tail.trim_start_matches(is_js_space).strip_prefix("else")?;
    let goes_on =
        after.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    (!goes_on).then(|| tail.len() - after.len())
}

/// Length of the name at the start of `text`: up to white space or a character that the grammar
/// reserves.
pub(super) fn id_length(text: &str) -> usize {
    text.find(|c: char| is_js_space(c) || "!\"#%&'()*+,./;<=>@[\\]^`{|}~".contains(c))
        .unwrap_or(text.len())
}

/// Length of the number at the start of `text`; 0 if there is none. `1.2.3` and `12ab` are no
/// numbers, because a literal has to be followed by white space or a closing character.
pub(super) fn number_length(text: &str) -> usize {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let sign = usize::from(text.starts_with('-'));
    let whole = digits(&text[sign..]);
    if whole == 0 {
        return 0;
    }
    let end = sign + whole;
    if let Some(fraction) = text[end..].strip_prefix('.') {
        let length = digits(fraction);
        if length > 0 && ends_literal(&fraction[length..]) {
            return end + 1 + length;
        }
    }
    if ends_literal(&text[end..]) { end } else { 0 }
}

/// Whether a name may end before `after`.
pub(super) fn ends_id(after: &str) -> bool {
    after.chars().next().is_some_and(|c| is_js_space(c) || "=~}/.)|".contains(c))
}

/// Whether a literal may end before `after`. `=` is not allowed: `true=1` is an argument `true`.
pub(super) fn ends_literal(after: &str) -> bool {
    after.chars().next().is_some_and(|c| is_js_space(c) || "~})".contains(c))
}
