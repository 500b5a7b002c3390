//! Checks the Markdown pages: links lead to files, commands of the README exist, its examples
//! are short and compiled, and the tests that the table of developer UIs names exist.

mod feature_table;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::{COMMANDS, metadata, tools};

/// Maximum number of visible lines of a Rust example in the README.
const MAX_EXAMPLE: usize = 12;

/// Checks all pages. Returns a line for the summary.
pub(crate) fn run() -> Result<String> {
    let pages: Vec<PathBuf> = tools::tracked_files()?
        .into_iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .filter(|path| {
            let is_of_a_crate = path.starts_with("crates") && path.ends_with("README.md");
            path.components().count() == 1 || path.starts_with("docs") || is_of_a_crate
        })
        .collect();
    let mut wrong = Vec::new();
    for page in &pages {
        let text = std::fs::read_to_string(tools::root().join(page))?;
        for link in links(&text) {
            let target = tools::root().join(page.parent().unwrap_or(Path::new(""))).join(link);
            if !target.exists() {
                wrong.push(format!("{} links to {link}", page.display()));
            }
        }
    }
    wrong.extend(readme()?);
    wrong.extend(feature_table::check()?);
    if !wrong.is_empty() {
        bail!("{}", wrong.join("; "));
    }
    Ok(format!("{} pages", pages.len()))
}

fn readme() -> Result<Vec<String>> {
    let read = |path: &str| std::fs::read_to_string(tools::root().join(path));
    let readme = read("README.md")?;
    let bins: BTreeSet<String> =
        metadata::members()?.into_iter().flat_map(|member| member.bins).collect();
    let mut wrong = commands(&readme, &bins);
    wrong.extend(long_examples(&readme));
    if !read("examples/readmes.rs")?.contains(r#"include_str!("../README.md")"#) {
        wrong.push("the README's examples are not compiled by examples/readmes.rs".to_owned());
    }
    for page in ["README.md", ".ci/run"] {
        if !read(page)?.contains("cargo xtask test") {
            wrong.push(format!("{page} does not name the test command"));
        }
    }
    Ok(wrong)
}

/// Commands of the README that do not exist.
fn commands(readme: &str, bins: &BTreeSet<String>) -> Vec<String> {
    let after = |prefix: &'static str| {
        readme.match_indices(prefix).map(move |(at, _)| {
            let rest = &readme[at + prefix.len()..];
            let end = rest.find(|c: char| !(c.is_alphanumeric() || "-_".contains(c)));
            &rest[..end.unwrap_or(rest.len())]
        })
    };
    let tasks = after("cargo xtask ").filter(|name| !COMMANDS.contains(name));
    let programs = after("--bin ").filter(|name| !bins.contains(*name));
    tasks
        .map(|name| {
            format!("README.md names the command `cargo xtask {name}`, which does not exist")
        })
        .chain(programs.map(|name| format!("README.md runs `{name}`, which does not exist")))
        .collect()
}

/// Rust examples with too many visible lines.
fn long_examples(readme: &str) -> Vec<String> {
    let blocks = readme.split("```").skip(1).step_by(2);
    blocks
        .filter(|block| block.starts_with("rust"))
        .map(|block| {
            let visible = block
                .lines()
                .skip(1)
                .filter(|line| !line.is_empty() && *line != "#" && !line.starts_with("# "));
            (visible.clone().next().unwrap_or(""), visible.count())
        })
        .filter(|(_, lines)| *lines > MAX_EXAMPLE)
        .map(|(first, lines)| {
            format!("README.md: the example `{first}` has {lines} lines, {MAX_EXAMPLE} are allowed")
        })
        .collect()
}

/// Links to files of the repository.
fn links(page: &str) -> impl Iterator<Item = &str> {
    page.split("](").skip(1).filter_map(|rest| {
        let (link, _) = rest.split_once(')')?;
        let file = link.split('#').next().unwrap_or("");
        let is_file = !file.is_empty() && !file.contains("://") && !file.contains(' ');
        is_file.then_some(file)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_to_files_are_found() {
        let page = "[a](b.md) [c](https://x/y.md) [d](e.md#f) [g](#h)";
        assert_eq!(links(page).collect::<Vec<_>>(), ["b.md", "e.md"]);
    }

    #[test]
    fn commands_that_do_not_exist_are_found() {
        let bins = BTreeSet::from(["hello".to_owned()]);
        let page = "`cargo run --bin hello`\n`cargo run --bin helo`\n`cargo xtask test` `cargo xtask tset`";
        assert_eq!(
            commands(page, &bins),
            [
                "README.md names the command `cargo xtask tset`, which does not exist",
                "README.md runs `helo`, which does not exist",
            ]
        );
    }

    #[test]
    fn hidden_lines_of_an_example_do_not_count() {
        let long = "fn a() {}\n".repeat(13);
        assert_eq!(long_examples(&format!("```rust\n{long}```")).len(), 1);
        let hidden = "# fn a() {}\n".repeat(13);
        assert_eq!(long_examples(&format!("```rust\n{hidden}fn b() {{}}\n```")).len(), 0);
        assert_eq!(long_examples(&format!("```text\n{long}```")).len(), 0);
    }
}
