//! Only a few files read the environment of the process. All other code takes values.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::tools;

/// Files that read environment variables.
const READERS: [&str; 11] = [
    // The command line, whose settings come from files, variables and arguments.
    "crates/oxikit-cli/src/config.rs",
    "crates/oxikit-cli/src/doctor.rs",
    "crates/oxikit-cli/src/mcp/own_tools.rs",
    "crates/oxikit-cli/src/mcp/runtimes.rs",
    "crates/oxikit-cli/src/start.rs",
    // Names only, for `GET /api/v1/info`.
    "crates/oxikit-devtools/src/api/info.rs",
    // API keys and addresses of providers, where the application gives none.
    "crates/oxikit-providers/src/key.rs",
    "crates/oxikit-providers/src/ollama.rs",
    // `DevConfig::from_env`, `OtlpConfig::from_env`, and the port of `Server`.
    "crates/oxikit-reflection/src/settings.rs",
    "crates/oxikit-serve/src/server.rs",
    "crates/oxikit-telemetry/src/otlp/variables.rs",
];

/// Files below `crates/*/src` that read the environment and are not among [`READERS`].
pub(super) fn check(files: &[PathBuf]) -> Result<Vec<String>> {
    let mut wrong = Vec::new();
    for path in files.iter().filter(|path| is_source(path)) {
        let text = std::fs::read_to_string(tools::root().join(path))?;
        if reads(&text) && !READERS.iter().any(|known| path == Path::new(known)) {
            let path = path.display();
            wrong.push(format!("{path} reads the environment; take a value instead"));
        }
    }
    Ok(wrong)
}

fn is_source(path: &Path) -> bool {
    path.starts_with("crates")
        && path.components().nth(2).is_some_and(|part| part.as_os_str() == "src")
        && path.extension().is_some_and(|extension| extension == "rs")
}

fn reads(text: &str) -> bool {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let mut lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.any(|line| line.contains("env::var"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_code_outside_of_tests_counts() {
        assert!(reads("let home = std::env::var(\"HOME\");"));
        assert!(reads("for (name, value) in env::vars_os() {}"));
        assert!(!reads("/// Reads `std::env::var`."));
        assert!(!reads("#[cfg(test)]\nmod tests { fn home() { std::env::var(\"HOME\"); } }"));
        assert!(is_source(Path::new("crates/oxikit-core/src/run.rs")));
        assert!(!is_source(Path::new("crates/oxikit-core/tests/it/run.rs")));
    }
}
