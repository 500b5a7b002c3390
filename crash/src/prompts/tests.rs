//! The checkers of the trials find what they look for.

use super::check::missing;
use super::typist::{Typist, first_text};

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn a_text_that_is_not_in_the_history_is_found() {
    let history = texts(&["one", "one two", "one two three"]);
    assert_eq!(missing(&texts(&["one two", "one two three"]), &history), texts(&[]));
    let found = missing(&texts(&["one two", "one four"]), &history);
    assert_eq!(found, ["not in the history: \"one four\""]);
}

#[test]
fn every_edit_has_a_word_of_its_own() {
    let mut typist = Typist::new("c", &mut fastrand::Rng::with_seed(7));
    let mut text = first_text();
    for number in 0..100 {
        let edited = typist.edit(&text);
        assert!(edited.contains(&typist.words[number]), "{edited}");
        assert!(!text.contains(&typist.words[number]), "{text}");
        text = edited;
    }
}
