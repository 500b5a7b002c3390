//! Modules of a crate have no cyclic dependencies, and no crate has more than a third of the code.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::structure::{Crate, Cycle, Figures, ReExports, cycles};

/// A crate may have at most `1 / MAX_SHARE` of all lines.
const MAX_SHARE: usize = 3;

/// Cycles that are still to be removed, by their titles. An entry that no longer exists fails
/// the check, so that the list only shrinks.
const KNOWN_CYCLES: &[&str] = &[];

/// Cycles that exist because of a name that a parent module passes on with `pub use`: modules
/// of types that contain each other, as an action, its context and the registry do. An entry
/// that no longer exists fails the check.
const KNOWN_THROUGH_RE_EXPORTS: &[&str] = &[
    "oxikit-client: {action, agent, client, exchange, stream}",
    "oxikit-core: {action, call, context, execution, handler, registry, run, span, step}",
    "oxikit-core::ports: {retention, session_store}",
    "oxikit-ai: {agent, generate, middleware, prompt, tool}",
    "oxikit-ai: {app, plugin}",
    "oxikit-ai::agent: {definition, writer}",
    "oxikit-devtools: {files, previous}",
];

/// The violations of these crates.
pub(super) fn check(crates: &[Crate]) -> Vec<String> {
    let find = |re_exports| -> Vec<Cycle> {
        crates.iter().flat_map(|krate| cycles(krate, re_exports)).collect()
    };
    let written = find(ReExports::AsWritten);
    let mut through = find(ReExports::Followed);
    through.retain(|cycle| !written.iter().any(|known| known.title() == cycle.title()));
    let mut wrong = wrong_cycles(&written, KNOWN_CYCLES, "KNOWN_CYCLES");
    let list = "KNOWN_THROUGH_RE_EXPORTS";
    wrong.extend(wrong_cycles(&through, KNOWN_THROUGH_RE_EXPORTS, list));
    wrong.extend(large_crates(crates));
    wrong
}

/// Cycles that are missing from the list, and entries of the list that do not exist any more.
fn wrong_cycles(found: &[Cycle], known: &[&str], list: &str) -> Vec<String> {
    let titles: BTreeSet<_> = found.iter().map(Cycle::title).collect();
    let new = found.iter().filter(|cycle| !known.contains(&&*cycle.title()));
    let gone = known.iter().filter(|title| !titles.contains(**title));
    new.map(describe)
        .chain(gone.map(|title| {
            format!("the module cycle `{title}` no longer exists: remove it from `{list}`")
        }))
        .collect()
}

/// The modules and each place where one of them uses another.
fn describe(cycle: &Cycle) -> String {
    let mut text = format!("these modules use each other in a circle: {}", cycle.title());
    for place in &cycle.uses {
        let (from, to, file) = (&place.from, &place.to, place.file.display());
        _ = write!(text, "\n    {from} uses {to}: {file}:{}", place.line);
    }
    text.push('\n');
    text
}

fn large_crates(crates: &[Crate]) -> Vec<String> {
    let sizes: Vec<_> =
        crates.iter().map(|krate| (&krate.name, Figures::of(krate).lines)).collect();
    let all: usize = sizes.iter().map(|(_, lines)| lines).sum();
    let large = sizes.iter().filter(|(_, lines)| lines * MAX_SHARE > all);
    large
        .map(|(name, lines)| {
            format!("`{name}` has {lines} of {all} lines, more than a third: divide it by subject")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn crate_of(name: &str, files: &[(&str, &str)]) -> Crate {
        let texts = files.iter().map(|(path, text)| (path.into(), (*text).to_owned())).collect();
        Crate::from_texts(name.to_owned(), &Path::new("crates").join(name), texts).unwrap()
    }

    #[test]
    fn a_new_cycle_is_reported_with_the_lines_that_make_it() {
        let sample =
            crate_of("sample", &[("a.rs", "use crate::b::B;"), ("b.rs", "use crate::a::A;")]);
        let found = cycles(&sample, ReExports::AsWritten);
        let expected = "\
these modules use each other in a circle: sample: {a, b}
    a uses b: crates/sample/a.rs:1
    b uses a: crates/sample/b.rs:1
";
        assert_eq!(wrong_cycles(&found, &[], "LIST"), [expected]);
        assert!(wrong_cycles(&found, &["sample: {a, b}"], "LIST").is_empty());
    }

    #[test]
    fn a_known_cycle_that_was_removed_is_reported() {
        assert_eq!(
            wrong_cycles(&[], &["sample: {a, b}"], "LIST"),
            ["the module cycle `sample: {a, b}` no longer exists: remove it from `LIST`"]
        );
    }

    #[test]
    fn a_crate_with_more_than_a_third_of_the_lines_is_reported() {
        let of = |name, lines: usize| crate_of(name, &[("lib.rs", &"fn a() {}\n".repeat(lines))]);
        let even = [of("a", 10), of("b", 10), of("c", 10)];
        assert!(large_crates(&even).is_empty());
        let uneven = [of("a", 10), of("b", 10), of("c", 11)];
        assert_eq!(
            large_crates(&uneven),
            ["`c` has 11 of 31 lines, more than a third: divide it by subject"]
        );
    }
}
