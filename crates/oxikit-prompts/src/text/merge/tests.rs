use proptest::prelude::*;

use super::*;

#[track_caller]
fn check(base: &str, stored: &str, incoming: &str, expected: &str, conflicts: &[[&str; 3]]) {
    let merged = merge(base, stored, incoming);
    let found: Vec<_> = merged
        .conflicts
        .iter()
        .map(|conflict| [&conflict.base, &conflict.stored, &conflict.incoming].map(String::as_str))
        .collect();
    assert_eq!((merged.text.as_str(), found.as_slice()), (expected, conflicts));
}

#[test]
fn edits_of_different_words_are_both_kept() {
    check("the quick fox", "the slow fox", "the quick cat", "the slow cat", &[]);
    check("the quick fox", "a quick fox", "the quick fox runs", "a quick fox runs", &[]);
    check("a b c d e", "a c d e", "a b c d", "a c d", &[]);
    check("one\n\ntwo\n", "one!\n\ntwo\n", "one\n\ntwo?\n", "one!\n\ntwo?\n", &[]);
    check("red green", "blue green", "red pink", "blue pink", &[]);
}

#[test]
fn an_edit_that_both_made_counts_once() {
    check("a b c", "a x c", "a x c d", "a x c d", &[]);
    check("a b c d", "a c d x", "a c d y", "a c d x y", &[]);
    check("a b", "a new b", "a new b!", "a new b!", &[]);
}

#[test]
fn insertions_at_one_point_are_both_kept_and_the_stored_one_is_first() {
    check("a b", "a x b", "a y b", "a x y b", &[]);
    check("a\nb\n", "a\nx\nb\n", "a\ny\nb\n", "a\nx\ny\nb\n", &[]);
    check("Hello", "Hello big", "Hello world", "Hello big world", &[]);
    check("q a b", "r a x b", "q a y b", "r a x y b", &[]);
}

#[test]
fn words_that_are_inserted_at_one_point_do_not_become_one_word() {
    check("", "one", "two", "one two", &[]);
    check("Say ", "Say hello", "Say bye", "Say hello bye", &[]);
}

#[test]
fn the_incoming_text_wins_where_both_replaced_the_same_text() {
    check("a joke", "a pun", "a riddle", "a riddle", &[["joke", "pun", "riddle"]]);
    check(
        "Tell a joke.",
        "Write one limerick.",
        "Give me puns.",
        "Give me puns.",
        &[["Tell a joke", "Write one limerick", "Give me puns"]],
    );
    let lines = [["one", "1", "eins"], ["two", "2", "zwei"]];
    check("one\nand\ntwo", "1\nand\n2", "eins\nand\nzwei", "eins\nand\nzwei", &lines);
}

#[test]
fn a_replaced_part_is_restored_where_only_some_of_it_was_replaced_by_the_incoming_text() {
    check("a,b,c,d", "X,c,d", "a,Y,d", "a,Y,d", &[["a,b,c", "X,c", "a,Y"]]);
}

#[test]
fn an_edit_inside_of_deleted_text_is_kept() {
    let base = "Be kind. Never lie to me. Be brief.";
    let deleted = "Be kind. Be brief.";
    let edited = "Be kind. Never ever lie to me. Be brief.";
    let conflict = "Never lie to me. ";
    let edit = "Never ever lie to me. ";
    check(base, deleted, edited, "Be kind. ever Be brief.", &[[conflict, "", edit]]);
    check(base, edited, deleted, "Be kind. ever Be brief.", &[[conflict, edit, ""]]);
    let replaced = "Be kind. Never cheat to me. Be brief.";
    check(
        base,
        deleted,
        replaced,
        "Be kind. cheat Be brief.",
        &[[conflict, "", "Never cheat to me. "]],
    );
}

#[test]
fn an_insertion_inside_of_replaced_text_is_kept_after_it() {
    check("a.b.c.d", "a.b.new.c.d", "a.X-d", "a.X-new.d", &[["b.c.", "b.new.c.", "X-"]]);
}

#[test]
fn overlapping_deletions_are_no_conflict() {
    check("a b c d e", "a d e", "a b e", "a e", &[]);
}

#[test]
fn line_ends_and_characters_are_kept_as_they_are() {
    check("a\r\nb\r\n", "a\r\nx\r\nb\r\n", "a\r\nb\r\ny\r\n", "a\r\nx\r\nb\r\ny\r\n", &[]);
    check("讲个笑话", "讲个短笑话", "讲一个笑话", "讲一个短笑话", &[]);
    check("hi 👩\u{200d}🚀!", "hey 👩\u{200d}🚀!", "hi 👩\u{200d}🚀?", "hey 👩\u{200d}🚀?", &[]);
}

#[test]
fn merging_long_texts_takes_about_a_second_at_most() {
    // Builds without optimisation are some thirty times slower. The limits allow for a machine
    // that does something else at the same time.
    const SIZE: usize = if cfg!(debug_assertions) { 512 * 1024 } else { 4 * 1024 * 1024 };
    const SECONDS: f64 = if cfg!(debug_assertions) { 60.0 } else { 5.0 };
    let long = |seed: u64, line: usize| {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut text = String::new();
        while text.len() < SIZE {
            text.push_str(&format!("w{} ", random.u32(..20_000)));
            if random.usize(..line) == 0 {
                text.push('\n');
            }
        }
        text
    };
    let edited = |text: &str, seed: u64, every: usize| {
        let mut random = fastrand::Rng::with_seed(seed);
        let words = text.split(' ').map(|word| match random.usize(..every) {
            0 => format!("{word}x"),
            _ => word.to_owned(),
        });
        words.collect::<Vec<_>>().join(" ")
    };
    let (base, one_line) = (long(1, 12), long(1, SIZE));
    let repeated = |text: &str| text.repeat(SIZE / text.len());
    let cases = [
        ("few edits", base.clone(), edited(&base, 2, 100_000), edited(&base, 3, 100_000)),
        ("many edits", base.clone(), edited(&base, 2, 50), edited(&base, 3, 50)),
        ("one line", one_line.clone(), edited(&one_line, 2, 1000), edited(&one_line, 3, 1000)),
        ("other texts", base.clone(), long(4, 12), long(5, 12)),
        ("one character", repeated("a\n"), repeated("a\nb\n"), repeated("b\na\nb\n")),
        ("punctuation", repeated("."), repeated(".,"), repeated(",;.")),
    ];
    for (name, base, stored, incoming) in cases {
        let start = std::time::Instant::now();
        let merged = merge(&base, &stored, &incoming);
        let seconds = start.elapsed().as_secs_f64();
        println!("{name}: {seconds:.3} s, {} conflicts", merged.conflicts.len());
        assert!(seconds < SECONDS, "{name} took {seconds} s");
    }
}

#[test]
fn two_new_versions_of_a_whole_text_are_not_mixed() {
    let base = "You are a helpful assistant that answers questions about the weather.";
    let stored = "Act as the most sarcastic comedian that the whole wide world has seen.";
    let incoming = "Translate the text of the user into French, and explain the grammar of it.";
    let [a, b, c] = [base, stored, incoming].map(|text| &text[..text.len() - 1]);
    check(base, stored, incoming, incoming, &[[a, b, c]]);
}

#[test]
fn edits_of_a_long_text_at_both_ends_are_both_kept() {
    let middle = "some words that stay\n".repeat(200_000);
    let (base, stored, incoming) =
        (format!("a\n{middle}b\n"), format!("x\n{middle}b\n"), format!("a\n{middle}y\n"));
    assert_eq!(merge(&base, &stored, &incoming).text, format!("x\n{middle}y\n"));
}

/// Texts with few different words, so that they have much in common.
fn text() -> impl Strategy<Value = String> {
    "((a|b|c|dd|é)( |\n|, |\\. |\r\n)){0,14}"
}

/// Ten words and the positions of two different ones.
fn two_positions() -> impl Strategy<Value = (usize, usize)> {
    (0..10_usize, 0..10_usize).prop_filter("two different words", |(a, b)| a != b)
}

fn words() -> Vec<String> {
    (0..10).map(|n| format!("w{n}")).collect()
}

proptest! {
    #[test]
    fn a_text_without_changes_leaves_the_other_as_it_is(base in text(), x in text()) {
        let expected = Merge { text: x.clone(), conflicts: vec![] };
        prop_assert_eq!(merge_changes(&base, &base, &x), expected.clone());
        prop_assert_eq!(merge_changes(&base, &x, &base), expected.clone());
        prop_assert_eq!(merge_changes(&base, &x, &x), expected);
    }

    #[test]
    fn any_three_texts_are_merged(base in ".{0,30}", stored in ".{0,30}", incoming in ".{0,30}") {
        merge(&base, &stored, &incoming);
    }

    #[test]
    fn new_text_is_kept_unless_a_conflict_lists_it(
        base in text(), stored in text(), incoming in text()
    ) {
        let merged = merge(&base, &stored, &incoming);
        for change in changes(&base, &incoming) {
            prop_assert!(merged.text.contains(&incoming[change.new]));
        }
        for change in changes(&base, &stored) {
            let new = &stored[change.new];
            let is_listed = merged.conflicts.iter().any(|conflict| conflict.stored.contains(new));
            prop_assert!(is_listed || merged.text.contains(new));
        }
    }

    #[test]
    fn edits_of_two_different_words_both_survive(
        (one, two) in two_positions(), insert_one: bool, insert_two: bool
    ) {
        let edit = |position: usize, word: &str, is_insertion: bool| {
            let mut words = words();
            match is_insertion {
                true => words.insert(position, word.to_owned()),
                false => words[position] = word.to_owned(),
            }
            words
        };
        let stored = edit(one, "stored", insert_one);
        let incoming = edit(two, "incoming", insert_two);
        let merged = merge(&words().join(" "), &stored.join(" "), &incoming.join(" "));
        prop_assert!(merged.conflicts.is_empty());
        let found: Vec<_> = merged.text.split(' ').collect();
        prop_assert!(found.contains(&"stored") && found.contains(&"incoming"));
        let replaced = [(one, insert_one), (two, insert_two)];
        for (position, word) in words().iter().enumerate() {
            let is_replaced = replaced.contains(&(position, false));
            prop_assert_eq!(found.contains(&word.as_str()), !is_replaced);
        }
        prop_assert_eq!(found.len(), 10 + usize::from(insert_one) + usize::from(insert_two));
    }
}
