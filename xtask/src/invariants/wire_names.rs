//! Names of the protocols are written once, in `oxikit-wire`.
//!
//! The names are read from its sources, so that a new name is checked too. Tests are not checked:
//! they compare with the literal text on purpose.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

use crate::tools;

const OWNER: &str = "crates/oxikit-wire/src";

/// Files with other names that happen to be spelled the same: the operations of
/// REST APIs (`operationId`) and the procedures of tRPC.
const OTHER_NAMES: [&str; 4] = ["routes.rs", "openapi.rs", "agents_paths.rs", "procedures.rs"];

/// A script of `package.json`, which is not an attribute.
const NPM_SCRIPT: &str = "genkit:dev";

/// The names that only `oxikit-wire` may spell out.
struct Names {
    attributes: Vec<String>,
    methods: Vec<String>,
    headers: Vec<String>,
}

/// The places of these files that spell out a name.
pub(super) fn check(files: &[PathBuf]) -> Result<Vec<String>> {
    let names = Names {
        // Only names with a namespace: values such as `error` also occur elsewhere.
        attributes: constants("attribute.rs")?.into_iter().filter(|it| it.contains(':')).collect(),
        methods: constants("rpc/method.rs")?,
        headers: constants("headers.rs")?,
    };
    let mut wrong = Vec::new();
    for path in files.iter().filter(|path| is_checked(path)) {
        let text = std::fs::read_to_string(tools::root().join(path))?;
        for (number, name) in names.written_in(path, &text) {
            wrong.push(format!(
                "{}:{number} writes `{name}`; use the constant of `oxikit-wire`",
                path.display()
            ));
        }
    }
    Ok(wrong)
}

/// The values of the constants of a file of `oxikit-wire`.
fn constants(file: &str) -> Result<Vec<String>> {
    let text = std::fs::read_to_string(tools::root().join(OWNER).join(file))?;
    let declared = text.lines().filter(|line| line.starts_with("pub const "));
    let values: Vec<String> = declared.flat_map(literals).map(str::to_owned).collect();
    ensure!(!values.is_empty(), "{OWNER}/{file} has no constants");
    Ok(values)
}

/// Sources of all crates but the owner's, without the files of tests.
fn is_checked(path: &Path) -> bool {
    let parts: Vec<_> = path.iter().filter_map(|part| part.to_str()).collect();
    matches!(parts[..], ["crates", _, "src", ..])
        && path.extension().is_some_and(|extension| extension == "rs")
        && !path.starts_with(OWNER)
        && !parts.iter().any(|part| matches!(*part, "tests" | "tests.rs"))
}

impl Names {
    /// The names that a source has as literals, with their lines.
    fn written_in<'a>(&self, path: &Path, text: &'a str) -> Vec<(usize, &'a str)> {
        let file = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let has_other_names = OTHER_NAMES.contains(&file);
        let code = without_tests(text)
            .lines()
            .zip(1..)
            .filter(|(line, _)| !line.trim_start().starts_with("//"));
        let literals = code.flat_map(|(line, number)| literals(line).map(move |it| (number, it)));
        literals
            .filter(|(_, literal)| {
                let is = |name: &String| name == literal;
                (literal.starts_with("genkit:") && *literal != NPM_SCRIPT)
                    || *literal == "jsonrpc"
                    || self.attributes.iter().any(is)
                    || self.headers.iter().any(is)
                    || (!has_other_names && self.methods.iter().any(is))
            })
            .collect()
    }
}

/// A source up to its module of tests, which stands at its end.
fn without_tests(text: &str) -> &str {
    text.split_once("#[cfg(test)]\nmod tests {").map_or(text, |(code, _)| code)
}

/// The texts between two quotation marks. In a raw string with JSON inside, these are
/// its members and texts, and the text between them, which is not a name.
fn literals(line: &str) -> impl Iterator<Item = &str> {
    let starts = line.match_indices('"').map(|(at, _)| at + 1);
    starts.filter_map(|start| {
        let rest = &line[start..];
        Some(&rest[..rest.find('"')?])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, text: &str, expected: &[(usize, &str)]) {
        let names = Names {
            attributes: vec!["oxikit:torn".to_owned()],
            methods: vec!["runAction".to_owned()],
            headers: vec!["x-genkit-trace-id".to_owned()],
        };
        assert_eq!(names.written_in(Path::new(path), text), expected, "{text}");
    }

    #[test]
    fn names_of_the_protocols_are_found() {
        check("a.rs", "x;\nset(\"genkit:input\", 1)", &[(2, "genkit:input")]);
        check("a.rs", r#"set("oxikit:torn", 1)"#, &[(1, "oxikit:torn")]);
        check("a.rs", r#"call("runAction")"#, &[(1, "runAction")]);
        check("a.rs", r#"headers.get("x-genkit-trace-id")"#, &[(1, "x-genkit-trace-id")]);
        let frame = r###"r#"{"jsonrpc":"2.0","method":"runAction"}"#"###;
        check("a.rs", frame, &[(1, "jsonrpc"), (1, "runAction")]);
    }

    #[test]
    fn other_words_are_not() {
        check("a.rs", r#"path("/api/runAction"); text("runAction failed"); ["genkit:dev"]"#, &[]);
        check("a.rs", "/// Writes \"genkit:input\".\n//! \"runAction\"", &[]);
        check("routes.rs", r#"act("/api/v1/run", "runAction")"#, &[]);
        check("a.rs", "f();\n#[cfg(test)]\nmod tests {\n    \"runAction\"\n}", &[]);
        check("a.rs", "#[cfg(test)]\nmod tests;\nf(\"runAction\");", &[(3, "runAction")]);
    }

    #[test]
    fn tests_and_the_owner_are_not_looked_at() {
        assert!(is_checked(Path::new("crates/oxikit-core/src/span.rs")));
        for path in [
            "crates/oxikit-wire/src/attribute.rs",
            "crates/oxikit-serve/src/reflection/v2/tests/runs.rs",
            "crates/oxikit/src/format/tests.rs",
            "crates/oxikit-core/tests/it/spans.rs",
            "interop/agents/client/src/cases.rs",
        ] {
            assert!(!is_checked(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn the_names_are_those_of_the_owner() {
        assert!(constants("rpc/method.rs").unwrap().contains(&"runAction".to_owned()));
        assert!(constants("headers.rs").unwrap().contains(&"x-genkit-trace-id".to_owned()));
    }
}
