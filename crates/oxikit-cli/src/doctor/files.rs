//! Checks the files in `.genkit/runtimes` by which runtimes (V1) announce themselves.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::process::{Pid, test_kill_process};
use serde_json::Value;

use super::Finding;
use oxikit_local::local_url::is_runtime_url;
use oxikit_local::untrusted_file::{MAX_SMALL, read_text};
use oxikit_manager::CONNECTED_FILE_PREFIX;

const CHECK: &str = "runtime files";
/// Maximum number of files that are checked. Further ones are ignored.
const MAX_FILES: usize = 256;

/// Checks the files of the project and of the working directory: a runtime that takes another
/// folder for the project writes its file there.
pub(super) fn check(root: &Path, here: &Path) -> Vec<Finding> {
    let mut findings: Vec<Finding> = files_in(root).iter().filter_map(|file| judge(file)).collect();
    if here != root && !files_in(here).is_empty() {
        findings.push(Finding::suspicious(
            CHECK,
            format!("{} has runtime files, but the project is {}", here.display(), root.display()),
            "start runtimes in the folder of the project",
        ));
    }
    if findings.is_empty() {
        findings.push(Finding::good(CHECK, "no stale or unreadable ones"));
    }
    findings
}

fn files_in(root: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(root.join(".genkit").join("runtimes")) else {
        return Vec::new();
    };
    let files = entries.flatten().map(|entry| entry.path());
    let files = files.filter(|path| path.extension().is_some_and(|ending| ending == "json"));
    files.take(MAX_FILES).collect()
}

/// The problem of a file; `None` if it has none.
fn judge(path: &Path) -> Option<Finding> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let read = |text: String| serde_json::from_str::<Value>(&text).map_err(io::Error::from);
    let file = match read_text(path, MAX_SMALL).and_then(read) {
        Ok(file) => file,
        Err(error) => {
            return Some(Finding::bad(
                CHECK,
                format!("{name} cannot be read: {error}"),
                "delete it",
            ));
        }
    };
    let pid = file["pid"].as_i64().and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw);
    if pid.is_none_or(|pid| test_kill_process(pid).is_err()) {
        let detail = format!("{name} belongs to a process that has ended");
        return Some(Finding::suspicious(CHECK, detail, "delete it, or start the runtime again"));
    }
    let url = file["reflectionServerUrl"].as_str().unwrap_or_default();
    // Files that the developer tools write for V2 runtimes have an address of the tools.
    if !name.starts_with(CONNECTED_FILE_PREFIX) && !is_runtime_url(url) {
        let detail = format!("{name} has an address that is not on this machine");
        return Some(Finding::bad(CHECK, detail, "make the runtime listen on localhost"));
    }
    match file["reflectionApiSpecVersion"].as_u64() {
        None | Some(0 | 1) => None,
        Some(version) => Some(Finding::bad(
            CHECK,
            format!(
                "{name} uses version {version} of the reflection protocol; this oxikit supports version 1"
            ),
            "start the runtime with `oxikit start`, or use a newer oxikit",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::*;

    #[test]
    fn each_file_is_judged() {
        let dir = tempfile::tempdir().unwrap();
        let runtimes = dir.path().join(".genkit/runtimes");
        fs::create_dir_all(&runtimes).unwrap();
        let check = |text: &str| {
            fs::write(runtimes.join("1.json"), text).unwrap();
            check(dir.path(), dir.path())[0].verdict
        };
        let own = std::process::id();
        let file = |pid: u32, url: &str, version: u32| {
            format!(
                r#"{{"pid":{pid},"reflectionServerUrl":"{url}","reflectionApiSpecVersion":{version}}}"#
            )
        };
        assert_eq!(check(&file(own, "http://localhost:3100", 1)), Verdict::Good);
        assert_eq!(check(&file(own, "http://localhost:3100", 2)), Verdict::Bad);
        assert_eq!(check(&file(own, "http://192.0.2.1:3100", 1)), Verdict::Bad);
        assert_eq!(check(&file(i32::MAX as u32, "http://localhost:1", 1)), Verdict::Suspicious);
        assert_eq!(check("{"), Verdict::Bad);
    }

    #[test]
    fn files_in_another_folder_are_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let here = dir.path().join("src");
        fs::create_dir_all(here.join(".genkit/runtimes")).unwrap();
        fs::write(here.join(".genkit/runtimes/1.json"), "{}").unwrap();
        assert_eq!(check(dir.path(), &here)[0].verdict, Verdict::Suspicious);
        assert_eq!(check(dir.path(), dir.path())[0].verdict, Verdict::Good);
    }
}
