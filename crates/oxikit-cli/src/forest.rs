//! Orders items that refer to their parent, such as spans and snapshots, as trees.
//!
//! Ids and parents come from a runtime and may be wrong: an id may be missing or occur twice, a
//! parent may not exist, and parents may form a cycle. Every item is placed exactly once.

use std::collections::{HashMap, HashSet};

/// The id of an item and the id of its parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Node<'a> {
    pub(super) id: Option<&'a str>,
    pub(super) parent: Option<&'a str>,
}

/// The position of a node in the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Placed {
    /// The index of the node in the list.
    pub(super) index: usize,
    pub(super) depth: usize,
    /// Whether the node is an ancestor of itself: its parents form a cycle, and this node was
    /// chosen as the root.
    pub(super) is_cyclic: bool,
}

/// Returns the nodes in the order of a tree: each after its parent, siblings in the order of
/// the list. Nodes without a known parent are roots. `depth_below` computes the depth of the
/// children of a node from its own depth and their number.
pub(super) fn forest(
    nodes: &[Node<'_>],
    depth_below: impl Fn(Option<usize>, usize) -> usize,
) -> Vec<Placed> {
    let mut by_id: HashMap<&str, usize> = HashMap::with_capacity(nodes.len());
    for (index, node) in nodes.iter().enumerate() {
        if let Some(id) = node.id {
            by_id.entry(id).or_insert(index);
        }
    }
    let parents: Vec<Option<usize>> =
        nodes.iter().map(|node| by_id.get(node.parent?).copied()).collect();
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    let mut roots = Vec::new();
    for (index, parent) in parents.iter().enumerate() {
        match parent {
            Some(parent) => children[*parent].push(index),
            None => roots.push(index),
        }
    }
    let mut placed = Vec::with_capacity(nodes.len());
    let mut seen = vec![false; nodes.len()];
    // An explicit stack in place of recursion: the depth comes from the runtime and could
    // overflow the call stack.
    let mut place = |roots: &[usize], is_cyclic: bool, seen: &mut Vec<bool>| {
        let at = |depth| move |index: &usize| Placed { index: *index, depth, is_cyclic };
        let mut stack: Vec<Placed> =
            roots.iter().rev().map(at(depth_below(None, roots.len()))).collect();
        while let Some(next) = stack.pop() {
            if std::mem::replace(&mut seen[next.index], true) {
                continue;
            }
            placed.push(next);
            let below = &children[next.index];
            let depth = depth_below(Some(next.depth), below.len());
            let deeper = below.iter().rev().map(at(depth));
            stack.extend(deeper.map(|place| Placed { is_cyclic: false, ..place }));
        }
    };
    place(&roots, false, &mut seen);
    // The nodes that are not reachable from a root are in a cycle or below one.
    for index in 0..nodes.len() {
        if !seen[index] {
            place(&[first_of_cycle(index, &parents)], true, &mut seen);
        }
    }
    placed
}

/// The first node, in the order of the list, of the cycle that the parents of `from` lead to.
fn first_of_cycle(from: usize, parents: &[Option<usize>]) -> usize {
    let mut passed = HashSet::new();
    let mut at = from;
    while passed.insert(at) {
        match parents[at] {
            Some(parent) => at = parent,
            None => return at,
        }
    }
    // `at` was visited twice, so it is part of the cycle. One more round finds the node with
    // the smallest index.
    let (start, mut first) = (at, at);
    while let Some(parent) = parents[at].filter(|parent| *parent != start) {
        first = first.min(parent);
        at = parent;
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ids with their parents, and the tree: a dash for each level, a `!` for a cycle.
    #[track_caller]
    fn check(nodes: &[(&'static str, &'static str)], expected: &[&str]) {
        let named = |text: &'static str| Some(text).filter(|text| !text.is_empty());
        let node = |(id, parent): &(&'static str, &'static str)| Node {
            id: named(id),
            parent: named(parent),
        };
        let nodes: Vec<Node<'_>> = nodes.iter().map(node).collect();
        let placed = forest(&nodes, |depth, _| depth.map_or(0, |depth| depth + 1));
        let shown = |place: &Placed| {
            let mark = if place.is_cyclic { "!" } else { "" };
            let id = nodes[place.index].id.unwrap_or("?");
            format!("{}{id}{mark}", "-".repeat(place.depth))
        };
        assert_eq!(placed.iter().map(shown).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn children_follow_their_parent() {
        check(&[("b", "a"), ("a", ""), ("c", "b"), ("d", "a")], &["a", "-b", "--c", "-d"]);
        check(&[("a", "gone"), ("b", "")], &["a", "b"]);
        check(&[], &[]);
    }

    #[test]
    fn cycles_are_shown_once_and_marked() {
        check(&[("a", "a")], &["a!"]);
        check(&[("a", "b"), ("b", "a"), ("root", "")], &["root", "a!", "-b"]);
        // A span below a cycle is not part of it, even if it comes first.
        check(&[("c", "b"), ("a", "b"), ("b", "a")], &["a!", "-b", "--c"]);
        check(&[("a", "b"), ("b", "c"), ("c", "a"), ("d", "d")], &["a!", "-c", "--b", "d!"]);
    }

    #[test]
    fn ids_that_are_missing_or_come_twice_do_no_harm() {
        check(&[("", ""), ("", "")], &["?", "?"]);
        check(&[("a", ""), ("a", ""), ("b", "a")], &["a", "-b", "a"]);
        check(&[("a", "a"), ("a", "a")], &["a!", "-a"]);
    }

    #[test]
    fn a_tree_may_be_a_million_levels_deep() {
        let ids: Vec<String> = (0..1_000_000).map(|number: u32| number.to_string()).collect();
        let nodes: Vec<Node<'_>> = ids
            .iter()
            .enumerate()
            .map(|(at, id)| Node { id: Some(id), parent: at.checked_sub(1).map(|at| &*ids[at]) })
            .collect();
        let placed = forest(&nodes, |depth, _| depth.map_or(0, |depth| depth + 1));
        assert_eq!(placed.last().map(|place| place.depth), Some(999_999));
    }
}
