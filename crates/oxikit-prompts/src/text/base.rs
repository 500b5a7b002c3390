//! Infers which text an edited text was made from.
//!
//! Plain clients send whole texts and do not say which one they started from. The server knows the
//! texts that a client has seen; the one with the fewest differences is taken as the base of the
//! merge. This is a guess: a client that names its revision is always merged correctly.

use super::changes::differing;
use super::tokens::tokens;

/// Maximum number of candidates. Of more, only the newest are compared.
pub const MAX_CANDIDATES: usize = 16;

/// Maximum number of inserted and deleted tokens that are counted. Candidates with more are
/// compared by the size of the part that differs.
const MAX_DISTANCE: usize = 512;

/// Maximum size of two differing parts together, in bytes, whose tokens are counted.
const MAX_BYTES: usize = 256 * 1024;

/// Maximum number of steps for all candidates of one text.
const MAX_STEPS: usize = 4_000_000;

/// The position of the candidate that `submitted` was most likely made from.
///
/// That is the one with the smallest number of inserted and deleted tokens; of several, the newest.
/// The candidates are the texts that the client was sent or has submitted itself, the oldest
/// first. Without candidates the answer is 0.
///
/// ```
/// use oxikit_prompts::text::infer_base;
///
/// let seen = ["Tell a joke.", "Tell a short joke.", "Tell a short joke about tea."];
/// assert_eq!(infer_base(seen, "Tell a funny short joke."), 1);
/// ```
pub fn infer_base<'a>(candidates: impl IntoIterator<Item = &'a str>, submitted: &str) -> usize {
    let candidates: Vec<&str> = candidates.into_iter().collect();
    let oldest = candidates.len().saturating_sub(MAX_CANDIDATES);
    let newest_first = || (oldest..candidates.len()).rev();
    let mut steps = MAX_STEPS;
    let mut best = None;
    let mut limit = MAX_DISTANCE;
    for position in newest_first() {
        if let Some(distance) = distance(candidates[position], submitted, limit, &mut steps) {
            best = Some(position);
            // An older candidate has to be better than this one.
            let Some(smaller) = distance.checked_sub(1) else { break };
            limit = smaller;
        }
    }
    let size = |&position: &usize| {
        let part = differing(candidates[position], submitted);
        part.base.len() + part.new.len()
    };
    best.or_else(|| newest_first().min_by_key(size)).unwrap_or(0)
}

/// Number of tokens that have to be inserted and deleted; `None` if there are more than `limit`,
/// or if counting them takes too long.
fn distance(base: &str, new: &str, limit: usize, steps: &mut usize) -> Option<usize> {
    let part = differing(base, new);
    if part.base.len() + part.new.len() > MAX_BYTES {
        return None;
    }
    let a: Vec<&str> = tokens(&base[part.base]).collect();
    let b: Vec<&str> = tokens(&new[part.new]).collect();
    if a.len().abs_diff(b.len()) > limit {
        return None;
    }
    // The greedy algorithm of Myers: `reached[k]` is the greatest position in `a` that d edits
    // reach on diagonal k. Diagonals are stored from -limit - 1 to limit + 1.
    let limit = limit.min(a.len() + b.len()) as isize;
    let offset = limit + 1;
    let mut reached = vec![0_usize; 2 * offset as usize + 1];
    for d in 0..=limit {
        for k in (-d..=d).step_by(2) {
            let (below, above) =
                (reached[(k - 1 + offset) as usize], reached[(k + 1 + offset) as usize]);
            let start = if k == -d || (k != d && below < above) { above } else { below + 1 };
            let other = (start as isize - k) as usize;
            let rest = a.get(start..).unwrap_or_default().iter();
            let rest = rest.zip(b.get(other..).unwrap_or_default());
            let kept = rest.take_while(|(a, b)| a == b).count();
            reached[(k + offset) as usize] = start + kept;
            if start + kept >= a.len() && other + kept >= b.len() {
                return Some(d as usize);
            }
            *steps = steps.checked_sub(kept + 1)?;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn distance(a: &str, b: &str) -> Option<usize> {
        super::distance(a, b, MAX_DISTANCE, &mut { MAX_STEPS })
    }

    #[test]
    fn the_distance_is_the_number_of_inserted_and_deleted_tokens() {
        assert_eq!(distance("", ""), Some(0));
        assert_eq!(distance("a b c", "a b c"), Some(0));
        assert_eq!(distance("a b c", "a x c"), Some(2));
        assert_eq!(distance("a b c", "a b x c"), Some(2));
        assert_eq!(distance("a b c d e f", "a x c d f"), Some(4));
        assert_eq!(distance("", "word"), Some(1));
    }

    #[test]
    fn the_newest_of_equally_distant_candidates_is_taken() {
        assert_eq!(infer_base(["a b", "a c"], "a d"), 1);
        assert_eq!(infer_base(["a b", "a b", "x"], "a b"), 1);
    }

    #[test]
    fn without_candidates_the_answer_is_0() {
        assert_eq!(infer_base([], "text"), 0);
    }

    #[test]
    fn only_the_newest_candidates_are_compared() {
        let others: Vec<String> = (0..MAX_CANDIDATES).map(|n| format!("other {n}")).collect();
        let all = || std::iter::once("text").chain(others.iter().map(String::as_str));
        assert_ne!(infer_base(all(), "text"), 0);
        assert_eq!(infer_base(all().take(MAX_CANDIDATES), "text"), 0);
    }

    #[test]
    fn a_text_that_is_far_from_all_candidates_gets_the_one_with_the_smallest_difference() {
        let long = |word: &str| format!("{word} ").repeat(2000);
        let candidates = [long("a"), format!("{}{}", long("b"), long("c")), long("d")];
        let submitted = format!("{}{}", long("b"), long("e"));
        assert_eq!(infer_base(candidates.iter().map(String::as_str), &submitted), 1);
    }

    #[test]
    fn long_candidates_take_bounded_time() {
        let candidates: Vec<String> =
            (0..MAX_CANDIDATES).map(|n| format!("{n}{}", "a ".repeat(60_000 + n))).collect();
        let start = std::time::Instant::now();
        infer_base(candidates.iter().map(String::as_str), &"a ".repeat(60_300));
        assert!(start.elapsed().as_secs_f64() < 5.0);
    }

    proptest! {
        #[test]
        fn the_distance_is_that_of_the_longest_common_subsequence(
            a in "([abc] ){0,10}", b in "([abc] ){0,10}"
        ) {
            let (x, y): (Vec<_>, Vec<_>) = (tokens(&a).collect(), tokens(&b).collect());
            let mut row = vec![0; y.len() + 1];
            for x in &x {
                let mut diagonal = 0;
                for (column, y) in y.iter().enumerate() {
                    let above = row[column + 1];
                    row[column + 1] = if x == y { diagonal + 1 } else { above.max(row[column]) };
                    diagonal = above;
                }
            }
            prop_assert_eq!(distance(&a, &b), Some(x.len() + y.len() - 2 * row[y.len()]));
        }
    }
}
