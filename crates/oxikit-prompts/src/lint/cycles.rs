//! Inclusions that lead back to their document, and those that are nested too deeply.

use std::collections::{BTreeSet, VecDeque};

/// The documents that each document includes, by index.
#[derive(Debug)]
pub(super) struct Graph(pub(super) Vec<Vec<usize>>);

impl Graph {
    /// The shortest way from a document back to itself: the documents in between, in order. It is
    /// empty for a document that includes itself; `None` if no way leads back.
    pub(super) fn way_back(&self, start: usize) -> Option<Vec<usize>> {
        let mut previous: Vec<Option<usize>> = vec![None; self.0.len()];
        let mut waiting: VecDeque<usize> = VecDeque::from([start]);
        while let Some(from) = waiting.pop_front() {
            for &to in &self.0[from] {
                if to == start {
                    return Some(way(&previous, start, from));
                }
                if previous[to].is_none() {
                    previous[to] = Some(from);
                    waiting.push_back(to);
                }
            }
        }
        None
    }

    /// Whether a document includes others over more than `max` levels. A document from which a
    /// circle can be reached is not too deep: the circle itself is the mistake.
    pub(super) fn is_deeper(&self, start: usize, max: usize) -> bool {
        let mut level = BTreeSet::from([start]);
        for _ in 0..max {
            level = self.included_by(&level);
        }
        // In a circle there is always another level, at most as many as there are documents
        // otherwise.
        let mut rest = self.included_by(&level);
        let is_deeper = !rest.is_empty();
        for _ in 0..self.0.len() {
            if rest.is_empty() {
                return is_deeper;
            }
            rest = self.included_by(&rest);
        }
        false
    }

    fn included_by(&self, documents: &BTreeSet<usize>) -> BTreeSet<usize> {
        documents.iter().flat_map(|from| self.0[*from].iter().copied()).collect()
    }
}

/// The documents on the way to `last`, without `start`.
fn way(previous: &[Option<usize>], start: usize, last: usize) -> Vec<usize> {
    let mut way = Vec::new();
    let mut at = last;
    while at != start {
        way.push(at);
        match previous[at] {
            Some(before) => at = before,
            None => break,
        }
    }
    way.reverse();
    way
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_back_names_the_documents_in_between() {
        let graph = Graph(vec![vec![1, 3], vec![2], vec![0], vec![3], vec![0]]);
        assert_eq!(graph.way_back(0), Some(vec![1, 2]));
        assert_eq!(graph.way_back(2), Some(vec![0, 1]));
        assert_eq!(graph.way_back(3), Some(vec![]));
        assert_eq!(graph.way_back(4), None, "it leads into a circle and is no part of it");
    }

    #[test]
    fn only_long_chains_are_too_deep() {
        let chain = Graph((0..12).map(|n| if n < 11 { vec![n + 1] } else { vec![] }).collect());
        assert!(chain.is_deeper(0, 10));
        assert!(!chain.is_deeper(1, 10));
        let circle = Graph(vec![vec![1], vec![0]]);
        assert!(!circle.is_deeper(0, 10));
    }
}
