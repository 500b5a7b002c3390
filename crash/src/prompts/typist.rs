//! Edits of one word at a random place, each with a word of its own.

use fastrand::Rng;

/// The text of all documents at the beginning: five lines of twelve words.
pub(super) fn first_text() -> String {
    let line = |line: usize| {
        let words: Vec<_> = (0..12).map(|word| format!("w{line}x{word}")).collect();
        format!("{}.\n", words.join(" "))
    };
    (0..5).map(line).collect()
}

/// Somebody who edits.
pub(super) struct Typist {
    pub(super) rng: Rng,
    /// The beginning of its words, which nobody else has.
    name: String,
    /// The words that it has typed.
    pub(super) words: Vec<String>,
}

impl Typist {
    pub(super) fn new(name: &str, rng: &mut Rng) -> Self {
        Self { rng: rng.fork(), name: name.to_owned(), words: Vec::new() }
    }

    /// A text with another word: inserted, or for one of four edits in place of one.
    pub(super) fn edit(&mut self, text: &str) -> String {
        let word = format!("{}n{}", self.name, self.words.len());
        let starts: Vec<usize> = text.match_indices(' ').map(|(place, _)| place + 1).collect();
        let start = starts.get(self.rng.usize(..starts.len().max(1))).copied().unwrap_or(0);
        let rest = &text[start..];
        let edited = if self.rng.u8(..4) == 0 {
            let length = rest.find([' ', '.', '\n']).unwrap_or(rest.len());
            format!("{}{word}{}", &text[..start], &rest[length..])
        } else {
            format!("{}{word} {rest}", &text[..start])
        };
        self.words.push(word);
        edited
    }
}
