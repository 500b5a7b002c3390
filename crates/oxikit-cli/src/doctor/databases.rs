//! Checks and repairs the databases of the project.

use std::path::{Path, PathBuf};

use oxikit_sql::{OpenError, RepairError, Repaired, SqliteProject};
use oxikit_traces::TraceStore;

use super::super::failure::Failure;
use super::Finding;
use crate::project::{self, DATA_DIR};
use oxikit_devtools::{project_path, traces_path};

/// A database and the functions that check and repair its file.
struct Database {
    check: &'static str,
    path: PathBuf,
    inspect: fn(&Path) -> Result<Vec<String>, OpenError>,
    repair: fn(&Path) -> Result<Repaired, RepairError>,
}

fn databases(root: &Path) -> [Database; 2] {
    let data_dir = root.join(DATA_DIR);
    [
        Database {
            check: "trace database",
            path: traces_path(&data_dir),
            inspect: |path| TraceStore::check(path),
            repair: |path| TraceStore::repair(path),
        },
        Database {
            check: "project database",
            path: project_path(&data_dir),
            inspect: |path| SqliteProject::check(path),
            repair: |path| SqliteProject::repair(path),
        },
    ]
}

/// Checks the databases that exist.
pub(super) fn check(root: &Path) -> Vec<Finding> {
    let there = databases(root).into_iter().filter(|database| database.path.exists());
    there.map(|database| database.judge()).collect()
}

/// Repairs the damaged databases. Fails if developer tools have them open.
pub(super) fn repair(root: &Path) -> Result<Vec<Finding>, Failure> {
    let _claim = project::claim(root).map_err(|_| {
        Failure::unavailable(
            "the developer tools run for this project and have its databases open: end them, then repair",
        )
    })?;
    let there = databases(root).into_iter().filter(|database| database.path.exists());
    let findings: Vec<_> = there.map(|database| database.repaired()).collect();
    if findings.is_empty() {
        return Ok(vec![Finding::good("data", "the project has no databases")]);
    }
    Ok(findings)
}

impl Database {
    fn judge(&self) -> Finding {
        let path = self.path.display();
        let fix = "end the developer tools and run `oxikit doctor --repair`";
        match (self.inspect)(&self.path) {
            Ok(wrong) => match wrong.first() {
                None => Finding::good(self.check, "whole"),
                Some(first) => Finding::bad(self.check, format!("{path} is damaged: {first}"), fix),
            },
            Err(OpenError::NotADatabase | OpenError::Damaged(_)) => {
                Finding::bad(self.check, format!("{path} is damaged, or not a database"), fix)
            }
            Err(error) => self.unusable(&error.to_string()),
        }
    }

    fn repaired(&self) -> Finding {
        match (self.inspect)(&self.path) {
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
        Finding::bad(self.check, detail, "check the file and its permissions; it was not changed")
    }
}

/// The result as text, such as `repaired: 297 traces saved, 3 lost; …`.
fn describe(repaired: &Repaired) -> String {
    let counted = repaired.parts.iter().filter(|part| part.saved + part.lost > 0);
    let counted: Vec<_> = counted
        .map(|part| {
            let more = if part.may_be_more { " or more" } else { "" };
            format!("{} {} saved, {}{more} lost", part.saved, part.name, part.lost)
        })
        .collect();
    let counted = if counted.is_empty() { "it was empty".to_owned() } else { counted.join("; ") };
    format!("repaired: {counted}; the damaged file is kept as {}", repaired.copy.display())
}
