//! The sources of another commit, in a folder of their own.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::tools;

/// The full hash of the commit that a revision names: a branch, a tag, a hash.
///
/// # Errors
/// The repository has no such commit.
pub(crate) fn commit(revision: &str) -> Result<String> {
    let name = format!("{revision}^{{commit}}");
    let mut git = Command::new("git");
    git.args(["rev-parse", "--quiet", "--verify", "--end-of-options", &name]);
    let hash = tools::read(git.current_dir(tools::root()))
        .with_context(|| format!("there is no commit `{revision}`"))?;
    Ok(hash.trim().to_owned())
}

/// Writes the files of a commit into a folder. Neither the working tree nor the index changes.
pub(crate) fn check_out(commit: &str, dir: &Path) -> Result<()> {
    let git = |args: &[&str]| {
        let mut command = Command::new("git");
        command.args(args).env("GIT_INDEX_FILE", dir.join("index")).current_dir(tools::root());
        tools::read(&mut command)
    };
    std::fs::create_dir_all(dir)?;
    git(&["read-tree", commit])?;
    git(&["checkout-index", "--all", "--force", &format!("--prefix={}/", dir.display())])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_revision_that_does_not_exist_is_named() {
        let error = commit("no-such-branch").unwrap_err();
        assert_eq!(error.to_string(), "there is no commit `no-such-branch`");
        let error = commit("--all").unwrap_err();
        assert_eq!(error.to_string(), "there is no commit `--all`");
    }

    #[test]
    fn the_files_of_a_commit_are_written_into_the_folder() {
        let hash = commit("HEAD").unwrap();
        assert_eq!(hash.len(), 40);
        let dir = std::env::temp_dir().join(format!("xtask-revision-{}", std::process::id()));
        check_out(&hash, &dir).unwrap();
        let manifest = std::fs::read_to_string(dir.join("Cargo.toml")).unwrap();
        std::fs::remove_dir_all(&dir).unwrap();
        assert!(manifest.contains("[workspace]"), "{manifest}");
    }
}
