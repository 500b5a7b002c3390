//! Finds the known name that was probably meant, for the advice in error messages.

/// Whether `known` was probably meant by `asked`: they differ in at most a quarter of their
/// letters (at least one, at most three), or only in the part before the last slash. Case is
/// ignored.
///
/// ```
/// use oxikit_core::near::is_near;
///
/// assert!(is_near("/flow/helo", "/flow/hello"));
/// assert!(is_near("fast-model", "acme/fast-model"));
/// assert!(!is_near("tea", "coffee"));
/// ```
pub fn is_near(asked: &str, known: &str) -> bool {
    let last = |name: &str| name.rsplit('/').next().unwrap_or_default().to_lowercase();
    if last(asked) == last(known) {
        return true;
    }
    let (asked, known) = (asked.to_lowercase(), known.to_lowercase());
    let allowed = (known.chars().count() / 4).clamp(1, 3);
    // Lengths are compared first, because that excludes most names without the distance.
    // A character has at most four bytes.
    asked.len().abs_diff(known.len()) <= 4 * allowed && distance(&asked, &known) <= allowed
}

/// The number of letters that must be changed, added, removed or swapped with their neighbour
/// (Damerau-Levenshtein, where no letter takes part in two changes).
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    // Only three rows of the usual matrix are kept: a swap looks back two letters.
    let mut before = Vec::new();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for i in 0..a.len() {
        let mut next = vec![i + 1];
        for j in 0..b.len() {
            let changed = row[j] + usize::from(a[i] != b[j]);
            let mut least = changed.min(row[j + 1] + 1).min(next[j] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                let swapped: usize = before[j - 1];
                least = least.min(swapped + 1);
            }
            next.push(least);
        }
        before = std::mem::replace(&mut row, next);
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_counts_changed_added_removed_and_swapped_letters() {
        let check = |a, b, expected| assert_eq!(distance(a, b), expected, "{a} {b}");
        check("", "", 0);
        check("", "abc", 3);
        check("embed", "embed", 0);
        check("embd", "embed", 1);
        check("kitten", "sitting", 3);
        check("modle", "model", 1);
        check("defualt", "default", 1);
        check("ba", "abc", 2);
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
