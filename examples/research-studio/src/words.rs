//! Words and sentences of a text: how the offline model and the research agents choose passages.

use std::collections::BTreeSet;

/// Words that say nothing about the subject of a question.
const COMMON: [&str; 34] = [
    "about", "and", "are", "best", "can", "does", "for", "from", "has", "have", "how", "into",
    "is", "its", "latest", "main", "me", "much", "of", "on", "please", "should", "some", "tell",
    "than", "that", "the", "their", "there", "what", "when", "which", "why", "with",
];

/// The words of a question that say what it is about, in lower case.
pub fn keywords(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
    words.filter(|word| word.chars().count() > 2 && !COMMON.contains(&word.as_str())).collect()
}

/// Number of keywords that occur in a text. A plural counts as its singular.
pub fn overlap(keywords: &BTreeSet<String>, text: &str) -> usize {
    let words: BTreeSet<String> = self::keywords(text).iter().map(|word| stem(word)).collect();
    keywords.iter().filter(|word| words.contains(&stem(word))).count()
}

fn stem(word: &str) -> String {
    word.strip_suffix('s').unwrap_or(word).to_owned()
}

/// The sentences of a text, without white space around them.
pub fn sentences(text: &str) -> Vec<&str> {
    let is_end = |(at, c): (usize, char)| {
        let rest = &text[at + c.len_utf8()..];
        (matches!(c, '.' | '!' | '?') && rest.starts_with(char::is_whitespace)) || c == '\n'
    };
    let mut sentences = Vec::new();
    let mut start = 0;
    for (at, c) in text.char_indices().filter(|it| is_end(*it)) {
        sentences.push(text[start..at + c.len_utf8()].trim());
        start = at + c.len_utf8();
    }
    sentences.push(text[start..].trim());
    sentences.retain(|sentence| !sentence.is_empty());
    sentences
}

/// At most this number of characters, cut at a word, with a mark if something is missing.
pub fn shortened(text: &str, characters: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(characters) else {
        return text.to_owned();
    };
    let cut = text[..end].rfind(char::is_whitespace).unwrap_or(end);
    format!("{}…", text[..cut].trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_are_the_subject() {
        let keywords = keywords("What are the best batteries for solar power?");
        assert_eq!(keywords.iter().collect::<Vec<_>>(), ["batteries", "power", "solar"]);
        assert_eq!(overlap(&keywords, "Solar powers a battery."), 2);
    }

    #[test]
    fn sentences_end_with_a_full_stop_and_a_space_or_with_a_line() {
        let text = "Costs fell by 3.5 %. Why? Nobody\nknows";
        assert_eq!(sentences(text), ["Costs fell by 3.5 %.", "Why?", "Nobody", "knows"]);
    }

    #[test]
    fn long_texts_are_cut_at_a_word() {
        assert_eq!(shortened("short", 10), "short");
        assert_eq!(shortened("some longer text", 13), "some longer…");
    }
}
