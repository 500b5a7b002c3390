//! Runs `cargo package` for every crate of `crates/`, and finds problems that would only fail at a
//! publication: included files that the package lacks, and cyclic dependencies.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use anyhow::{Result, bail};
use proc_macro2::TokenTree;

use crate::metadata::{self, Package};
use crate::structure::Crate;
use crate::tools;

/// Files that every package has beside its sources.
const NEEDED: [&str; 3] = ["Cargo.toml", "LICENSE", "README.md"];

/// Packages all crates without building them. Returns a line for the summary.
pub(crate) fn run() -> Result<String> {
    let members = metadata::members()?;
    let libraries: Vec<&Package> = members.iter().filter(|member| member.is_library()).collect();
    let crates = Crate::read_all(&tools::root())?;
    let mut wrong = Vec::new();
    if let Err(circle) = publish_order(&libraries) {
        wrong.push(format!(
            "these crates cannot be published in any order: {}; a dev-dependency with a path \
             and without a version is left out of the package",
            circle.join(", ")
        ));
    }
    for krate in &crates {
        let files = packaged_files(&krate.name)?;
        wrong.extend(missing_files(krate, &files));
    }
    if !wrong.is_empty() {
        bail!("{}", wrong.join("; "));
    }
    // Fetches missing sources first. Afterwards cargo needs no registry and is faster.
    metadata::packages()?;
    // One call for all: each package finds the others, although no registry has them yet.
    let mut command =
        tools::cargo(["package", "--quiet", "--offline", "--no-verify", "--allow-dirty"]);
    command.args(libraries.iter().flat_map(|library| ["--package", &library.name]));
    tools::read(&mut command)?;
    Ok(format!("{} packages", libraries.len()))
}

fn packaged_files(name: &str) -> Result<BTreeSet<PathBuf>> {
    let mut command = tools::cargo(["package", "--quiet", "--list", "--allow-dirty"]);
    let list = tools::read(command.args(["--package", name]))?;
    Ok(list.lines().map(PathBuf::from).collect())
}

/// Files that the package needs and does not have.
fn missing_files(krate: &Crate, packaged: &BTreeSet<PathBuf>) -> Vec<String> {
    let name = &krate.name;
    let needed = NEEDED.iter().filter(|file| !packaged.contains(Path::new(file)));
    let mut wrong: Vec<_> =
        needed.map(|file| format!("the package of `{name}` has no {file}")).collect();
    let root = Path::new("crates").join(name);
    for file in &krate.files {
        let folder = file.path.parent().unwrap_or(&root);
        for included in included_files(&file.tokens) {
            let path = plain(&folder.join(&included));
            if !path.strip_prefix(&root).is_ok_and(|inside| packaged.contains(inside)) {
                let from = file.path.display();
                wrong.push(format!("{from} includes {included}, which is not in the package"));
            }
        }
    }
    wrong
}

/// The paths in `include_str!`, `include_bytes!` and `include!`.
fn included_files(tokens: &[TokenTree]) -> Vec<String> {
    const MACROS: [&str; 3] = ["include_str", "include_bytes", "include"];
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        if let [TokenTree::Ident(name), TokenTree::Punct(mark), TokenTree::Group(argument), ..] =
            &tokens[at..]
            && mark.as_char() == '!'
            && MACROS.iter().any(|known| name == known)
        {
            let argument = argument.stream().to_string();
            // The build script writes it, from files of the package.
            if argument.contains("OUT_DIR") {
                continue;
            }
            // An argument that is not a plain string is reported as a missing path.
            let path = argument.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
            found.push(path.map_or(argument.clone(), str::to_owned));
        } else if let TokenTree::Group(group) = token {
            found.extend(included_files(&group.stream().into_iter().collect::<Vec<_>>()));
        }
    }
    found
}

/// The path with `..` resolved in its text, without reading the file system.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => _ = plain.pop(),
            part => plain.push(part),
        }
    }
    plain
}

/// The crates, each after its dependencies. The error has the crates with cyclic dependencies.
fn publish_order<'a>(libraries: &[&'a Package]) -> Result<Vec<&'a str>, Vec<&'a str>> {
    let mut rest = libraries.to_vec();
    let mut order = Vec::new();
    while !rest.is_empty() {
        let is_open = |name: &str| rest.iter().any(|package| package.name == name);
        let (waiting, ready): (Vec<_>, Vec<_>) = rest.iter().copied().partition(|package| {
            package
                .dependencies
                .iter()
                .any(|dependency| dependency.is_published && is_open(&dependency.name))
        });
        if ready.is_empty() {
            return Err(waiting.iter().map(|package| &*package.name).collect());
        }
        order.extend(ready.iter().map(|package| &*package.name));
        rest = waiting;
    }
    Ok(order)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::{Dependency, Listing};

    fn package(name: &str, dependencies: &[(&str, bool)]) -> Package {
        let dependencies = dependencies.iter().map(|(name, is_published)| Dependency {
            name: (*name).to_owned(),
            is_dev: true,
            is_published: *is_published,
        });
        Package {
            name: name.to_owned(),
            version: "0.1.0".to_owned(),
            licence: None,
            rust_version: None,
            dir: PathBuf::new(),
            dependencies: dependencies.collect(),
            bins: Vec::new(),
            features: Vec::new(),
            is_ours: true,
            listing: Listing::default(),
        }
    }

    #[test]
    fn a_circle_of_published_dependencies_has_no_order() {
        let (a, b) = (package("a", &[("b", true)]), package("b", &[("serde", true)]));
        assert_eq!(publish_order(&[&a, &b]), Ok(vec!["b", "a"]));
        let back = package("b", &[("a", true)]);
        assert_eq!(publish_order(&[&a, &back]), Err(vec!["a", "b"]));
        let by_path = package("b", &[("a", false)]);
        assert_eq!(publish_order(&[&a, &by_path]), Ok(vec!["b", "a"]));
    }

    #[test]
    fn a_file_outside_of_the_package_is_reported() {
        let text = "const A: &str = include_str!(\"sql/a.sql\");\n#[doc = include_str!(\"../../../README.md\")]\nstruct B;";
        let files = vec![("lib.rs".into(), text.to_owned())];
        let sample = Crate::from_texts("x".to_owned(), Path::new("crates/x/src"), files).unwrap();
        let packaged = ["Cargo.toml", "LICENSE", "src/sql/a.sql"].map(PathBuf::from).into();
        assert_eq!(
            missing_files(&sample, &packaged),
            [
                "the package of `x` has no README.md",
                "crates/x/src/lib.rs includes ../../../README.md, which is not in the package",
            ]
        );
    }
}
