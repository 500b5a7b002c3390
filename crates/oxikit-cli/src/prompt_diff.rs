//! Shows what differs between two revisions of a prompt.

use oxikit_wire::prompts::{DiffLine, DiffOp, RevisionDiff};

use super::failure::Failure;
use super::output::Output;
use crate::terminal::Text;

/// Number of equal lines that are shown before and after a difference.
const CONTEXT: usize = 3;

/// Writes the lines that differ, with a few equal ones around them.
pub(super) fn show(diff: &RevisionDiff, output: &mut Output) -> Result<(), Failure> {
    let RevisionDiff { id, from, to, lines } = diff;
    if lines.iter().all(|line| line.op == DiffOp::Same) {
        output.remark(format!("revisions {from} and {to} of {id} have the same text"));
        return Ok(());
    }
    output.remark(format!("{id}: revision {from} to {to}"));
    shown(lines).into_iter().try_for_each(|line| output.line(line))
}

fn shown(lines: &[DiffLine]) -> Vec<Text> {
    let is_near = |index: usize| {
        let first = index.saturating_sub(CONTEXT);
        let last = (index + CONTEXT + 1).min(lines.len());
        lines[first..last].iter().any(|line| line.op != DiffOp::Same)
    };
    let mut shown = Vec::new();
    let mut is_skipping = false;
    for (index, line) in lines.iter().enumerate() {
        if is_near(index) {
            shown.push(text(line));
        } else if !is_skipping {
            shown.push(Text::new().dimmed("…"));
        }
        is_skipping = !is_near(index);
    }
    shown
}

fn text(line: &DiffLine) -> Text {
    let content = line.text.trim_end_matches(['\n', '\r']);
    match line.op {
        DiffOp::Same => Text::new().plain(format!("  {content}")),
        DiffOp::Insert => Text::new().green(format!("+ {content}")),
        DiffOp::Delete => Text::new().red(format!("- {content}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_lines_far_from_a_difference_are_left_out() {
        let line = |op, text: &str| DiffLine { op, text: format!("{text}\n"), words: Vec::new() };
        let mut lines: Vec<_> = (0..9).map(|n| line(DiffOp::Same, &n.to_string())).collect();
        lines.insert(4, line(DiffOp::Insert, "new"));
        lines.insert(4, line(DiffOp::Delete, "old"));
        let shown: Vec<_> = shown(&lines).iter().map(Text::uncoloured).collect();
        let expected = ["…", "  1", "  2", "  3", "- old", "+ new", "  4", "  5", "  6", "…"];
        assert_eq!(shown, expected);
    }
}
