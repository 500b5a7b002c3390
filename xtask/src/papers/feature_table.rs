//! Checks the table of developer UIs: each row of our column names a test that exists.

use anyhow::{Context, Result};

use crate::{interop, tools};

/// The page with the table.
const PAGE: &str = "docs/web-compared.md";
/// The folders of the test cases.
const CASES: [&str; 2] = ["interop/web-page/js", "interop/prompts-page/js"];
/// A row of this text in our column has no test, because there is no such feature.
const NONE: &str = "none";

/// What is wrong with the table.
pub(super) fn check() -> Result<Vec<String>> {
    let read = |path: &std::path::Path| {
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
    };
    let page = read(&tools::root().join(PAGE))?;
    let mut sources = String::new();
    for folder in CASES {
        for entry in std::fs::read_dir(tools::root().join(folder))? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "mjs") {
                sources.push_str(&read(&path)?);
            }
        }
    }
    Ok(wrong_rows(&page, &sources, &interop::suite_names()))
}

/// Rows whose test does not exist, or that name none.
fn wrong_rows(page: &str, sources: &str, suites: &[&str]) -> Vec<String> {
    // The first two lines of a table are its head.
    let rows = page.lines().filter(|line| line.starts_with("| ")).skip(2);
    rows.filter_map(|row| {
        let mut cells = row.split('|').map(str::trim).skip(1);
        let (what, ours) = (cells.next()?, cells.next()?);
        if ours.starts_with(NONE) {
            return None;
        }
        match ours.strip_prefix('`').and_then(|rest| rest.strip_suffix('`')) {
            None => Some(format!("{PAGE}: the row `{what}` names no test")),
            Some(test) if exists(test, sources, suites) => None,
            Some(test) => Some(format!("{PAGE}: there is no test `{test}`")),
        }
    })
    .collect()
}

/// Whether a case or a suite has this name. The cases of a suite for several languages have the
/// language before the colon.
fn exists(test: &str, sources: &str, suites: &[&str]) -> bool {
    let in_every_language =
        test.split_once(": ").map(|(_, rest)| format!("${{language}}: {rest}`"));
    sources.contains(&format!("'{test}'"))
        || in_every_language.is_some_and(|name| sources.contains(&name))
        || suites.contains(&test)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_without_a_test_that_exists_are_found() {
        let page = "| what | ours |\n| --- | --- |\n| a | `x: one` |\n| b | `js: two` |\n\
                    | c | `web-page/views` |\n| d | none: not a goal |\n| e | `x: gone` |\n| f | yes |";
        let sources = "'x: one': async () => {}\ncases[`${language}: two`] = async () => {}";
        assert_eq!(
            wrong_rows(page, sources, &["web-page/views"]),
            [
                "docs/web-compared.md: there is no test `x: gone`",
                "docs/web-compared.md: the row `f` names no test",
            ]
        );
    }
}
