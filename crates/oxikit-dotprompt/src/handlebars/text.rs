//! White space as JavaScript defines it, which differs from Rust's definition.

/// Whether `\s` of a JavaScript regular expression matches. Unlike Rust's white space, it
/// includes the byte order mark and excludes U+0085 (next line).
pub(crate) fn is_js_space(character: char) -> bool {
    character == '\u{feff}' || (character.is_whitespace() && character != '\u{85}')
}

/// Text without white space around it, as `String.prototype.trim` does.
pub(crate) fn js_trim(text: &str) -> &str {
    text.trim_matches(is_js_space)
}
