//! `cargo xtask structure`: figures about the structure of the crates, read from their sources.

mod cycles;
mod duplicates;
mod measures;
mod names;
mod report;
mod source;

use anyhow::{Result, bail};

pub(crate) use cycles::{Cycle, cycles};
pub(crate) use measures::Figures;
pub(crate) use names::ReExports;
pub(crate) use source::Crate;

use crate::{metadata, revision, tools};
use report::Report;

/// Prints the tables of the working tree, of another commit, or of both.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let options: Vec<&str> = args.iter().map(String::as_str).collect();
    let text = match options.as_slice() {
        [] => of_working_tree()?.show(),
        ["--at", revision] => of_revision(revision)?.show(),
        ["--before", revision] => of_working_tree()?.show_beside(&of_revision(revision)?),
        _ => bail!("`cargo xtask structure` takes `--at <revision>` or `--before <revision>`"),
    };
    println!("{text}");
    Ok(())
}

fn of_working_tree() -> Result<Report> {
    Ok(Report::of("working tree", &Crate::read_all(&tools::root())?))
}

/// Reads the sources from a temporary directory.
fn of_revision(revision: &str) -> Result<Report> {
    let dir = metadata::target_dir()?.join(format!("structure-{}", std::process::id()));
    let report = revision::check_out(&revision::commit(revision)?, &dir)
        .and_then(|()| Ok(Report::of(revision, &Crate::read_all(&dir)?)));
    std::fs::remove_dir_all(&dir)?;
    report
}
