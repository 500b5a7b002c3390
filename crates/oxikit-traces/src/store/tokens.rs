//! Splits texts into words, for the index and for queries alike.
//!
//! Only letters and digits are left, so that a query cannot contain operators of the index's
//! own query language.

use oxikit_wire::attribute;
use oxikit_wire::trace::{RawMembers, SpanSearchText};
use serde_json::value::RawValue;

use super::members::shown;

/// Maximum number of bytes of a value that are indexed. The rest is skipped: longer values
/// are mostly data and not text.
const MAX_VALUE_BYTES: usize = 16 * 1024;
/// Maximum length of a word in bytes. Longer ones are not indexed: most are base64 data.
const MAX_WORD_BYTES: usize = 40;
/// Initial capacity in bytes, enough for the words of most spans.
const USUAL_BYTES: usize = 512;

/// The words of the JSON of a span.
pub(super) fn words_of(json: &str) -> String {
    let Ok(span) = serde_json::from_str::<SpanSearchText<'_>>(json) else { return String::new() };
    collect(&span.display_name, span.status.message.as_deref(), &span.attributes)
}

/// The words of a span, with spaces between.
pub(super) fn collect(name: &str, message: Option<&str>, attributes: &RawMembers<'_>) -> String {
    let mut text = String::with_capacity(USUAL_BYTES);
    let mut buffer = String::with_capacity(MAX_WORD_BYTES);
    let mut add = |value: &str| {
        each_word(value, &mut buffer, |word| {
            text.push_str(word);
            text.push(' ');
        });
    };
    add(start(name));
    message.map(start).into_iter().for_each(&mut add);
    for (name, value) in &attributes.0 {
        // These values are the same in nearly every span.
        let is_usual = matches!(
            &**name,
            attribute::TYPE
                | attribute::IS_ROOT
                | attribute::PATH
                | attribute::STATE
                | attribute::NAME
        );
        if is_usual {
            continue;
        }
        match plain_escapes(value) {
            Some(written) => without_escapes(start(written)).for_each(&mut add),
            None => add(start(&shown(value))),
        }
    }
    text
}

/// The part of a value that is indexed.
fn start(value: &str) -> &str {
    &value[..value.floor_char_boundary(MAX_VALUE_BYTES)]
}

/// A text as JSON writes it, if none of its escapes stands for a letter.
fn plain_escapes(value: &RawValue) -> Option<&str> {
    let written = value.get().strip_prefix('"')?.strip_suffix('"')?;
    (!written.contains("\\u")).then_some(written)
}

/// The pieces between the escapes, which are of two bytes each.
fn without_escapes(written: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(written);
    std::iter::from_fn(move || {
        let text = rest?;
        let Some(escape) = text.find('\\') else { return rest.take() };
        rest = text.get(escape + 2..);
        Some(&text[..escape])
    })
}

/// Calls `take` with each word of a text: letters and digits, in lower case. Signs of
/// scripts without spaces are a word each. `word` is a buffer that is reused.
pub(super) fn each_word(text: &str, word: &mut String, mut take: impl FnMut(&str)) {
    let mut end = |word: &mut String| {
        if (1..=MAX_WORD_BYTES).contains(&word.len()) {
            take(word);
        }
        word.clear();
    };
    let mut rest = text;
    loop {
        // Most letters are ASCII: a run of them is copied at once.
        let run = rest.bytes().take_while(u8::is_ascii_alphanumeric).count();
        let (letters, behind) = rest.split_at(run);
        let begin = word.len();
        word.push_str(letters);
        word[begin..].make_ascii_lowercase();
        let Some(character) = behind.chars().next() else { break };
        rest = &behind[character.len_utf8()..];
        if !character.is_alphanumeric() {
            end(word);
        } else {
            let is_sign = character >= '\u{2e80}';
            if is_sign {
                end(word);
            }
            // Lower case can add combining marks, such as a dot above, which would split the
            // word.
            word.extend(character.to_lowercase().filter(|lower| lower.is_alphanumeric()));
            if is_sign {
                end(word);
            }
        }
    }
    end(word);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::value::to_raw_value;

    use super::*;

    fn words(texts: &[&str]) -> Vec<String> {
        let (mut words, mut buffer) = (Vec::new(), String::new());
        for text in texts {
            each_word(text, &mut buffer, |word| words.push(word.to_owned()));
        }
        words
    }

    proptest! {
        #[test]
        fn a_text_and_how_json_writes_it_have_the_same_words(
            text in "([a-zA-ZäÄ東0-9 ]|[\"\\\\/\n\t\r]|\\{\"a\":){0,40}",
        ) {
            let nested = serde_json::json!({"text": text, "more": [text]}).to_string();
            for text in [text, nested] {
                let value = to_raw_value(&text).unwrap();
                // An escaped backslash before a `u` looks like an escape that is none.
                let Some(written) = plain_escapes(&value) else { continue };
                let pieces: Vec<_> = without_escapes(written).collect();
                prop_assert_eq!(words(&pieces), words(&[&text]));
            }
        }
    }

    #[test]
    fn escapes_that_stand_for_letters_are_read() {
        let value: Box<RawValue> = serde_json::from_str(r#""caf\u00e9""#).unwrap();
        assert_eq!(plain_escapes(&value), None);
    }
}
