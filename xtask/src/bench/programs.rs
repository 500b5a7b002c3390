//! Our own programs: those of this checkout, or those of an earlier commit that is measured in
//! turns with it.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};

use crate::{metadata, revision, tools};

/// The programs of an earlier commit.
#[derive(Debug, Clone)]
pub(super) struct Earlier {
    /// The first characters of the hash.
    commit: String,
    folder: PathBuf,
}

/// The programs that are started, if they are not those of this checkout.
static SELECTED: Mutex<Option<Earlier>> = Mutex::new(None);

/// Selects the programs that are started from now on; `None` selects those of this checkout.
pub(super) fn select(earlier: Option<&Earlier>) {
    *SELECTED.lock().unwrap_or_else(PoisonError::into_inner) = earlier.cloned();
}

fn selected() -> Option<Earlier> {
    SELECTED.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// A word for the names of files that the selected programs have written: the commit, or `now`.
pub(super) fn label() -> String {
    selected().map_or("now".to_owned(), |earlier| earlier.commit)
}

/// The path of a selected program.
pub(super) fn path(name: &str) -> Result<PathBuf> {
    let folder = match selected() {
        Some(earlier) => earlier.folder,
        None => metadata::target_dir()?.join("release"),
    };
    Ok(folder.join(name))
}

/// Builds these programs of this checkout. Those of an earlier commit are built by [`of`].
pub(super) fn prepare(names: &[&str]) -> Result<()> {
    if selected().is_some() {
        return Ok(());
    }
    build(&tools::root(), &metadata::target_dir()?, names)
}

/// Builds groups of programs of a commit.
///
/// Each commit has a build folder of its own, in `target/before`. Cargo gives packages at the same
/// place of two workspaces the same names there, so that commits would be mixed in a common one.
pub(super) fn of(revision: &str, groups: &[&[&str]]) -> Result<Earlier> {
    let commit = revision::commit(revision)?[..12].to_owned();
    let place = metadata::target_dir()?.join("before").join(&commit);
    // The files are written once: cargo compiles files again that are newer than its last build.
    let sources = place.join("sources");
    if !sources.exists() {
        let unfinished = place.join("sources.new");
        revision::check_out(&commit, &unfinished)?;
        std::fs::rename(unfinished, &sources)?;
    }
    let target = place.join("build");
    for group in groups {
        eprintln!("building {} of {revision}", group.join(", "));
        build(&sources, &target, group)
            .with_context(|| format!("{revision} cannot be measured"))?;
    }
    Ok(Earlier { commit, folder: target.join("release") })
}

/// Builds programs of the workspace in `root`, whatever packages contain them there.
fn build(root: &Path, target: &Path, names: &[&str]) -> Result<()> {
    let members = metadata::members_of(root)?;
    let mut command = tools::cargo(["build", "--release", "--quiet"]);
    for name in names {
        let has_it = |package: &&metadata::Package| package.bins.iter().any(|bin| bin == name);
        let package = members.iter().find(has_it);
        let package = package.with_context(|| format!("no package has a program `{name}`"))?;
        command.args(["--package", &package.name, "--bin", name]);
    }
    command.current_dir(root).env("CARGO_TARGET_DIR", target);
    tools::run(&mut command)
}
