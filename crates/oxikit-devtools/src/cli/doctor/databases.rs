//! The databases of the project: whether they are whole, and their repair.

use std::path::{Path, PathBuf};

use oxikit_sql::{OpenError, ProjectStore, RepairError, Repaired, TraceStore};

use super::super::failure::Failure;
use super::Finding;
use crate::project::{self, DATA_DIR};
use crate::server::{project_path, traces_path};

/// A database, and what can be done with its file.
struct Database {
    check: &'static str,
    path: PathBuf,
    look: fn(&Path) -> Result<Vec<String>, OpenError>,
    repair: fn(&Path) -> Result<Repaired, RepairError>,
}

fn databases(root: &Path) -> [Database; 2] {
    let data_dir = root.join(DATA_DIR);
    [
        Database {
            check: "trace database",
            path: traces_path(&data_dir),
            look: |path| TraceStore::check(path),
            repair: |path| TraceStore::repair(path),
        },
        Database {
            check: "project database",
            path: project_path(&data_dir),
            look: |path| ProjectStore::check(path),
            repair: |path| ProjectStore::repair(path),
        },
    ]
}

/// What is wrong with those that there are.
pub(super) fn check(root: &Path) -> Vec<Finding> {
    let there = databases(root).into_iter().filter(|database| database.path.exists());
    there.map(|database| database.judge()).collect()
}

/// Repairs those that are damaged. Nobody may have them open.
pub(super) fn repair(root: &Path) -> Result<Vec<Finding>, Failure> {
    let _claim = project::claim(root).map_err(|_| {
        Failure::nobody_there(
            "the tools run for this project and have its data open: end them, then repair",
        )
    })?;
    let there = databases(root).into_iter().filter(|database| database.path.exists());
    let findings: Vec<_> = there.map(|database| database.repaired()).collect();
    if findings.is_empty() {
        return Ok(vec![Finding::good("data", "the project has none")]);
    }
    Ok(findings)
}

impl Database {
    fn judge(&self) -> Finding {
        let path = self.path.display();
        let fix = "end the tools and run `oxikit doctor --repair`";
        match (self.look)(&self.path) {
            Ok(wrong) => match wrong.first() {
                None => Finding::good(self.check, "whole"),
                Some(first) => Finding::bad(self.check, format!("{path} is damaged: {first}"), fix),
            },
            Err(OpenError::NotADatabase | OpenError::Damaged(_)) => {
                Finding::bad(self.check, format!("{path} is damaged, or no database"), fix)
            }
            Err(error) => self.unusable(&error.to_string()),
        }
    }

    fn repaired(&self) -> Finding {
        match (self.look)(&self.path) {
            Ok(wrong) if wrong.is_empty() => Finding::good(self.check, "whole"),
            Ok(_) | Err(OpenError::NotADatabase | OpenError::Damaged(_)) => {
                match (self.repair)(&self.path) {
                    Ok(repaired) => Finding::good(self.check, describe(&repaired)),
                    Err(error) => self.unusable(&error.to_string()),
                }
            }
            Err(error) => self.unusable(&error.to_string()),
        }
    }

    fn unusable(&self, why: &str) -> Finding {
        let detail = format!("{}: {why}", self.path.display());
        Finding::bad(self.check, detail, "see to the file; nothing was changed")
    }
}

/// Such as `repaired: 297 traces saved, 3 lost; …`.
fn describe(repaired: &Repaired) -> String {
    let counted = repaired.parts.iter().filter(|part| part.saved + part.lost > 0);
    let counted: Vec<_> = counted
        .map(|part| {
            let more = if part.may_be_more { " or more" } else { "" };
            format!("{} {} saved, {}{more} lost", part.saved, part.name, part.lost)
        })
        .collect();
    let counted =
        if counted.is_empty() { "nothing was in it".to_owned() } else { counted.join("; ") };
    format!("repaired: {counted}; the damaged file is kept as {}", repaired.copy.display())
}
