//! Checks the versions of Node.js and Genkit in a JavaScript project.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::Finding;
use oxikit_local::untrusted_file::{MAX_MANIFEST, read_text};

/// The oldest major version of Node.js that Genkit supports.
const NODE: u32 = 20;
/// The oldest version of Genkit that was tested to connect with V2.
const GENKIT: (u32, u32) = (1, 42);

/// Checks both versions. No findings for projects without a `package.json`.
pub(super) fn check(root: &Path) -> Vec<Finding> {
    if !root.join("package.json").is_file() {
        return Vec::new();
    }
    let node = Command::new("node").arg("--version").output();
    let node = node.ok().map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    let genkit = read_text(&root.join("node_modules/genkit/package.json"), MAX_MANIFEST).ok();
    let genkit = genkit.and_then(|text| serde_json::from_str::<Value>(&text).ok());
    let genkit = genkit.and_then(|package| package["version"].as_str().map(str::to_owned));
    vec![judge_node(node.as_deref()), judge_genkit(genkit.as_deref())]
}

fn judge_node(version: Option<&str>) -> Finding {
    let Some(version) = version else {
        return Finding::bad("node", "`node --version` cannot be run", "install Node.js");
    };
    match parts(version) {
        Some((major, _)) if major < NODE => Finding::bad(
            "node",
            version,
            format!("install Node.js {NODE} or newer, which Genkit needs"),
        ),
        _ => Finding::good("node", version),
    }
}

fn judge_genkit(version: Option<&str>) -> Finding {
    let Some(version) = version else {
        return Finding::bad(
            "genkit",
            "Genkit is not installed in this project",
            "run `npm install`",
        );
    };
    match parts(version) {
        Some(parts) if parts < GENKIT => Finding::suspicious(
            "genkit",
            version,
            format!("update Genkit: versions from {}.{} on were tested", GENKIT.0, GENKIT.1),
        ),
        _ => Finding::good("genkit", version),
    }
}

/// The first two numbers of a version.
fn parts(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.trim_start_matches('v').split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::*;

    #[test]
    fn old_versions_are_noticed() {
        assert_eq!(judge_node(None).verdict, Verdict::Bad);
        assert_eq!(judge_node(Some("v18.19.1")).verdict, Verdict::Bad);
        assert_eq!(judge_node(Some("v22.1.0")).verdict, Verdict::Good);
        assert_eq!(judge_genkit(None).verdict, Verdict::Bad);
        assert_eq!(judge_genkit(Some("1.9.0")).verdict, Verdict::Suspicious);
        assert_eq!(judge_genkit(Some("1.42.0")).verdict, Verdict::Good);
    }
}
