//! Values found in what a user wrote.

use std::collections::VecDeque;

/// Values found in a text, used up from the front.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Hints {
    text: String,
    numbers: VecDeque<f64>,
    quoted: VecDeque<String>,
    /// The rest of the text.
    words: Option<String>,
}

impl Hints {
    /// Collects the values of a text. The name of the tool that the text calls is not a value;
    /// values after it are preferred to those before it.
    pub(super) fn new(text: &str, tool: Option<&str>) -> Self {
        let mention = tool.and_then(|tool| Some((find_word(text, tool)?, tool.len())));
        let (before, after) = match mention {
            Some((at, len)) => (&text[..at], &text[at + len..]),
            None => ("", text),
        };
        Self {
            numbers: numbers(before).chain(numbers(after)).collect(),
            quoted: quoted(text),
            words: words(after).or_else(|| words(before)),
            text: text.to_owned(),
        }
    }

    /// The next number that fits.
    pub(super) fn number(&mut self, fits: impl Fn(f64) -> bool) -> Option<f64> {
        let at = self.numbers.iter().position(|number| fits(*number))?;
        self.numbers.remove(at)
    }

    /// The next quoted text, else all the words, once.
    pub(super) fn string(&mut self) -> Option<String> {
        self.quoted.pop_front().or_else(|| self.words.take())
    }

    /// A word of the text that fits.
    pub(super) fn word(&self, fits: impl Fn(&str) -> bool) -> Option<String> {
        self.text
            .split_whitespace()
            .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric() && c != '/'))
            .find(|word| fits(word))
            .map(str::to_owned)
    }

    /// Whether the text contains this name as a word.
    pub(super) fn mentions(&self, name: &str) -> bool {
        find_word(&self.text, name).is_some()
    }
}

/// The position of a name as a whole word in a text, in upper or lower case.
pub(super) fn find_word(text: &str, name: &str) -> Option<usize> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let (text, name) = (text.to_ascii_lowercase(), name.to_ascii_lowercase());
    if name.is_empty() {
        return None;
    }
    text.match_indices(&name)
        .map(|(at, _)| at)
        .find(|&at| !text[..at].ends_with(is_part) && !text[at + name.len()..].starts_with(is_part))
}

/// The numbers of a text, in order. Digits within words are not numbers.
fn numbers(text: &str) -> impl Iterator<Item = f64> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_');
    let mut numbers = Vec::new();
    let mut end = 0;
    for token in text.split(|c| !is_part(c)) {
        // Tokens lie in order and apart, each behind one separator or more.
        let start = end + text[end..].find(token).unwrap_or(0);
        end = start + token.len();
        let Ok(number) = token.trim_end_matches('.').parse::<f64>() else {
            continue;
        };
        let before = &text[..start];
        let is_negative = before.strip_suffix('-').is_some_and(|before| !before.ends_with(is_part));
        if number.is_finite() {
            numbers.push(if is_negative { -number } else { number });
        }
    }
    numbers.into_iter()
}

/// The texts between quotes, in order.
fn quoted(text: &str) -> VecDeque<String> {
    const QUOTES: [(char, char); 5] =
        [('"', '"'), ('`', '`'), ('“', '”'), ('«', '»'), ('\'', '\'')];
    let mut found = VecDeque::new();
    let mut rest = text;
    let mut before = ' ';
    while let Some(next) = rest.chars().next() {
        let after = &rest[next.len_utf8()..];
        let closing = QUOTES.iter().find(|(opening, _)| *opening == next);
        // An apostrophe within a word opens nothing.
        let end = closing
            .filter(|_| !before.is_alphanumeric())
            .and_then(|(_, closing)| Some((after.find(*closing)?, closing.len_utf8())));
        match end {
            Some((end, len)) => {
                found.push_back(after[..end].to_owned());
                rest = &after[end + len..];
            }
            None => rest = after,
        }
        before = next;
    }
    found
}

/// The words of a text without numbers, and without the small words and the
/// punctuation around them; `None` if nothing is left.
fn words(text: &str) -> Option<String> {
    const SMALL: [&str; 24] = [
        "a", "about", "and", "at", "by", "call", "can", "for", "from", "in", "is", "it", "me",
        "of", "on", "please", "the", "to", "tool", "use", "using", "what", "with", "you",
    ];
    let words: Vec<&str> = text
        .split_whitespace()
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()))
        .filter(|word| !word.is_empty() && word.parse::<f64>().is_err())
        .collect();
    let is_small = |word: &&str| SMALL.contains(&word.to_ascii_lowercase().as_str());
    let start = words.iter().position(|word| !is_small(word))?;
    let end = words.iter().rposition(|word| !is_small(word))?;
    Some(words[start..=end].join(" "))
}
