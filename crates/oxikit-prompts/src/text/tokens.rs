//! Tokens of a text: words, runs of white space, line ends, single punctuation characters.
//!
//! One function, [`breaks`], decides where a token ends. Everything else is derived from it, so
//! that two parts of a text that were split separately have the same tokens as the whole text.

/// What a character is part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    /// Letters and digits of writing systems that separate words by spaces, and `_`.
    Word,
    /// White space within a line.
    Space,
    /// Everything else; each character is a token of its own.
    Single,
}

fn class(character: char) -> Class {
    match character {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '_' => Class::Word,
        '\n' | '\r' => Class::Single,
        ' ' | '\t' => Class::Space,
        '\0'..='\x7f' => Class::Single,
        // Accents, which mostly follow letters.
        '\u{300}'..='\u{36f}' => Class::Word,
        _ if is_ideograph(character) => Class::Single,
        _ if character.is_alphanumeric() => Class::Word,
        _ if character.is_whitespace() => Class::Space,
        _ => Class::Single,
    }
}

/// Characters of Chinese and Japanese, which are written without spaces between words. A whole
/// sentence would be one token otherwise.
fn is_ideograph(character: char) -> bool {
    matches!(character, '\u{2e80}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Characters that change the one before them: accents, variants and the joiner of emoji.
fn extends(character: char) -> bool {
    matches!(
        character,
        '\u{300}'..='\u{36f}' | '\u{200d}' | '\u{20e3}' | '\u{fe00}'..='\u{fe0f}' | '\u{1f3fb}'..='\u{1f3ff}'
    )
}

/// Whether a token ends between two neighbouring characters.
fn breaks(left: char, right: char) -> bool {
    if left.is_ascii() && right.is_ascii() {
        let is_pair = matches!((left, right), ('\r', '\n'));
        let left = class(left);
        return !is_pair && (left == Class::Single || left != class(right));
    }
    if left == '\u{200d}' || extends(right) {
        return matches!(left, '\n' | '\r');
    }
    let (left, right) = (class(left), class(right));
    left == Class::Single || left != right
}

/// Whether a token ends at this byte, which must be a boundary of characters.
pub(super) fn is_boundary(text: &str, at: usize) -> bool {
    let left = text[..at].chars().next_back();
    let right = text[at..].chars().next();
    left.zip(right).is_none_or(|(left, right)| breaks(left, right))
}

/// Whether two texts need a space between them, because a word ends the first and begins the
/// second.
pub(super) fn would_join_words(left: &str, right: &str) -> bool {
    let is_word = |character: Option<char>| character.is_some_and(|c| class(c) == Class::Word);
    is_word(left.chars().next_back()) && is_word(right.chars().next())
}

/// Length of the first token in bytes; 0 for an empty text.
pub(super) fn first_len(text: &str) -> usize {
    let mut characters = text.char_indices();
    let Some((_, mut left)) = characters.next() else { return 0 };
    for (at, right) in characters {
        if breaks(left, right) {
            return at;
        }
        left = right;
    }
    text.len()
}

/// The tokens of a text, which together are the text.
pub(super) fn tokens(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (token, after) = rest.split_at(first_len(rest));
        rest = after;
        (!token.is_empty()).then_some(token)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(Vec::from_iter(tokens(text)), expected);
    }

    #[test]
    fn words_spaces_line_ends_and_punctuation_are_tokens() {
        check("", &[]);
        check("Tell  a joke!", &["Tell", "  ", "a", " ", "joke", "!"]);
        check("a\r\n\n\tb\r", &["a", "\r\n", "\n", "\t", "b", "\r"]);
        check("don't...", &["don", "'", "t", ".", ".", "."]);
        check("{{name}}", &["{", "{", "name", "}", "}"]);
        check("größer_als 42", &["größer_als", " ", "42"]);
    }

    #[test]
    fn characters_of_chinese_are_tokens_of_their_own() {
        check("讲个笑话 ok", &["讲", "个", "笑", "话", " ", "ok"]);
    }

    #[test]
    fn marks_and_joined_emoji_stay_with_their_character() {
        check("cafe\u{301}s!", &["cafe\u{301}s", "!"]);
        check("a👩\u{200d}🚀b👍\u{1f3fd}", &["a", "👩\u{200d}🚀", "b", "👍\u{1f3fd}"]);
    }

    proptest! {
        #[test]
        fn tokens_are_the_text_and_end_at_boundaries(text in "[ a\u{301}é👩\u{200d}\r\n.讲_]{0,20}") {
            let parts = Vec::from_iter(tokens(&text));
            prop_assert_eq!(parts.concat(), text.clone());
            let mut at = 0;
            for part in parts {
                at += part.len();
                prop_assert!(is_boundary(&text, at));
            }
        }
    }
}
