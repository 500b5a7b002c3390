//! `cargo xtask invariants`: checks the rules of `ARCHITECTURE.md`.
//!
//! The table of crates on that page is the source of the rules about dependencies, so the page
//! cannot become outdated.

mod environment;
mod modules;
mod packages;
mod wire_names;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::metadata::{self, Package};
use crate::structure::Crate;
use crate::tools;

/// A dependency that one crate keeps away from all others.
const ONLY: [(&str, &str); 2] = [("rig-core", "oxikit-providers"), ("rmcp", "oxikit-mcp")];

/// Number of lines above which a file is reported, because it may have a second subject.
const LONG_FILE: usize = 800;

/// One row of the table of crates.
#[derive(Debug, PartialEq)]
struct CrateRule {
    name: String,
    /// The crates of this workspace that it may use.
    may_use: Vec<String>,
    /// Dependencies that it must not have, directly or indirectly.
    without: Vec<String>,
}

/// Checks all rules. Returns a line for the summary.
pub(crate) fn run() -> Result<String> {
    let page = std::fs::read_to_string(tools::root().join("ARCHITECTURE.md"))?;
    let rules = rules(&page);
    let members = metadata::members()?;
    let files = tools::tracked_files()?;
    let mut wrong = layers(&rules, &members);
    wrong.extend(without(&rules)?);
    wrong.extend(manifests(&members)?);
    let crates = Crate::read_all(&tools::root())?;
    wrong.extend(modules::check(&crates));
    wrong.extend(packages::check(&members)?);
    wrong.extend(packages::unused_dependencies(&members, &crates));
    wrong.extend(texts(&files)?);
    wrong.extend(wire_names::check(&files)?);
    wrong.extend(environment::check(&files)?);
    for (path, lines) in long_files(&files)? {
        println!("note: {} has {lines} lines; is there a second subject inside?", path.display());
    }
    if !wrong.is_empty() {
        bail!("{}", wrong.join("; "));
    }
    Ok(format!("{} crates, {} files", members.len(), files.len()))
}

/// The rows of the table whose first cell is a crate of this workspace.
fn rules(page: &str) -> Vec<CrateRule> {
    let rows = page.lines().filter_map(|line| {
        let cells: Vec<_> = line.trim().strip_prefix('|')?.split('|').collect();
        let [name, _, may_use, without, ..] = cells.as_slice() else {
            return None;
        };
        let [name] = <[String; 1]>::try_from(in_backticks(name)).ok()?;
        let rule =
            CrateRule { name, may_use: in_backticks(may_use), without: in_backticks(without) };
        rule.name.starts_with("oxikit").then_some(rule)
    });
    rows.collect()
}

fn in_backticks(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Every library crate has a row and uses only the crates of its row.
fn layers(rules: &[CrateRule], members: &[Package]) -> Vec<String> {
    let mut wrong = Vec::new();
    let ours: BTreeSet<&str> = members.iter().map(|member| &*member.name).collect();
    for (position, rule) in rules.iter().enumerate() {
        if !ours.contains(&*rule.name) {
            wrong.push(format!("ARCHITECTURE.md lists `{}`, which does not exist", rule.name));
        }
        // A crate may only use crates of the rows above its own.
        let above: Vec<_> = rules[..position].iter().map(|rule| &*rule.name).collect();
        for used in &rule.may_use {
            if !above.contains(&&**used) {
                wrong.push(format!(
                    "ARCHITECTURE.md lets `{}` use `{used}`, which is not above it",
                    rule.name
                ));
            }
        }
    }
    for member in members.iter().filter(|member| member.is_library()) {
        let Some(rule) = rules.iter().find(|rule| rule.name == member.name) else {
            wrong.push(format!("`{}` is missing from the table of ARCHITECTURE.md", member.name));
            continue;
        };
        for dependency in &member.dependencies {
            // Tests may use crates of the rows below.
            let is_ours = ours.contains(&*dependency.name) && !dependency.is_dev;
            if is_ours && !rule.may_use.contains(&dependency.name) {
                wrong.push(format!("`{}` must not use `{}`", member.name, dependency.name));
            }
        }
    }
    for member in members {
        for (dependency, owner) in ONLY {
            let names = |list: &[metadata::Dependency]| list.iter().any(|d| d.name == dependency);
            if member.name != owner && names(&member.dependencies) {
                wrong.push(format!(
                    "`{}` depends on `{dependency}`; only `{owner}` may",
                    member.name
                ));
            }
        }
    }
    wrong
}

/// Crates that have a dependency, directly or indirectly, that their row excludes.
fn without(rules: &[CrateRule]) -> Result<Vec<String>> {
    let mut wrong = Vec::new();
    for rule in rules.iter().filter(|rule| !rule.without.is_empty()) {
        // The tree of this package has its own features, not those of the whole workspace.
        let tree = tools::read(&mut tools::cargo([
            "tree",
            "--package",
            &rule.name,
            "--edges=normal",
            "--prefix=none",
            "--format={p}",
        ]))?;
        let below: BTreeSet<&str> =
            tree.lines().filter_map(|line| line.split(' ').next()).collect();
        for banned in &rule.without {
            if below.contains(&**banned) {
                wrong.push(format!("`{}` builds with `{banned}`", rule.name));
            }
        }
    }
    Ok(wrong)
}

/// Unsafe code is forbidden, and all crates have the same licence and Rust version.
fn manifests(members: &[Package]) -> Result<Vec<String>> {
    let mut wrong = Vec::new();
    let workspace = std::fs::read_to_string(tools::root().join("Cargo.toml"))?;
    if !workspace.contains("unsafe_code = \"forbid\"") {
        wrong.push("the workspace does not forbid unsafe code".to_owned());
    }
    let rust_version = &members.first().context("no members")?.rust_version;
    for member in members {
        let manifest = std::fs::read_to_string(member.dir.join("Cargo.toml"))?;
        // Examples may print, so they take only the rule about unsafe code.
        let takes_lints = manifest.contains("[lints]\nworkspace = true")
            || manifest.contains("unsafe_code = \"forbid\"");
        if !takes_lints {
            wrong.push(format!("`{}` does not take the lints", member.name));
        }
        if member.licence.as_deref() != Some("Apache-2.0") {
            wrong.push(format!("`{}` is not under Apache-2.0", member.name));
        }
        if member.rust_version.is_none() || member.rust_version != *rust_version {
            wrong.push(format!("`{}` states another Rust version, or none", member.name));
        }
    }
    Ok(wrong)
}

/// No tracked file has a path of one machine or an address of a package registry.
fn texts(files: &[PathBuf]) -> Result<Vec<String>> {
    // Written in two pieces, so that this file does not match itself.
    const PATHS: [&str; 4] = [
        concat!("/", "work/"),
        concat!("/", "root/"),
        concat!("/", "tmp/bash"),
        concat!("/", "home/"),
    ];
    let mut wrong = Vec::new();
    for path in files {
        // Binary files are not checked.
        let Ok(text) = std::fs::read_to_string(tools::root().join(path)) else {
            continue;
        };
        for (line, number) in text.lines().zip(1..) {
            if PATHS.iter().any(|part| has_path(line, part)) {
                wrong.push(format!("{}:{number} names a path", path.display()));
            }
            if names_registry(path, line) {
                wrong.push(format!("{}:{number} names a registry", path.display()));
            }
        }
    }
    Ok(wrong)
}

/// Whether the line has an absolute path with this beginning. The same text inside of a URL or of a
/// relative path does not count.
fn has_path(line: &str, start: &str) -> bool {
    line.match_indices(start).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || "._-}/~*".contains(c))
    })
}

fn names_registry(path: &Path, line: &str) -> bool {
    const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";
    let name = path.file_name().unwrap_or_default();
    if name == "Cargo.lock" {
        return line.starts_with("source = ") && !line.contains(CRATES_IO);
    }
    if name == "package-lock.json" {
        return line.trim_start().starts_with("\"resolved\"");
    }
    if name == ".npmrc" || name == "config.toml" {
        return line.contains("registry") || line.trim_start().starts_with("[source");
    }
    false
}

fn long_files(files: &[PathBuf]) -> Result<Vec<(PathBuf, usize)>> {
    let mut long = Vec::new();
    for path in files {
        let is_source = path.extension().is_some_and(|extension| {
            ["rs", "ts", "svelte"].iter().any(|known| extension == *known)
        });
        let is_test = path.components().any(|part| part.as_os_str() == "tests")
            || path.file_name().is_some_and(|name| name == "tests.rs");
        if is_source && !is_test {
            let lines = std::fs::read_to_string(tools::root().join(path))?.lines().count();
            if lines > LONG_FILE {
                long.push((path.clone(), lines));
            }
        }
    }
    Ok(long)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "\
| crate | holds | may use | builds without |
| --- | --- | --- | --- |
| `oxikit-wire` | what `x` is | – | `tokio` |
| `oxikit-core` | Action | `oxikit-wire` | `axum`, `hyper` |
| `a` and `b` | not a crate | | |
";

    fn member(name: &str, dependencies: &[&str]) -> Package {
        Package {
            name: name.to_owned(),
            version: "0.1.0".to_owned(),
            licence: Some("Apache-2.0".to_owned()),
            rust_version: None,
            dir: tools::root().join("crates").join(name),
            dependencies: dependencies
                .iter()
                .map(|name| metadata::Dependency {
                    name: (*name).to_owned(),
                    is_dev: false,
                    is_published: true,
                })
                .collect(),
            features: vec![],
            bins: Vec::new(),
            is_ours: true,
            listing: metadata::Listing::default(),
        }
    }

    #[test]
    fn the_table_is_the_rule() {
        let rules = rules(PAGE);
        assert_eq!(rules.len(), 2);
        assert_eq!(rules[1].may_use, ["oxikit-wire"]);
        assert_eq!(rules[1].without, ["axum", "hyper"]);

        let fine = [member("oxikit-wire", &["serde"]), member("oxikit-core", &["oxikit-wire"])];
        assert_eq!(layers(&rules, &fine), Vec::<String>::new());
    }

    #[test]
    fn a_dependency_on_a_lower_row_is_found() {
        let members = [
            member("oxikit-wire", &["oxikit-core"]),
            member("oxikit-core", &["rig-core"]),
            member("oxikit-new", &[]),
        ];
        assert_eq!(
            layers(&rules(PAGE), &members),
            [
                "`oxikit-wire` must not use `oxikit-core`",
                "`oxikit-new` is missing from the table of ARCHITECTURE.md",
                "`oxikit-core` depends on `rig-core`; only `oxikit-providers` may",
            ]
        );
    }

    #[test]
    fn a_table_with_a_dependency_on_a_lower_row_is_found() {
        let page = "| `oxikit-wire` | x | `oxikit-core` | |\n| `oxikit-core` | x | | |";
        let members = [member("oxikit-wire", &[]), member("oxikit-core", &[])];
        assert_eq!(
            layers(&rules(page), &members),
            ["ARCHITECTURE.md lets `oxikit-wire` use `oxikit-core`, which is not above it"]
        );
    }

    #[test]
    fn only_absolute_paths_are_paths() {
        let start = concat!("/", "work/");
        assert!(has_path(&format!("see {start}x"), start));
        assert!(has_path(&format!("\"{start}x\""), start));
        assert!(!has_path(&format!("https://example.com{start}x"), start));
        assert!(!has_path(&format!("frame{start}x"), start));
    }

    #[test]
    fn addresses_of_registries_are_found_where_tools_write_them() {
        let lock = Path::new("ui/package-lock.json");
        assert!(names_registry(lock, "      \"resolved\": \"https://x\","));
        assert!(!names_registry(lock, "      \"integrity\": \"sha512-x\","));
        assert!(names_registry(
            Path::new("Cargo.lock"),
            "source = \"registry+https://example.com/index\""
        ));
    }
}
