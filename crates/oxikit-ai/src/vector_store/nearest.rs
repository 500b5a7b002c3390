//! Vectors side by side in memory, and the exact search among them.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Vectors of one length, each normalised once, in one flat list: a search
/// reads memory from front to back and nothing else.
#[derive(Debug, Default)]
pub(crate) struct Vectors {
    dimensions: usize,
    numbers: Vec<f32>,
}

/// A vector that was found: its position, and its cosine similarity to the query.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Hit {
    pub(crate) index: usize,
    pub(crate) score: f32,
}

/// Why a vector cannot be kept or looked for.
#[derive(Debug, PartialEq, thiserror::Error)]
pub(crate) enum VectorError {
    #[error("a vector has {actual} numbers, the others have {expected}")]
    Dimensions { expected: usize, actual: usize },
    #[error("a vector has no numbers")]
    Empty,
    #[error("a vector holds a number that is infinite or none")]
    NotFinite,
}

impl Vectors {
    pub(crate) fn len(&self) -> usize {
        self.numbers.len().checked_div(self.dimensions).unwrap_or(0)
    }

    /// Keeps all of these vectors, or, if one of them is refused, none.
    pub(crate) fn extend(&mut self, vectors: &[Vec<f32>]) -> Result<(), VectorError> {
        let Some(first) = vectors.first() else {
            return Ok(());
        };
        let dimensions = match self.dimensions {
            0 => first.len(),
            known => known,
        };
        let lengths: Vec<f64> =
            vectors.iter().map(|vector| length(vector, dimensions)).collect::<Result<_, _>>()?;
        self.dimensions = dimensions;
        self.numbers.reserve(vectors.len() * dimensions);
        for (vector, length) in vectors.iter().zip(lengths) {
            self.numbers.extend(normalised(vector, length));
        }
        Ok(())
    }

    pub(crate) fn clear(&mut self) {
        self.numbers.clear();
        self.dimensions = 0;
    }

    /// The `k` vectors that point most nearly where the query points, best
    /// first; of equal ones the older first.
    ///
    /// Time: one pass over all numbers. Memory: `k` entries.
    pub(crate) fn nearest(&self, query: &[f32], k: usize) -> Result<Vec<Hit>, VectorError> {
        if self.numbers.is_empty() || k == 0 {
            return Ok(Vec::new());
        }
        let query: Vec<f32> = normalised(query, length(query, self.dimensions)?).collect();
        // The worst of the best is on top, to be thrown out.
        let mut best = BinaryHeap::with_capacity(k.min(self.len()) + 1);
        for (index, vector) in self.numbers.chunks_exact(self.dimensions).enumerate() {
            let score = dot(vector, &query);
            let hit = Reverse(Ranked(Hit { index, score }));
            if best.len() < k {
                best.push(hit);
            } else if let Some(mut worst) = best.peek_mut()
                && hit < *worst
            {
                *worst = hit;
            }
        }
        Ok(best.into_sorted_vec().into_iter().map(|Reverse(Ranked(hit))| hit).collect())
    }
}

/// Greater is better: a higher score, or the same and older.
#[derive(Debug, Clone, Copy)]
struct Ranked(Hit);

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> Ordering {
        let (a, b) = (self.0, other.0);
        a.score.total_cmp(&b.score).then_with(|| b.index.cmp(&a.index))
    }
}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ranked {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Ranked {}

/// The length of a vector that can be kept; 1 for the one of zeros, which then
/// is like no other.
fn length(vector: &[f32], dimensions: usize) -> Result<f64, VectorError> {
    if vector.is_empty() {
        return Err(VectorError::Empty);
    }
    if vector.len() != dimensions {
        return Err(VectorError::Dimensions { expected: dimensions, actual: vector.len() });
    }
    // In double, because the square of a large number is no `f32`.
    let square: f64 = vector.iter().map(|x| f64::from(*x) * f64::from(*x)).sum();
    if !square.is_finite() {
        return Err(VectorError::NotFinite);
    }
    let length = square.sqrt();
    Ok(if length > 0.0 { length } else { 1.0 })
}

fn normalised(vector: &[f32], length: f64) -> impl Iterator<Item = f32> {
    vector.iter().map(move |x| (f64::from(*x) / length) as f32)
}

/// The sum of the products, in eight sums side by side: the compiler may not
/// reorder the additions of one, but it can do eight at once.
fn dot(a: &[f32], b: &[f32]) -> f32 {
    const LANES: usize = 8;
    let mut sums = [0.0_f32; LANES];
    let (a_lanes, b_lanes) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let (a_rest, b_rest) = (a_lanes.remainder(), b_lanes.remainder());
    for (a, b) in a_lanes.zip(b_lanes) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f32>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vectors(vectors: &[&[f32]]) -> Vectors {
        let list: Vec<Vec<f32>> = vectors.iter().map(|vector| vector.to_vec()).collect();
        let mut kept = Vectors::default();
        kept.extend(&list).unwrap();
        kept
    }

    fn indices(hits: Vec<Hit>) -> Vec<usize> {
        hits.into_iter().map(|hit| hit.index).collect()
    }

    #[test]
    fn the_nearest_come_best_first_and_of_equal_ones_the_older_first() {
        let kept = vectors(&[&[0.0, 1.0], &[1.0, 0.0], &[7.0, 7.0], &[2.0, 0.0], &[-1.0, 0.0]]);
        let check = |k, expected: &[usize]| {
            assert_eq!(indices(kept.nearest(&[3.0, 0.0], k).unwrap()), expected);
        };
        check(0, &[]);
        check(1, &[1]);
        check(2, &[1, 3]);
        check(3, &[1, 3, 2]);
        check(9, &[1, 3, 2, 0, 4]);
    }

    #[test]
    fn a_score_is_the_cosine_whatever_the_lengths() {
        let kept = vectors(&[&[3.0, 4.0]]);
        let hits = kept.nearest(&[30.0, 40.0], 1).unwrap();
        assert!((hits[0].score - 1.0).abs() < 1e-6, "{hits:?}");
    }

    #[test]
    fn the_search_agrees_with_sorting_everything() {
        let mut random = fastrand::Rng::with_seed(7);
        let mut vector = |_| (0..19).map(|_| random.f32() - 0.5).collect::<Vec<f32>>();
        let list: Vec<Vec<f32>> = (0..300).map(&mut vector).collect();
        let query = vector(0);
        let mut kept = Vectors::default();
        kept.extend(&list).unwrap();

        let cosine = |vector: &[f32]| {
            let norm = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
            vector.iter().zip(&query).map(|(a, b)| a * b).sum::<f32>() / norm
        };
        let mut sorted: Vec<usize> = (0..list.len()).collect();
        sorted.sort_by(|a, b| cosine(&list[*b]).total_cmp(&cosine(&list[*a])));
        assert_eq!(indices(kept.nearest(&query, 10).unwrap()), sorted[..10]);
    }

    #[test]
    fn a_vector_that_does_not_fit_is_refused_and_nothing_of_its_batch_kept() {
        let mut kept = vectors(&[&[1.0, 0.0]]);
        let wrong = VectorError::Dimensions { expected: 2, actual: 3 };
        assert_eq!(kept.extend(&[vec![0.0, 1.0], vec![1.0, 2.0, 3.0]]), Err(wrong));
        assert_eq!(kept.extend(&[vec![f32::NAN, 1.0]]), Err(VectorError::NotFinite));
        assert_eq!(kept.extend(&[vec![]]), Err(VectorError::Empty));
        assert_eq!(kept.len(), 1);
        assert!(kept.nearest(&[1.0], 1).is_err());
        assert!(kept.nearest(&[f32::INFINITY, 0.0], 1).is_err());
    }

    #[test]
    fn a_vector_of_zeros_is_like_no_other() {
        let kept = vectors(&[&[0.0, 0.0]]);
        let hit = Hit { index: 0, score: 0.0 };
        assert_eq!(kept.nearest(&[1.0, 0.0], 1), Ok(vec![hit]));
        assert_eq!(kept.nearest(&[0.0, 0.0], 1), Ok(vec![hit]));
    }

    #[test]
    fn very_large_and_very_small_numbers_keep_their_direction() {
        let kept = vectors(&[&[3e38, 0.0], &[0.0, 1e-40]]);
        assert_eq!(indices(kept.nearest(&[0.0, 5.0], 1).unwrap()), [1]);
        assert_eq!(indices(kept.nearest(&[3e38, 3e37], 1).unwrap()), [0]);
    }
}
