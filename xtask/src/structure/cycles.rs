//! Finds sibling modules that use each other, directly or through others.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::names::{Names, ReExports, paths};
use super::source::{Crate, ModulePath};

/// Modules of one parent, each of which depends on all others.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Cycle {
    pub(crate) krate: String,
    pub(crate) parent: ModulePath,
    /// In the order of their names.
    pub(crate) modules: Vec<String>,
    pub(crate) uses: Vec<Use>,
}

/// One module of a cycle uses another one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Use {
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) file: PathBuf,
    pub(crate) line: usize,
}

/// The modules below one parent, and where they use each other.
#[derive(Debug, Default)]
struct Level {
    uses: BTreeMap<String, BTreeMap<String, Vec<(PathBuf, usize)>>>,
}

/// The cycles of a crate at all levels of its modules.
pub(crate) fn cycles(krate: &Crate, re_exports: ReExports) -> Vec<Cycle> {
    let mut found = Vec::new();
    for (parent, level) in levels(krate, re_exports) {
        for modules in level.cycles() {
            let uses = level.uses_between(&modules);
            found.push(Cycle { krate: krate.name.clone(), parent: parent.clone(), modules, uses });
        }
    }
    found
}

impl Cycle {
    /// One line that identifies it: `oxikit-core: {a, b}` or `oxikit-core::parent: {a, b}`.
    pub(crate) fn title(&self) -> String {
        let place = std::iter::once(&self.krate).chain(&self.parent);
        let place: Vec<_> = place.map(String::as_str).collect();
        format!("{}: {{{}}}", place.join("::"), self.modules.join(", "))
    }
}

fn levels(krate: &Crate, re_exports: ReExports) -> BTreeMap<ModulePath, Level> {
    let names = Names::of(krate, re_exports);
    let mut levels: BTreeMap<ModulePath, Level> = BTreeMap::new();
    for module in &krate.modules {
        for path in paths(&module.tokens) {
            let Some(target) = names.target(module, &path) else {
                continue;
            };
            let common = module.path.iter().zip(&target).take_while(|(a, b)| a == b).count();
            // Where one of them is the parent of the other, they are not siblings.
            if let (Some(from), Some(to)) = (module.path.get(common), target.get(common)) {
                let level = levels.entry(target[..common].to_vec()).or_default();
                let places = level.uses.entry(from.clone()).or_default();
                let places = places.entry(to.clone()).or_default();
                places.push((module.file.clone(), path.line));
            }
        }
    }
    levels
}

impl Level {
    fn cycles(&self) -> Vec<Vec<String>> {
        let reached: BTreeMap<&str, BTreeSet<&str>> =
            self.uses.keys().map(|module| (module.as_str(), self.reached_from(module))).collect();
        let reaches = |from: &str, to: &str| reached.get(from).is_some_and(|set| set.contains(to));
        let mut found = BTreeSet::new();
        for module in self.uses.keys() {
            let mutual =
                self.uses.keys().filter(|other| reaches(module, other) && reaches(other, module));
            let set: Vec<String> = mutual.cloned().collect();
            if set.len() > 1 {
                found.insert(set);
            }
        }
        found.into_iter().collect()
    }

    fn reached_from<'a>(&'a self, module: &'a str) -> BTreeSet<&'a str> {
        let mut reached = BTreeSet::new();
        let mut open = vec![module];
        while let Some(next) = open.pop() {
            let used = self.uses.get(next).into_iter().flat_map(BTreeMap::keys);
            open.extend(used.map(String::as_str).filter(|used| reached.insert(*used)));
        }
        reached
    }

    fn uses_between(&self, modules: &[String]) -> Vec<Use> {
        let mut found = Vec::new();
        for (from, targets) in self.uses.iter().filter(|(from, _)| modules.contains(from)) {
            for (to, places) in targets.iter().filter(|(to, _)| modules.contains(to)) {
                found.extend(places.iter().map(|(file, line)| Use {
                    from: from.clone(),
                    to: to.clone(),
                    file: file.clone(),
                    line: *line,
                }));
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::structure::source::crate_of;

    fn titles(files: &[(&str, &str)]) -> Vec<String> {
        cycles(&crate_of(files), ReExports::AsWritten).iter().map(Cycle::title).collect()
    }

    #[test]
    fn siblings_that_use_each_other_are_a_cycle_with_its_places() {
        let files = [
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "\nuse crate::b::B;"),
            ("b.rs", "fn x() { super::a::y() }"),
        ];
        let found = cycles(&crate_of(&files), ReExports::AsWritten);
        assert_eq!(found[0].title(), "sample: {a, b}");
        let places: Vec<_> = found[0]
            .uses
            .iter()
            .map(|u| format!("{} → {} {}:{}", u.from, u.to, u.file.display(), u.line))
            .collect();
        assert_eq!(places, ["a → b crates/sample/src/a.rs:2", "b → a crates/sample/src/b.rs:1"]);
    }

    #[test]
    fn a_use_of_something_inside_of_a_module_counts_for_all_levels_above_it() {
        let files = [
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "mod inner;"),
            ("a/inner.rs", "use crate::b::B;"),
            ("b.rs", "use crate::a::inner::C;"),
        ];
        assert_eq!(titles(&files), ["sample: {a, b}"]);
    }

    #[test]
    fn a_circle_of_three_is_one_cycle_and_a_chain_is_none() {
        let circle = [
            ("a.rs", "use crate::b::X;"),
            ("b.rs", "use crate::c::X;"),
            ("c.rs", "use crate::a::X;"),
            ("d.rs", "use crate::a::X;"),
        ];
        assert_eq!(titles(&circle), ["sample: {a, b, c}"]);
        assert!(titles(&circle[..2]).is_empty());
    }

    #[test]
    fn a_cycle_may_be_hidden_by_a_re_export() {
        let sample = crate_of(&[
            ("lib.rs", "mod a; mod b; pub use a::A;"),
            ("a.rs", "pub struct A(crate::b::B);"),
            ("b.rs", "use crate::A; pub struct B(Box<A>);"),
        ]);
        assert!(cycles(&sample, ReExports::AsWritten).is_empty());
        assert_eq!(cycles(&sample, ReExports::Followed)[0].title(), "sample: {a, b}");
    }

    #[test]
    fn a_parent_and_its_child_are_not_siblings() {
        let files = [("a.rs", "mod b; use b::X; pub struct Y;"), ("a/b.rs", "use super::Y;")];
        assert!(titles(&files).is_empty());
    }

    #[test]
    fn tests_may_use_everything() {
        let files =
            [("a.rs", "use crate::b::X;"), ("b.rs", "#[cfg(test)] mod tests { use crate::a::Y; }")];
        assert!(titles(&files).is_empty());
    }
}
