//! What JavaScript calls white space, which is not quite what Rust does.

/// Whether `\s` of a JavaScript expression matches.
pub(crate) fn is_js_space(character: char) -> bool {
    character == '\u{feff}' || (character.is_whitespace() && character != '\u{85}')
}

/// Text without white space around it, as `String.prototype.trim` does.
pub(crate) fn js_trim(text: &str) -> &str {
    text.trim_matches(is_js_space)
}
