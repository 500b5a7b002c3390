//! Names that were probably meant: for the advice of errors.

/// Whether one name was probably meant by the other: the same but for a few
/// letters, or for the part before the last slash.
pub fn is_near(asked: &str, known: &str) -> bool {
    let last = |name: &str| name.rsplit('/').next().unwrap_or_default().to_lowercase();
    if last(asked) == last(known) {
        return true;
    }
    let (asked, known) = (asked.to_lowercase(), known.to_lowercase());
    let allowed = (known.chars().count() / 4).clamp(1, 3);
    // Cheaper than the distance, and true for most names.
    asked.len().abs_diff(known.len()) <= 4 * allowed && distance(&asked, &known) <= allowed
}

/// How many letters must be changed, added or removed (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, a) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, b) in b.iter().enumerate() {
            let changed = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_counts_changed_added_and_removed_letters() {
        let check = |a, b, expected| assert_eq!(distance(a, b), expected, "{a} {b}");
        check("", "", 0);
        check("", "abc", 3);
        check("embed", "embed", 0);
        check("embd", "embed", 1);
        check("kitten", "sitting", 3);
    }

    #[test]
    fn a_name_is_near_but_for_a_few_letters_or_its_prefix() {
        for (asked, known) in
            [("embd", "embed"), ("embed", "acme/Embed"), ("/flow/helo", "/flow/hello")]
        {
            assert!(is_near(asked, known), "{asked} {known}");
        }
        for (asked, known) in [("tea", "coffee"), ("", "hello"), ("hello", "hi")] {
            assert!(!is_near(asked, known), "{asked} {known}");
        }
    }
}
