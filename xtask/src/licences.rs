//! `cargo xtask licences`: checks licences and duplicate versions of dependencies by the rules of
//! `deny.toml`.
//!
//! cargo-deny does this and more, but takes minutes to build. These two checks need only `cargo
//! metadata`.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};

use crate::{metadata, tools};

/// The rules of `deny.toml`.
#[derive(Debug, PartialEq)]
struct Rules {
    licences: Vec<String>,
    /// Crates of which only one version is allowed.
    single: Vec<String>,
}

/// Checks the dependencies of all platforms. Returns a line for the summary.
pub(crate) fn run() -> Result<String> {
    let rules = Rules::parse(&std::fs::read_to_string(tools::root().join("deny.toml"))?)?;
    let packages = metadata::packages()?;
    let mut wrong = Vec::new();
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for package in packages.iter().filter(|package| !package.is_ours) {
        let (name, version) = (&*package.name, &*package.version);
        versions.entry(name).or_default().push(version);
        match &package.licence {
            Some(licence) if rules.allow(licence)? => {}
            Some(licence) => wrong.push(format!("{name} {version} is under {licence}")),
            None => wrong.push(format!("{name} {version} states no licence")),
        }
    }
    let crates: usize = versions.values().map(Vec::len).sum();
    versions.retain(|_, versions| versions.len() > 1);
    for name in &rules.single {
        if let Some(versions) = versions.get(&**name) {
            wrong.push(format!(
                "{name} is there {} times: {}",
                versions.len(),
                versions.join(", ")
            ));
        }
    }
    if !wrong.is_empty() {
        bail!("{} (the rules are in deny.toml)", wrong.join("; "));
    }
    let twice: Vec<_> =
        versions.iter().map(|(name, versions)| format!("{name} {}", versions.join(" "))).collect();
    println!("note: more than one version of {}", twice.join(", "));
    Ok(format!("{crates} crates allowed, {} of them in more than one version", versions.len()))
}

impl Rules {
    /// Reads the two lists; the rest of the file is for cargo-deny.
    fn parse(toml: &str) -> Result<Self> {
        let licences = array(toml, "[licenses]", "allow")?;
        let bans = array(toml, "[bans]", "deny")?;
        Ok(Self {
            licences: strings(licences),
            // In the inline tables only the name is in quotes.
            single: strings(bans),
        })
    }

    /// Whether the allowed licences satisfy an SPDX expression.
    fn allow(&self, expression: &str) -> Result<bool> {
        // The slash is the old way to write `OR`.
        let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
        let tokens: Vec<&str> = spaced.split_whitespace().collect();
        let mut rest = tokens.as_slice();
        let allowed = self.any(&mut rest)?;
        if !rest.is_empty() {
            bail!("`{expression}` is not a licence expression");
        }
        Ok(allowed)
    }

    fn any(&self, tokens: &mut &[&str]) -> Result<bool> {
        let mut allowed = self.all(tokens)?;
        while take(tokens, "OR") {
            allowed |= self.all(tokens)?;
        }
        Ok(allowed)
    }

    fn all(&self, tokens: &mut &[&str]) -> Result<bool> {
        let mut allowed = self.one(tokens)?;
        while take(tokens, "AND") {
            allowed &= self.one(tokens)?;
        }
        Ok(allowed)
    }

    fn one(&self, tokens: &mut &[&str]) -> Result<bool> {
        if take(tokens, "(") {
            let allowed = self.any(tokens)?;
            if !take(tokens, ")") {
                bail!("a licence expression lacks its `)`");
            }
            return Ok(allowed);
        }
        let mut licence = next(tokens)?.to_owned();
        if take(tokens, "WITH") {
            licence = format!("{licence} WITH {}", next(tokens)?);
        }
        Ok(self.licences.contains(&licence))
    }
}

fn next<'a>(tokens: &mut &[&'a str]) -> Result<&'a str> {
    let (first, rest) = tokens.split_first().context("a licence expression ends too early")?;
    *tokens = rest;
    Ok(first)
}

fn take(tokens: &mut &[&str], word: &str) -> bool {
    let found = tokens.first() == Some(&word);
    if found {
        *tokens = &tokens[1..];
    }
    found
}

/// The text between the brackets of `name = […]` in a table.
fn array<'a>(toml: &'a str, table: &str, name: &str) -> Result<&'a str> {
    let missing = || format!("deny.toml has no `{name}` in `{table}`");
    let (_, table) = toml.split_once(table).with_context(missing)?;
    let (_, value) = table.split_once(&format!("\n{name} = [")).with_context(missing)?;
    let (value, _) = value.split_once("\n]").with_context(missing)?;
    Ok(value)
}

fn strings(array: &str) -> Vec<String> {
    let lines = array.lines().map(|line| line.split('#').next().unwrap_or(""));
    lines.filter_map(|line| line.split('"').nth(1)).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules() -> Rules {
        Rules::parse(
            "[licenses]\nallow = [\n    \"MIT\", # \"no\"\n    \"Apache-2.0 WITH X\",\n    \"ISC\",\n]\n\
             [bans]\ndeny = [\n    { crate = \"axum\", deny-multiple-versions = true },\n]\n",
        )
        .unwrap()
    }

    #[test]
    fn the_lists_are_read() {
        assert_eq!(rules().licences, ["MIT", "Apache-2.0 WITH X", "ISC"]);
        assert_eq!(rules().single, ["axum"]);
    }

    #[test]
    fn an_expression_is_allowed_when_it_can_be_met() {
        #[track_caller]
        fn check(expression: &str, expected: bool) {
            assert_eq!(rules().allow(expression).unwrap(), expected, "{expression}");
        }
        check("MIT", true);
        check("GPL-3.0", false);
        check("GPL-3.0 OR MIT", true);
        check("GPL-3.0/MIT", true);
        check("GPL-3.0 AND MIT", false);
        check("ISC AND (GPL-3.0 OR MIT)", true);
        check("(MIT OR ISC) AND GPL-3.0", false);
        check("Apache-2.0 WITH X", true);
        check("Apache-2.0", false);
        check("GPL-3.0 AND MIT OR ISC", true);
        rules().allow("MIT ISC").unwrap_err();
        rules().allow("(MIT").unwrap_err();
    }
}
