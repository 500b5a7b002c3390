//! Passages of equal lines that occur more than once.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::source::{Crate, File};

/// Shorter passages are not reported.
const MIN_LINES: usize = 6;

/// Equal lines at two places.
#[derive(Debug, PartialEq)]
pub(crate) struct Duplicate {
    /// Number of compared lines. Lines of a `use` or with only punctuation are not compared.
    pub(crate) lines: usize,
    pub(crate) first: Place,
    pub(crate) second: Place,
}

#[derive(Debug, PartialEq)]
pub(crate) struct Place {
    pub(crate) file: PathBuf,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}–{}", self.file.display(), self.start, self.end)
    }
}

/// The lines of a file that are compared.
struct Text<'a> {
    file: &'a Path,
    lines: Vec<(usize, String)>,
}

/// Finds all pairs of passages, the longest first.
pub(crate) fn duplicates(crates: &[Crate]) -> Vec<Duplicate> {
    let texts: Vec<Text<'_>> = crates.iter().flat_map(|krate| &krate.files).map(Text::of).collect();
    let mut windows: BTreeMap<Vec<&str>, Vec<(usize, usize)>> = BTreeMap::new();
    for (file, text) in texts.iter().enumerate() {
        for (start, window) in text.lines.windows(MIN_LINES).enumerate() {
            let key = window.iter().map(|(_, line)| line.as_str()).collect();
            windows.entry(key).or_default().push((file, start));
        }
    }
    let mut found = Vec::new();
    for places in windows.values() {
        for (index, first) in places.iter().enumerate() {
            for second in &places[index + 1..] {
                found.extend(passage(&texts, *first, *second));
            }
        }
    }
    found.sort_by(|a, b| b.lines.cmp(&a.lines).then_with(|| a.first.file.cmp(&b.first.file)));
    found
}

/// The whole passage that begins at these two places; `None` where it begins before them.
fn passage(
    texts: &[Text<'_>],
    (file, start): (usize, usize),
    (other_file, other_start): (usize, usize),
) -> Option<Duplicate> {
    let line = |file: usize, at: usize| texts[file].lines.get(at).map(|(_, line)| line);
    let before = start.checked_sub(1).zip(other_start.checked_sub(1));
    if before.is_some_and(|(a, b)| line(file, a) == line(other_file, b)) {
        return None;
    }
    let is_equal = |offset: usize| {
        let (a, b) = (line(file, start + offset), line(other_file, other_start + offset));
        // Both places may be in one file: they must not overlap.
        let is_apart = file != other_file || start + offset < other_start;
        a.is_some() && a == b && is_apart
    };
    let lines = (0..).take_while(|offset| is_equal(*offset)).count();
    (lines >= MIN_LINES).then(|| Duplicate {
        lines,
        first: texts[file].place(start, lines),
        second: texts[other_file].place(other_start, lines),
    })
}

impl<'a> Text<'a> {
    fn of(file: &'a File) -> Self {
        let mut lines = Vec::new();
        let mut is_use = false;
        for (number, line) in &file.lines {
            let parts: Vec<_> = line.split_whitespace().collect();
            let line = parts.join(" ");
            let visible = line.strip_prefix("pub ").or(line.strip_prefix("pub(crate) "));
            is_use |= visible.unwrap_or(&line).starts_with("use ");
            if !is_use && line.chars().any(char::is_alphanumeric) {
                lines.push((*number, line.clone()));
            }
            // A `use` with groups goes over many lines.
            is_use &= !line.ends_with(';');
        }
        Self { file: &file.path, lines }
    }

    fn place(&self, start: usize, count: usize) -> Place {
        Place {
            file: self.file.to_owned(),
            start: self.lines[start].0,
            end: self.lines[start + count - 1].0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::structure::source::crate_of;

    fn found(first: &str, second: &str) -> Vec<(usize, usize, usize)> {
        let sample = crate_of(&[("a.rs", first), ("b.rs", second)]);
        let pairs = duplicates(&[sample]);
        pairs.iter().map(|pair| (pair.lines, pair.first.start, pair.second.start)).collect()
    }

    fn lines(names: &str) -> String {
        names.chars().map(|name| format!("fn {name}() {{}}\n")).collect()
    }

    #[test]
    fn a_passage_is_found_once_and_in_its_whole_length() {
        assert_eq!(found(&lines("xabcdefgy"), &lines("abcdefgz")), [(7, 2, 1)]);
        assert_eq!(found(&lines("xabcdey"), &lines("abcdez")), []);
    }

    #[test]
    fn blank_lines_punctuation_and_imports_do_not_count() {
        let spread = "fn a() {\n}\n\nfn b() {}\nuse x::{\n  y,\n};\nfn c()  {}\n";
        let dense = "fn a() {\nfn b() {}\nfn c() {}\n";
        let (spread, dense) =
            (format!("{spread}{}", lines("def")), format!("{dense}{}}}", lines("def")));
        assert_eq!(found(&spread, &dense), [(6, 1, 1)]);
        assert_eq!(found(&"use a::b;\n".repeat(9), &"use a::b;\n".repeat(9)), []);
    }

    #[test]
    fn a_file_may_repeat_itself() {
        let twice = lines("abcdefabcdef");
        assert_eq!(found(&twice, ""), [(6, 1, 7)]);
    }
}
