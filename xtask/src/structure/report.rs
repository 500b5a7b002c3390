//! The tables that `cargo xtask structure` prints.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::cycles::{Cycle, cycles};
use super::duplicates::{Duplicate, duplicates};
use super::measures::{Figures, Function, functions, percent};
use super::names::ReExports;
use super::source::Crate;

/// Number of the longest functions that are listed.
const LONGEST: usize = 10;

/// Everything that is known about the sources of one commit.
#[derive(Debug)]
pub(crate) struct Report {
    /// The name in the headings: a commit, or the working tree.
    title: String,
    crates: Vec<(String, Figures)>,
    cycles: Vec<Cycle>,
    /// The cycles where a name belongs to the module that defines it.
    cycles_through_re_exports: Vec<Cycle>,
    functions: Vec<Function>,
    duplicates: Vec<Duplicate>,
}

impl Report {
    pub(crate) fn of(title: &str, crates: &[Crate]) -> Self {
        let cycles = |re_exports| -> Vec<Cycle> {
            crates.iter().flat_map(|krate| cycles(krate, re_exports)).collect()
        };
        let mut functions = functions(crates);
        functions.truncate(LONGEST);
        Self {
            title: title.to_owned(),
            crates: crates.iter().map(|krate| (krate.name.clone(), Figures::of(krate))).collect(),
            cycles: cycles(ReExports::AsWritten),
            cycles_through_re_exports: cycles(ReExports::Followed),
            functions,
            duplicates: duplicates(crates),
        }
    }

    /// The tables of this commit alone.
    pub(crate) fn show(&self) -> String {
        let rows = self.rows();
        format!("{}{}", table(&rows), self.lists())
    }

    /// The tables of two commits; a cell reads `before → after`.
    pub(crate) fn show_beside(&self, before: &Self) -> String {
        let (old, new) = (before.rows(), self.rows());
        let names: BTreeSet<_> = old.iter().chain(&new).map(|row| row[0].clone()).collect();
        let mut rows = Vec::new();
        // `all` is the last row, as in the tables of one commit.
        for name in names.iter().filter(|name| *name != ALL).chain([&ALL.to_owned()]) {
            let of = |rows: &[Row]| rows.iter().find(|row| row[0] == *name).cloned();
            let absent = || std::array::from_fn(|_| "–".to_owned());
            let (a, b): (Row, Row) =
                (of(&old).unwrap_or_else(absent), of(&new).unwrap_or_else(absent));
            rows.push(std::array::from_fn(|cell| match cell {
                0 => name.clone(),
                _ => format!("{} → {}", a[cell], b[cell]),
            }));
        }
        format!(
            "{} → {}\n\n{}{}{}",
            before.title,
            self.title,
            table(&rows),
            before.lists(),
            self.lists()
        )
    }

    fn rows(&self) -> Vec<Row> {
        let all = Figures::sum(self.crates.iter().map(|(_, figures)| *figures));
        let own = self.crates.iter().map(|(name, figures)| {
            let count =
                |cycles: &[Cycle]| cycles.iter().filter(|cycle| cycle.krate == *name).count();
            let cycles = [count(&self.cycles), count(&self.cycles_through_re_exports)];
            row(name, figures, all.lines, cycles)
        });
        let cycles = [self.cycles.len(), self.cycles_through_re_exports.len()];
        own.chain([row(ALL, &all, all.lines, cycles)]).collect()
    }

    fn lists(&self) -> String {
        let mut text = String::new();
        let title = &self.title;
        let through = &self.cycles_through_re_exports;
        for (kind, cycles) in [("", &self.cycles), (" through re-exports", through)] {
            _ = writeln!(text, "\n### Module cycles{kind}, {title}: {}\n", cycles.len());
            for cycle in cycles {
                _ = writeln!(text, "- {}", cycle.title());
            }
        }
        _ = writeln!(text, "\n### Longest functions, {title}\n");
        _ = writeln!(text, "| lines | function | place |\n| ---: | --- | --- |");
        for Function { name, file, line, lines } in &self.functions {
            _ = writeln!(text, "| {lines} | `{name}` | {}:{line} |", file.display());
        }
        _ = writeln!(text, "\n### Passages that occur twice, {title}: {}\n", self.duplicates.len());
        _ = writeln!(text, "| lines | first | second |\n| ---: | --- | --- |");
        for Duplicate { lines, first, second } in &self.duplicates {
            _ = writeln!(text, "| {lines} | {first} | {second} |");
        }
        text
    }
}

/// The row of the sums.
const ALL: &str = "all";

const HEAD: [&str; 8] = [
    "crate",
    "lines",
    "share",
    "public items",
    "documentation",
    "comments",
    "module cycles",
    "through re-exports",
];

type Row = [String; HEAD.len()];

fn row(name: &str, figures: &Figures, all: usize, cycles: [usize; 2]) -> Row {
    [
        name.to_owned(),
        figures.lines.to_string(),
        format!("{:.0} %", percent(figures.lines, all)),
        figures.public_items.to_string(),
        format!("{:.1} %", figures.documentation_share()),
        format!("{:.1} %", figures.comment_share()),
        cycles[0].to_string(),
        cycles[1].to_string(),
    ]
}

fn table(rows: &[Row]) -> String {
    let mut text =
        format!("| {} |\n| --- {}|\n", HEAD.join(" | "), "| ---: ".repeat(HEAD.len() - 1));
    for row in rows {
        _ = writeln!(text, "| {} |", row.join(" | "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::structure::source::crate_of;

    #[test]
    fn a_crate_has_a_row_and_the_last_one_is_the_sum() {
        let report = Report::of("now", &[crate_of(&[("lib.rs", "/// A.\npub fn a() {}")])]);
        let text = report.show();
        assert!(
            text.contains("| sample | 2 | 100 % | 1 | 50.0 % | 0.0 % | 0 | 0 |\n| all | 2 |"),
            "{text}"
        );
        assert!(text.contains("| 1 | `a` | crates/sample/src/lib.rs:2 |"), "{text}");
    }

    #[test]
    fn a_crate_that_is_new_has_no_figures_before() {
        let before = Report::of("then", &[]);
        let text = Report::of("now", &[crate_of(&[("lib.rs", "fn a() {}")])]).show_beside(&before);
        assert!(text.contains("| sample | – → 1 | – → 100 % | – → 0 |"), "{text}");
        assert!(text.contains("| all | 0 → 1 |"), "{text}");
    }
}
