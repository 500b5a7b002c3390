//! Finds or installs the programs of PostgreSQL.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::tools;

/// The folder in which Debian has one folder per version.
const DEBIAN: &str = "/usr/lib/postgresql";

/// The folder of `initdb` and `postgres`. Installs them if they are missing.
pub(super) fn programs() -> Result<PathBuf> {
    if let Some(found) = find() {
        return Ok(found);
    }
    tools::install_package("postgresql").context(
        "PostgreSQL is missing; the folder with its `initdb` and `postgres` may also be in PATH",
    )?;
    find().context("the package `postgresql` is installed and has no `initdb`")
}

fn find() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut dirs: Vec<PathBuf> = std::env::split_paths(&path).collect();
    dirs.extend(debian_versions());
    dirs.into_iter().find(|dir| ["initdb", "postgres"].iter().all(|name| dir.join(name).is_file()))
}

/// The versions of Debian, the newest first.
fn debian_versions() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(DEBIAN).into_iter().flatten().flatten();
    let version = |dir: &PathBuf| {
        dir.file_name().and_then(|name| name.to_str()).and_then(|name| name.parse::<u32>().ok())
    };
    let mut dirs: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    dirs.sort_by_key(|dir| std::cmp::Reverse(version(dir)));
    dirs.into_iter().map(|dir| dir.join("bin")).collect()
}

/// A user and its group.
#[derive(Debug, Clone, Copy)]
pub(super) struct User {
    pub(super) uid: u32,
    pub(super) gid: u32,
}

/// The user that PostgreSQL runs as if this process is root, which PostgreSQL rejects: the user of
/// the package, or else `nobody`. `None` means the current user.
pub(super) fn unprivileged() -> Result<Option<User>> {
    if !tools::is_root()? {
        return Ok(None);
    }
    let user = user("postgres").or_else(|_| user("nobody"));
    user.map(Some).context("PostgreSQL does not run as root, and there is no other user")
}

fn user(name: &str) -> Result<User> {
    Ok(User { uid: number(&["-u", name])?, gid: number(&["-g", name])? })
}

fn number(args: &[&str]) -> Result<u32> {
    Ok(tools::read(Command::new("id").args(args))?.trim().parse()?)
}
