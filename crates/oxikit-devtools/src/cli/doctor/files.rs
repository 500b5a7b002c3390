//! Files that runtimes leave for tools to find them by.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::process::{Pid, test_kill_process};
use serde_json::Value;

use super::Finding;
use crate::local_url::is_runtime_url;
use crate::manager::STAND_IN;
use crate::untrusted_file::{MAX_SMALL, read_text};

const CHECK: &str = "runtime files";
/// Maximum number of files that are looked at.
const MAX_FILES: usize = 256;

/// The files of the project, and of the folder that the command was called in: a
/// runtime that takes another folder for the project leaves its file there.
pub(super) fn check(root: &Path, here: &Path) -> Vec<Finding> {
    let mut findings: Vec<Finding> = files_in(root).iter().filter_map(|file| judge(file)).collect();
    if here != root && !files_in(here).is_empty() {
        findings.push(Finding::suspicious(
            CHECK,
            format!("{} has some, but the project is {}", here.display(), root.display()),
            "start runtimes in the folder of the project",
        ));
    }
    if findings.is_empty() {
        findings.push(Finding::good(CHECK, "none is left over or broken"));
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

/// What is wrong with a file, if anything is.
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
        let detail = format!("{name} is of a process that has ended");
        return Some(Finding::suspicious(CHECK, detail, "delete it, or start the runtime again"));
    }
    let url = file["reflectionServerUrl"].as_str().unwrap_or_default();
    // Our own lead through the tools.
    if !name.starts_with(STAND_IN) && !is_runtime_url(url) {
        let detail = format!("{name} does not name an address of a runtime on this machine");
        return Some(Finding::bad(CHECK, detail, "let the runtime listen on localhost"));
    }
    match file["reflectionApiSpecVersion"].as_u64() {
        None | Some(0 | 1) => None,
        Some(version) => Some(Finding::bad(
            CHECK,
            format!("{name} speaks version {version} of the protocol; 1 is known"),
            "start the runtime by `oxikit start`, or use a newer oxikit",
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
