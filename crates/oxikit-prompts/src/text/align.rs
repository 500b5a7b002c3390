//! Finds the common parts of two sequences: the algorithm of Myers in linear space, with a limit.
//!
//! Long sequences are first split at runs of tokens that occur exactly once in both. Where the
//! limits are reached, a part counts as replaced as a whole: the result is correct, but coarser.

use std::collections::HashMap;
use std::ops::Range;

/// Maximum number of insertions and deletions that are searched for in half of one part.
/// Parts with more differences are split at anchors or replaced as a whole.
const MAX_EDITS: usize = 1024;

/// Number of steps that a comparison of two texts may take. Parts that remain then are replaced
/// as a whole.
pub(super) const MAX_STEPS: usize = 5_000_000;

/// Parts with more tokens are split at anchors before they are compared.
const ANCHORS_ABOVE: usize = 4096;

/// Number of runs, about, that are looked at to find anchors.
const MAX_RUNS: usize = 64 * 1024;

/// Maximum number of times that the parts between anchors are split at anchors again.
const MAX_ANCHOR_DEPTH: usize = 4;

/// A part of `a` that a part of `b` replaces; one of them may be empty, not both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Edit {
    pub(super) a: Range<usize>,
    pub(super) b: Range<usize>,
}

/// The edits that turn `a` into `b`, in order. Between two of them at least one item is kept.
///
/// `anchor` is the number of items of a run that is unlikely to occur twice by chance, and `steps`
/// is the number of steps that may be taken, and is reduced by those that were taken.
pub(super) fn align(a: &[u32], b: &[u32], anchor: usize, steps: &mut usize) -> Vec<Edit> {
    let (forward, backward) = (Vec::new(), Vec::new());
    let mut search = Search { a, b, anchor, edits: Vec::new(), steps, forward, backward };
    search.compare(0..a.len(), 0..b.len(), 0);
    search.edits
}

struct Search<'s> {
    a: &'s [u32],
    b: &'s [u32],
    /// Number of items of an anchor.
    anchor: usize,
    edits: Vec<Edit>,
    /// Steps that may still be taken.
    steps: &'s mut usize,
    /// Furthest positions per diagonal; kept to be allocated once.
    forward: Vec<usize>,
    backward: Vec<usize>,
}

impl Search<'_> {
    fn compare(&mut self, mut a: Range<usize>, mut b: Range<usize>, depth: usize) {
        while !a.is_empty() && !b.is_empty() && self.a[a.start] == self.b[b.start] {
            (a.start, b.start) = (a.start + 1, b.start + 1);
        }
        while !a.is_empty() && !b.is_empty() && self.a[a.end - 1] == self.b[b.end - 1] {
            (a.end, b.end) = (a.end - 1, b.end - 1);
        }
        if a.is_empty() || b.is_empty() {
            return self.push(a, b);
        }
        let is_long = a.len() + b.len() > ANCHORS_ABOVE;
        if is_long && self.split_at_anchors(&a, &b, depth) {
            return;
        }
        match self.middle(&a, &b) {
            Some((x, y)) => {
                self.compare(a.start..x, b.start..y, depth);
                self.compare(x..a.end, y..b.end, depth);
            }
            None if !is_long && self.split_at_anchors(&a, &b, depth) => {}
            None => self.push(a, b),
        }
    }

    /// Adds an edit. One that follows the last edit without a kept item extends it.
    fn push(&mut self, a: Range<usize>, b: Range<usize>) {
        if a.is_empty() && b.is_empty() {
            return;
        }
        match self.edits.last_mut() {
            Some(last) if last.a.end == a.start && last.b.end == b.start => {
                (last.a.end, last.b.end) = (a.end, b.end);
            }
            _ => self.edits.push(Edit { a, b }),
        }
    }

    /// A point on a shortest path, found from both ends at the same time; `None` if it takes
    /// more edits or steps than allowed. Both ranges are not empty, and differ in their first
    /// and last items, so the point is at neither end of the path.
    // E. Myers, "An O(ND) difference algorithm and its variations", 1986, section 4b. On diagonal
    // k, x - y = k; `forward[k]` is the greatest x that d edits reach, `backward[k]` the same from
    // the other end, with both sequences reversed.
    fn middle(&mut self, a: &Range<usize>, b: &Range<usize>) -> Option<(usize, usize)> {
        let (n, m) = (a.len() as isize, b.len() as isize);
        let max = ((a.len() + b.len()).div_ceil(2)).min(MAX_EDITS) as isize;
        let delta = n - m;
        let is_odd = delta % 2 != 0;
        let offset = max + 1;
        self.forward.clear();
        self.forward.resize(2 * max as usize + 3, 0);
        self.backward.clear();
        self.backward.resize(2 * max as usize + 3, 0);
        for d in 0..=max {
            for k in (-d..=d).step_by(2) {
                let x = furthest(&self.forward, k, d, offset);
                let (start, y) = (x as usize, (x - k) as usize);
                let kept = self.common_prefix(a, b, start, y);
                let x = x + kept as isize;
                self.forward[(k + offset) as usize] = x as usize;
                let opposite = delta - k;
                if is_odd && opposite.abs() < d {
                    let reached = x + self.backward[(opposite + offset) as usize] as isize;
                    if reached >= n {
                        return Some((a.start + start, b.start + y));
                    }
                }
            }
            for k in (-d..=d).step_by(2) {
                let x = furthest(&self.backward, k, d, offset);
                let kept = self.common_suffix(a, b, x as usize, (x - k) as usize);
                let x = x + kept as isize;
                self.backward[(k + offset) as usize] = x as usize;
                let opposite = delta - k;
                if !is_odd && opposite.abs() <= d {
                    let reached = x + self.forward[(opposite + offset) as usize] as isize;
                    if reached >= n {
                        return Some((a.end - x as usize, b.end - (x - k) as usize));
                    }
                }
            }
            if *self.steps == 0 {
                return None;
            }
        }
        None
    }

    /// Number of equal items from `x` and `y` on, relative to the starts of the ranges.
    fn common_prefix(&mut self, a: &Range<usize>, b: &Range<usize>, x: usize, y: usize) -> usize {
        let a = self.a[a.clone()].get(x..).unwrap_or_default();
        let b = self.b[b.clone()].get(y..).unwrap_or_default();
        let kept = a.iter().zip(b).take_while(|(a, b)| a == b).count();
        *self.steps = self.steps.saturating_sub(kept + 1);
        kept
    }

    /// The same from the ends: `x` and `y` items at the ends are left out.
    fn common_suffix(&mut self, a: &Range<usize>, b: &Range<usize>, x: usize, y: usize) -> usize {
        let a = a.len().checked_sub(x).map_or(&[][..], |end| &self.a[a.clone()][..end]);
        let b = b.len().checked_sub(y).map_or(&[][..], |end| &self.b[b.clone()][..end]);
        let kept = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
        *self.steps = self.steps.saturating_sub(kept + 1);
        kept
    }

    /// Compares the parts between anchors; `false` if there are no anchors.
    fn split_at_anchors(&mut self, a: &Range<usize>, b: &Range<usize>, depth: usize) -> bool {
        if depth == MAX_ANCHOR_DEPTH {
            return false;
        }
        let anchors = anchors(&self.a[a.clone()], &self.b[b.clone()], self.anchor);
        if anchors.is_empty() {
            return false;
        }
        let (mut x, mut y) = (a.start, b.start);
        for (anchor_x, anchor_y) in anchors {
            let (next_x, next_y) = (a.start + anchor_x, b.start + anchor_y);
            // The kept items of the anchor before may reach beyond this one.
            if next_x < x || next_y < y {
                continue;
            }
            self.compare(x..next_x, y..next_y, depth + 1);
            let rest = self.a[next_x..a.end].iter().zip(&self.b[next_y..b.end]);
            let kept = rest.take_while(|(a, b)| a == b).count();
            (x, y) = (next_x + kept, next_y + kept);
        }
        self.compare(x..a.end, y..b.end, depth + 1);
        true
    }
}

/// Where `d` edits can begin on diagonal `k`: one step down from the diagonal above it, or one
/// step right from the one below it.
fn furthest(reached: &[usize], k: isize, d: isize, offset: isize) -> isize {
    let at = |k: isize| reached[(k + offset) as usize] as isize;
    if k == -d || (k != d && at(k - 1) < at(k + 1)) { at(k + 1) } else { at(k - 1) + 1 }
}

/// Positions of runs of `length` items that occur exactly once in `a` and once in `b`, and
/// in the same order in both.
fn anchors<'s>(a: &'s [u32], b: &'s [u32], length: usize) -> Vec<(usize, usize)> {
    /// Where a run occurs in one sequence.
    #[derive(Clone, Copy)]
    enum Place {
        Nowhere,
        Once(usize),
        Often,
    }
    fn add(place: &mut Place, position: usize) {
        *place = match place {
            Place::Nowhere => Place::Once(position),
            Place::Once(_) | Place::Often => Place::Often,
        };
    }
    // Of long sequences only some runs are looked at, the same ones in both: the number of their
    // first item and of their last one decide.
    let stride = ((a.len() + b.len()) / MAX_RUNS + 1) as u32;
    let is_sampled = |run: &[u32]| {
        let number = run[0].wrapping_mul(0x9e37_79b1) ^ run[length - 1].wrapping_mul(0x85eb_ca6b);
        stride == 1 || (number >> 8).is_multiple_of(stride)
    };
    let sampled = |items: &'s [u32]| {
        items.windows(length).enumerate().filter(move |(_, run)| is_sampled(run))
    };
    let mut runs: HashMap<&[u32], (Place, Place)> = HashMap::new();
    for (position, run) in sampled(a) {
        add(&mut runs.entry(run).or_insert((Place::Nowhere, Place::Nowhere)).0, position);
    }
    for (position, run) in sampled(b) {
        if let Some((_, place)) = runs.get_mut(run) {
            add(place, position);
        }
    }
    let mut unique: Vec<_> = runs
        .into_values()
        .filter_map(|places| match places {
            (Place::Once(x), Place::Once(y)) => Some((x, y)),
            _ => None,
        })
        .collect();
    unique.sort_unstable();
    longest_increasing(&unique)
}

/// The longest part of `pairs`, which are sorted by their first number, in which the second
/// number increases too.
fn longest_increasing(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // `ends[length]` is the pair with the smallest second number that ends a sequence of that
    // length; `before` links each pair to the one before it.
    let mut ends: Vec<usize> = Vec::new();
    let mut before = vec![usize::MAX; pairs.len()];
    for (index, &(_, second)) in pairs.iter().enumerate() {
        let length = ends.partition_point(|&end| pairs[end].1 < second);
        if length > 0 {
            before[index] = ends[length - 1];
        }
        if length == ends.len() {
            ends.push(index);
        } else {
            ends[length] = index;
        }
    }
    let mut found = Vec::with_capacity(ends.len());
    let mut next = ends.last().copied();
    while let Some(index) = next {
        found.push(pairs[index]);
        next = Some(before[index]).filter(|&before| before != usize::MAX);
    }
    found.reverse();
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn align(a: &[u32], b: &[u32]) -> Vec<Edit> {
        super::align(a, b, 8, &mut { MAX_STEPS })
    }

    fn apply(a: &[u32], b: &[u32], edits: &[Edit]) -> Vec<u32> {
        let (mut result, mut at) = (Vec::new(), 0);
        for edit in edits {
            result.extend(&a[at..edit.a.start]);
            assert_eq!(result.len(), edit.b.start);
            result.extend(&b[edit.b.clone()]);
            at = edit.a.end;
        }
        result.extend(&a[at..]);
        result
    }

    /// Length of the longest common subsequence, by the textbook.
    fn common(a: &[u32], b: &[u32]) -> usize {
        let mut row = vec![0; b.len() + 1];
        for x in a {
            let mut diagonal = 0;
            for (column, y) in b.iter().enumerate() {
                let above = row[column + 1];
                row[column + 1] = if x == y { diagonal + 1 } else { above.max(row[column]) };
                diagonal = above;
            }
        }
        row[b.len()]
    }

    proptest! {
        #[test]
        fn short_sequences_are_aligned_with_the_fewest_edits(
            a in prop::collection::vec(0..4_u32, 0..40),
            b in prop::collection::vec(0..4_u32, 0..40),
        ) {
            let edits = align(&a, &b);
            prop_assert_eq!(apply(&a, &b, &edits), b.clone());
            let changed: usize = edits.iter().map(|edit| edit.a.len() + edit.b.len()).sum();
            prop_assert_eq!(changed, a.len() + b.len() - 2 * common(&a, &b));
        }
    }

    #[test]
    fn a_long_sequence_with_many_edits_is_split_at_anchors() {
        let mut random = fastrand::Rng::with_seed(1);
        let a: Vec<u32> = (0..200_000).map(|_| random.u32(..1000)).collect();
        let mut b = a.clone();
        for position in (0..b.len()).step_by(50) {
            b[position] = 5000;
        }
        let edits = align(&a, &b);
        assert_eq!(apply(&a, &b, &edits), b);
        assert_eq!(edits.len(), 4000);
    }

    #[test]
    fn sequences_without_anything_in_common_are_replaced_within_the_limits() {
        let a: Vec<u32> = (0..100_000).collect();
        let b: Vec<u32> = (100_000..200_000).collect();
        assert_eq!(align(&a, &b), [Edit { a: 0..100_000, b: 0..100_000 }]);
    }

    #[test]
    fn a_repetitive_sequence_is_aligned_within_the_limits() {
        let mut random = fastrand::Rng::with_seed(2);
        let a: Vec<u32> = (0..50_000).map(|_| random.u32(..2)).collect();
        let b: Vec<u32> = (0..50_000).map(|_| random.u32(..2)).collect();
        assert_eq!(apply(&a, &b, &align(&a, &b)), b);
    }
}
