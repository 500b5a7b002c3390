//! Three-way merge of texts on tokens. It never fails and writes no conflict markers, because the
//! result is sent to a model.

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::changes::{Change, changes};
use super::tokens::would_join_words;

/// The result of [`merge`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Merge {
    /// The merged text.
    pub text: String,
    /// The places where both texts changed the same part of the base, in order.
    pub conflicts: Vec<Conflict>,
}

/// A part of the base that both texts have changed, in its three versions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Conflict {
    /// The part in the base.
    pub base: String,
    /// The part in the stored text.
    pub stored: String,
    /// The part in the incoming text.
    pub incoming: String,
}

/// Applies to `base` the changes of both texts: those of the stored one, and those of one that
/// came in later and was made from the same base.
///
/// - A change that both made counts once.
/// - Insertions at one point are both kept, the stored one first.
/// - Where both replaced the same part, the incoming part is taken, and the conflict lists all
///   three versions.
/// - Where one deleted a part in which the other inserted or replaced text, the rest of the part
///   is deleted, the new text is kept, and the conflict is listed.
///
/// A space is added where two words of different texts would become one.
///
/// ```
/// use oxikit_prompts::text::merge;
///
/// let merged = merge("Tell a joke.", "Tell a short joke.", "Tell a joke about tea.");
/// assert_eq!(merged.text, "Tell a short joke about tea.");
/// assert!(merged.conflicts.is_empty());
///
/// let merged = merge("Tell a joke.", "Tell a pun.", "Tell a riddle, please.");
/// assert_eq!(merged.text, "Tell a riddle, please.");
/// assert_eq!(merged.conflicts[0].stored, "pun");
/// ```
pub fn merge(base: &str, stored: &str, incoming: &str) -> Merge {
    let unchanged = |text: &str| Merge { text: text.to_owned(), conflicts: Vec::new() };
    if base == stored || stored == incoming {
        return unchanged(incoming);
    }
    if base == incoming {
        return unchanged(stored);
    }
    merge_changes(base, stored, incoming)
}

fn merge_changes(base: &str, stored: &str, incoming: &str) -> Merge {
    let stored_changes = changes(base, stored);
    let incoming_changes = changes(base, incoming);
    let mut stored = Side { text: stored, rest: &stored_changes, at: 0, base_at: 0 };
    let mut incoming = Side { text: incoming, rest: &incoming_changes, at: 0, base_at: 0 };
    let mut output = Output { base, text: String::with_capacity(base.len()), at: 0 };
    let mut overlaps: Vec<Overlap> = Vec::new();
    while let Some(region) = next_region(stored.rest, incoming.rest) {
        let theirs = stored.take(&region);
        let ours = incoming.take(&region);
        output.keep_to(region.start);
        if resolve(&mut output, &theirs, &ours) {
            overlaps.push(Overlap { base: region, stored: theirs.range, incoming: ours.range });
        }
    }
    output.keep_to(base.len());
    Merge { text: output.text, conflicts: listed(overlaps, base, stored.text, incoming.text) }
}

/// One of the two texts, and its changes that are not merged yet.
struct Side<'t> {
    text: &'t str,
    rest: &'t [Change],
    /// The end of the changes that were taken, in this text and in the base. What follows is the
    /// same in both up to the next change.
    at: usize,
    base_at: usize,
}

/// The changes of one text in a region of the base.
struct Part<'t> {
    text: &'t str,
    changes: &'t [Change],
    /// The region in this text.
    range: Range<usize>,
}

impl<'t> Side<'t> {
    /// Takes the changes of a region, which contains or excludes each change as a whole.
    fn take(&mut self, region: &Range<usize>) -> Part<'t> {
        let is_inside = |change: &Change| match region.is_empty() {
            true => change.base == *region,
            // An insertion at the start or end of a region is not part of it.
            false if change.base.is_empty() => {
                region.start < change.base.start && change.base.start < region.end
            }
            false => change.base.start < region.end,
        };
        let count = self.rest.iter().take_while(|change| is_inside(change)).count();
        let (changes, rest) = self.rest.split_at(count);
        self.rest = rest;
        let start = self.at + (region.start - self.base_at);
        if let Some(last) = changes.last() {
            (self.at, self.base_at) = (last.new.end, last.base.end);
        }
        let end = self.at + (region.end - self.base_at);
        Part { text: self.text, changes, range: start..end }
    }
}

impl<'t> Part<'t> {
    fn whole(&self) -> &'t str {
        &self.text[self.range.clone()]
    }

    fn new_text(&self, change: &Change) -> &'t str {
        &self.text[change.new.clone()]
    }
}

/// The part of the base that the next change covers, together with all changes of both texts
/// that overlap it.
fn next_region(stored: &[Change], incoming: &[Change]) -> Option<Range<usize>> {
    let first = stored.first().into_iter().chain(incoming.first());
    let first = first.min_by_key(|change| (change.base.start, change.base.end))?;
    let mut region = first.base.clone();
    let mut rests = [stored.iter().peekable(), incoming.iter().peekable()];
    loop {
        let before = region.end;
        for rest in &mut rests {
            while let Some(change) = rest.next_if(|change| overlap(&region, &change.base)) {
                region.end = region.end.max(change.base.end);
            }
        }
        if region.end == before {
            return Some(region);
        }
    }
}

/// Whether two ranges of the base have a byte in common. An insertion overlaps a range if it is
/// inside of it, and another insertion if both are at the same point.
fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    match (a.is_empty(), b.is_empty()) {
        (true, true) => a.start == b.start,
        (true, false) => b.start < a.start && a.start < b.end,
        (false, true) => a.start < b.start && b.start < a.end,
        (false, false) => a.start < b.end && b.start < a.end,
    }
}

/// Writes a region of the base. Answers whether the region is a conflict.
fn resolve(output: &mut Output<'_>, stored: &Part<'_>, incoming: &Part<'_>) -> bool {
    if stored.changes.is_empty()
        || incoming.changes.is_empty()
        || stored.whole() == incoming.whole()
    {
        let part = if incoming.changes.is_empty() { stored } else { incoming };
        output.apply(part.changes.iter().map(|change| (change, part.new_text(change))));
        return false;
    }
    let is_equal = |theirs: &Change, ours: &Change| {
        theirs.base == ours.base && stored.new_text(theirs) == incoming.new_text(ours)
    };
    let mut is_conflict = false;
    let mut all: Vec<(&Change, &str)> = Vec::new();
    for theirs in stored.changes {
        let rivals = overlapping(incoming.changes, &theirs.base);
        if rivals.iter().any(|ours| is_equal(theirs, ours)) {
            continue;
        }
        is_conflict |= rivals.iter().any(|ours| collide(theirs, ours));
        if !rivals.iter().any(|ours| both_replace(theirs, ours)) {
            all.push((theirs, stored.new_text(theirs)));
        }
    }
    all.extend(incoming.changes.iter().map(|change| (change, incoming.new_text(change))));
    // An insertion comes before the text that replaces what follows it. The sort is stable: at one
    // point the stored insertion is the first.
    all.sort_by_key(|(change, _)| (change.base.start, !change.base.is_empty()));
    output.apply(all.into_iter());
    is_conflict
}

/// The changes that overlap a range. They are consecutive, because changes are sorted and do not
/// overlap each other.
fn overlapping<'c>(changes: &'c [Change], range: &Range<usize>) -> &'c [Change] {
    let start = changes
        .partition_point(|change| change.base.end <= range.start && !overlap(&change.base, range));
    let length = changes[start..].partition_point(|change| overlap(&change.base, range));
    &changes[start..start + length]
}

/// Whether both of two overlapping changes replace text by other text. Only one can be applied.
fn both_replace(a: &Change, b: &Change) -> bool {
    [&a.base, &a.new, &b.base, &b.new].iter().all(|range| !range.is_empty())
}

/// Whether two different changes that overlap are a conflict: both deleting text is none, and
/// both inserting text at one point is none.
fn collide(a: &Change, b: &Change) -> bool {
    let both_delete = a.new.is_empty() && b.new.is_empty();
    let both_insert = a.base.is_empty() && b.base.is_empty();
    !both_delete && !both_insert
}

/// The merged text, which is written from start to end.
struct Output<'t> {
    base: &'t str,
    text: String,
    /// The first byte of the base that was neither written nor deleted.
    at: usize,
}

impl Output<'_> {
    /// Writes the base up to this byte, unless it was deleted.
    fn keep_to(&mut self, end: usize) {
        let base = self.base;
        if self.at < end {
            self.write(&base[self.at..end]);
            self.at = end;
        }
    }

    /// Applies changes that are sorted by their starts. They may overlap: a byte that one of them
    /// deletes is deleted, and all new texts are written.
    fn apply<'c>(&mut self, changes: impl Iterator<Item = (&'c Change, &'c str)>) {
        for (change, new) in changes {
            self.keep_to(change.base.start);
            self.write(new);
            self.at = self.at.max(change.base.end);
        }
    }

    fn write(&mut self, text: &str) {
        if would_join_words(&self.text, text) {
            self.text.push(' ');
        }
        self.text.push_str(text);
    }
}

/// A conflict as ranges of the three texts.
struct Overlap {
    base: Range<usize>,
    stored: Range<usize>,
    incoming: Range<usize>,
}

/// The conflicts with their texts. Those with only white space and punctuation between them, which
/// nobody has changed, are one: two versions of a sentence are one conflict, not one per word.
fn listed(overlaps: Vec<Overlap>, base: &str, stored: &str, incoming: &str) -> Vec<Conflict> {
    let mut joined: Vec<Overlap> = Vec::new();
    for next in overlaps {
        if let Some(last) = joined.last_mut() {
            let gap = &base[last.base.end..next.base.start];
            let is_kept = gap == &stored[last.stored.end..next.stored.start]
                && gap == &incoming[last.incoming.end..next.incoming.start];
            if is_kept && !gap.contains(char::is_alphanumeric) && !gap.contains('\n') {
                last.base.end = next.base.end;
                last.stored.end = next.stored.end;
                last.incoming.end = next.incoming.end;
                continue;
            }
        }
        joined.push(next);
    }
    let text = |text: &str, range: Range<usize>| text[range].to_owned();
    let conflict = |overlap: Overlap| Conflict {
        base: text(base, overlap.base),
        stored: text(stored, overlap.stored),
        incoming: text(incoming, overlap.incoming),
    };
    joined.into_iter().map(conflict).collect()
}

#[cfg(test)]
mod tests;
