//! Finds the project of a folder, its developer tools, and the command of its application.

use std::fs;
use std::path::{Path, PathBuf};

use oxikit_wire::rpc::PROJECT_MARKERS;
use serde_json::Value;

use oxikit_devtools::ManagerFile;
use oxikit_devtools::make_data_dir;
use oxikit_local::private_file::{is_ours, open_private};
use oxikit_local::untrusted_file::{MAX_MANIFEST, read_text};

/// Marks the root of a project, in addition to the files that the Genkit CLI looks for.
const CARGO: &str = "Cargo.toml";

/// The data folder of a project.
pub(crate) const DATA_DIR: &str = ".oxikit";

/// The nearest folder, from `dir` upwards, with the files of a project; else `dir`.
pub(crate) fn root_of(dir: &Path) -> PathBuf {
    let files = PROJECT_MARKERS.into_iter().chain([CARGO]);
    let is_root = |dir: &&Path| files.clone().any(|file| dir.join(file).is_file());
    dir.ancestors().find(is_root).unwrap_or(dir).to_owned()
}

/// The nearest folder, from `dir` upwards, that developer tools were started for, and their
/// addresses. The tools may have ended since.
///
/// # Errors
///
/// If the nearest folder has a file that is not safe to use. The text names the file.
pub(crate) fn manager_of(dir: &Path) -> Result<Option<(PathBuf, ManagerFile)>, String> {
    for dir in dir.ancestors() {
        let data_dir = dir.join(DATA_DIR);
        // Another user may have put a file into a shared folder such as the one for temporary
        // files. It is ignored.
        let Ok(metadata) = fs::symlink_metadata(&data_dir) else { continue };
        if !is_ours(&metadata) || fs::symlink_metadata(data_dir.join("manager.json")).is_err() {
            continue;
        }
        if metadata.is_symlink() {
            let data_dir = data_dir.display();
            return Err(format!("{data_dir} is a symbolic link: replace it with a folder"));
        }
        if let Some(manager) = ManagerFile::load(&data_dir)? {
            return Ok(Some((dir.to_owned(), manager)));
        }
    }
    Ok(None)
}

/// Locks the project, so that only one process runs developer tools for it. The lock is held
/// until the returned file is dropped.
///
/// # Errors
///
/// If another process holds the lock. The text says what to do.
pub(crate) fn claim(root: &Path) -> Result<fs::File, String> {
    let data_dir = root.join(DATA_DIR);
    make_data_dir(&data_dir).map_err(|error| error.to_string())?;
    let path = data_dir.join("manager.lock");
    let file = open_private(&path)
        .map_err(|error| format!("{} cannot be written: {error}", path.display()))?;
    // The operating system releases the lock when the process ends, even if it is killed, so a
    // left-over file never blocks a start.
    match file.try_lock() {
        Err(fs::TryLockError::WouldBlock) => Err(format!(
            "other developer tools start, run or end for {}: use them, or try again in a moment",
            root.display()
        )),
        // Some file systems have no locks. The tools then run without the protection.
        Ok(()) | Err(fs::TryLockError::Error(_)) => Ok(file),
    }
}

/// The detected command of an application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Detected {
    /// The name of the project's folder.
    pub(crate) name: String,
    /// The program and its arguments.
    pub(crate) arguments: Vec<String>,
}

/// Detects the command of the application from the files of the project.
///
/// # Errors
///
/// If no command is known. The text says what to do.
pub(crate) fn detect(root: &Path) -> Result<Detected, String> {
    let has = |file: &str| root.join(file).is_file();
    let arguments = if has("Cargo.toml") {
        vec!["cargo", "run"]
    } else if has("package.json") {
        node_command(root)?
    } else if has("go.mod") {
        vec!["go", "run", "."]
    } else if has("pyproject.toml") || has("requirements.txt") {
        python_command(root)?
    } else {
        return Err(format!(
            "no project was found in {}: pass the command, `oxikit start -- <command>`, or try `oxikit start --demo`",
            root.display()
        ));
    };
    Ok(Detected {
        name: name_of(root),
        arguments: arguments.into_iter().map(str::to_owned).collect(),
    })
}

/// The development script, run by the package manager of the lock file.
fn node_command(root: &Path) -> Result<Vec<&'static str>, String> {
    let text = read_text(&root.join("package.json"), MAX_MANIFEST)
        .map_err(|error| format!("package.json cannot be read: {error}"))?;
    let package: Value = serde_json::from_str(&text)
        .map_err(|error| format!("package.json cannot be read: {error}"))?;
    let script = ["genkit:dev", "dev", "start"]
        .into_iter()
        .find(|script| package["scripts"][script].is_string())
        .ok_or("package.json has no script `dev` or `start`: add one, or pass the command, `oxikit start -- <command>`")?;
    let manager = [("pnpm-lock.yaml", "pnpm"), ("yarn.lock", "yarn"), ("bun.lock", "bun")]
        .into_iter()
        .find(|(lock, _)| root.join(lock).is_file())
        .map_or("npm", |(_, manager)| manager);
    Ok(vec![manager, "run", script])
}

fn python_command(root: &Path) -> Result<Vec<&'static str>, String> {
    let file = ["main.py", "app.py", "src/main.py"]
        .into_iter()
        .find(|file| root.join(file).is_file())
        .ok_or(
            "the Python project has no main.py: pass the command, `oxikit start -- <command>`",
        )?;
    Ok(match root.join("uv.lock").is_file() {
        true => vec!["uv", "run", file],
        false => vec!["python3", file],
    })
}

fn name_of(root: &Path) -> String {
    let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    root.file_name().map_or_else(|| "app".to_owned(), |name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the command that is detected in a project with these files.
    #[track_caller]
    fn check(files: &[(&str, &str)], expected: Result<&[&str], &str>) {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        match (detect(dir.path()), expected) {
            (Ok(found), Ok(arguments)) => assert_eq!(found.arguments, arguments),
            (Err(found), Err(text)) => assert!(found.contains(text), "{found}"),
            (found, _) => panic!("{found:?} instead of {expected:?}"),
        }
    }

    #[test]
    fn a_project_is_started_by_the_files_it_has() {
        check(&[("Cargo.toml", "")], Ok(&["cargo", "run"]));
        check(&[("Cargo.toml", ""), ("package.json", "{}")], Ok(&["cargo", "run"]));
        let dev = r#"{"scripts":{"dev":"tsx","start":"node"}}"#;
        check(&[("package.json", dev)], Ok(&["npm", "run", "dev"]));
        check(&[("package.json", dev), ("pnpm-lock.yaml", "")], Ok(&["pnpm", "run", "dev"]));
        check(&[("package.json", dev), ("yarn.lock", "")], Ok(&["yarn", "run", "dev"]));
        let start = r#"{"scripts":{"start":"node"}}"#;
        check(&[("package.json", start)], Ok(&["npm", "run", "start"]));
        let genkit = r#"{"scripts":{"genkit:dev":"x","dev":"y"}}"#;
        check(&[("package.json", genkit)], Ok(&["npm", "run", "genkit:dev"]));
        check(&[("package.json", "{}")], Err("no script"));
        check(&[("package.json", "{")], Err("cannot be read"));
        check(&[("go.mod", "")], Ok(&["go", "run", "."]));
        let python = [("pyproject.toml", ""), ("main.py", "")];
        check(&python, Ok(&["python3", "main.py"]));
        check(&[python[0], python[1], ("uv.lock", "")], Ok(&["uv", "run", "main.py"]));
        check(&[("requirements.txt", ""), ("src/main.py", "")], Ok(&["python3", "src/main.py"]));
        check(&[("pyproject.toml", "")], Err("no main.py"));
        check(&[("README.md", "")], Err("--demo"));
    }

    #[test]
    fn the_root_is_the_nearest_folder_with_a_project() {
        let dir = tempfile::tempdir().unwrap();
        let (inner, deep) = (dir.path().join("inner"), dir.path().join("inner/src/deep"));
        fs::create_dir_all(&deep).unwrap();
        fs::write(inner.join("go.mod"), "").unwrap();
        assert_eq!(root_of(&deep), inner);
        assert_eq!(root_of(&inner), inner);
    }
}
