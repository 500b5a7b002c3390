//! The outcomes of all cases with all clients, or with all servers.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::faults::Fault;
use super::table::{CASES, Table};
use crate::interop::Score;

/// The number of a column and that of a case.
type Place = (usize, usize);

/// The reports of the programs of cases: `None` for a case that passed, otherwise the reason.
pub(super) struct Matrix {
    table: &'static Table,
    cells: BTreeMap<Place, Option<String>>,
}

/// The meaning of a cell for the suite.
#[derive(Debug, PartialEq)]
enum Cell {
    Passed,
    /// It fails as the table of faults says, or would with another timing.
    Known,
    Failed(String),
}

impl Matrix {
    /// Reads the lines of the programs. A line about an unknown cell is an error.
    pub(super) fn read(table: &'static Table, output: &str) -> Result<Self> {
        let mut cells = BTreeMap::new();
        for line in output.lines().filter(|line| line.starts_with('{')) {
            let read: Value = serde_json::from_str(line).with_context(|| line.to_owned())?;
            let text = |name: &str| read[name].as_str().unwrap_or_default();
            let column = (text("peer"), text("binding"));
            let column = table.columns.iter().position(|it| *it == column);
            let case = CASES.iter().position(|it| *it == text("case"));
            let Some(place) = column.zip(case) else { bail!("the matrix has no cell for {line}") };
            let why = (read["ok"] != true).then(|| text("why").to_owned());
            cells.insert(place, why);
        }
        Ok(Self { table, cells })
    }

    fn cell(&self, place: Place) -> Cell {
        match (self.cells.get(&place), self.table.fault_at(place)) {
            (None, _) => Cell::Failed("the program of cases did not report it".to_owned()),
            (Some(None), None) => Cell::Passed,
            (Some(None), Some(fault)) if fault.is_race() => Cell::Known,
            (Some(None), Some(_)) => {
                Cell::Failed("it passes: remove it from the table of faults".to_owned())
            }
            (Some(Some(why)), Some(fault)) if why.contains(fault.sign) => Cell::Known,
            (Some(Some(why)), _) => Cell::Failed(why.clone()),
        }
    }

    /// Counts all cells but the known faults.
    pub(super) fn score(&self) -> Score {
        let mut score = Score::default();
        for place in self.table.places() {
            match self.cell(place) {
                Cell::Passed => score.passed += 1,
                Cell::Known => {}
                Cell::Failed(_) => score.failed += 1,
            }
        }
        score
    }
}

impl fmt::Display for Matrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Table { peer, columns, .. } = self.table;
        writeln!(f, "official {peer}s")?;
        for (index, (peer, binding)) in columns.iter().enumerate() {
            writeln!(f, "{:>2} {peer}, {binding}", index + 1)?;
        }
        let row = |cell: &dyn Fn(usize) -> String| -> String {
            (0..columns.len()).map(|column| format!(" {:<6}", cell(column))).collect()
        };
        writeln!(f, "\n{:<25}{}", "", row(&|column| (column + 1).to_string()).trim_end())?;
        for (case, name) in CASES.iter().enumerate() {
            let cell = |column| match self.cell((column, case)) {
                Cell::Passed => "ok".to_owned(),
                Cell::Known => "known".to_owned(),
                Cell::Failed(_) => "FAILED".to_owned(),
            };
            writeln!(f, "{name:<25}{}", row(&cell).trim_end())?;
        }
        for place in self.table.places() {
            let (peer, binding) = columns[place.0];
            let name = format!("{peer} {binding}: {}", CASES[place.1]);
            match (self.cell(place), self.table.fault_at(place)) {
                (Cell::Failed(why), _) => writeln!(f, "FAILED {name}: {why}")?,
                (Cell::Known, Some(fault)) => {
                    writeln!(f, "known {name}: fault of the {}: {}", fault.whose, fault.reason)?;
                }
                _ => {}
            }
        }
        Ok(())
    }
}

impl Table {
    fn places(&self) -> impl Iterator<Item = Place> + use<> {
        let columns = self.columns.len();
        (0..columns).flat_map(|column| (0..CASES.len()).map(move |case| (column, case)))
    }

    fn fault_at(&self, (column, case): Place) -> Option<&'static Fault> {
        let (column, case) = (self.columns[column], CASES[case]);
        self.faults.iter().find(|it| (it.peer, it.binding) == column && it.case == case)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::interop::a2a::table::{CLIENTS, SERVERS};
    use crate::tools;

    /// The output of the programs if everything is as the table of faults says.
    fn expected(table: &Table) -> Vec<String> {
        let line = |place: Place| {
            let (peer, binding) = table.columns[place.0];
            let (case, fault) = (CASES[place.1], table.fault_at(place));
            let why = fault.map(|fault| fault.sign);
            let cell = json!({ "peer": peer, "binding": binding, "case": case });
            let mut cell = cell.as_object().unwrap().clone();
            cell.insert("ok".to_owned(), fault.is_none().into());
            cell.extend(why.map(|why| ("why".to_owned(), why.into())));
            Value::Object(cell).to_string()
        };
        table.places().map(line).collect()
    }

    fn score(table: &'static Table, lines: &[String]) -> (u32, u32) {
        let Score { passed, failed } = Matrix::read(table, &lines.join("\n")).unwrap().score();
        (passed, failed)
    }

    #[test]
    fn known_faults_do_not_count_and_every_other_change_fails() {
        for table in [&CLIENTS, &SERVERS] {
            let all = table.columns.len() * CASES.len() - table.faults.len();
            let all = u32::try_from(all).unwrap();
            let lines = expected(table);
            assert_eq!(score(table, &lines), (all, 0));
            let fault = table.places().position(|place| table.fault_at(place).is_some()).unwrap();
            let good = table.places().position(|place| table.fault_at(place).is_none()).unwrap();
            let mut missing = lines.clone();
            missing.remove(good);
            assert_eq!(score(table, &missing), (all - 1, 1), "a cell is missing");
            let flipped = |index: usize| {
                let mut lines = lines.clone();
                let ok = |is_ok: bool| format!(r#""ok":{is_ok}"#);
                let is_ok = lines[index].contains(&ok(true));
                lines[index] = lines[index].replace(&ok(is_ok), &ok(!is_ok));
                score(table, &lines)
            };
            assert_eq!(flipped(good), (all - 1, 1), "a case fails");
            assert_eq!(flipped(fault), (all, 1), "a known fault is gone");
            let mut other = lines.clone();
            let place = table.places().nth(fault).unwrap();
            let sign = table.fault_at(place).unwrap().sign;
            other[fault] = other[fault].replace(sign, "something else");
            assert_eq!(score(table, &other), (all, 1), "a case fails for another reason");
        }
    }

    #[test]
    fn a_line_about_an_unknown_cell_is_an_error() {
        let line = r#"{"peer":"js 9","binding":"JSONRPC","case":"card","ok":true}"#;
        assert!(Matrix::read(&CLIENTS, line).is_err());
    }

    #[test]
    fn every_fault_has_a_cell_of_its_own() {
        for table in [&CLIENTS, &SERVERS] {
            let found = table.places().filter(|place| table.fault_at(*place).is_some()).count();
            assert_eq!(found, table.faults.len());
        }
    }

    #[test]
    fn the_documentation_has_the_same_matrices_and_faults() {
        let page = std::fs::read_to_string(tools::root().join("docs/a2a.md")).unwrap();
        for table in [&CLIENTS, &SERVERS] {
            let table = documented(table);
            assert!(page.contains(&table), "docs/a2a.md should have:\n\n{table}");
        }
    }

    /// The matrix and the faults as they are in the documentation.
    fn documented(table: &Table) -> String {
        let (columns, mut text) = (table.columns, String::new());
        for (index, (peer, binding)) in columns.iter().enumerate() {
            text += &format!("{}. {peer}, {binding}\n", index + 1);
        }
        let numbers: String = (1..=columns.len()).map(|number| format!(" {number} |")).collect();
        text += &format!("\n| case |{numbers}\n| --- |{}\n", " --- |".repeat(columns.len()));
        for (case, name) in CASES.iter().enumerate() {
            let is_fault = |column| table.fault_at((column, case)).is_some();
            let cell = |column| if is_fault(column) { " fault |" } else { " ok |" };
            let cells: String = (0..columns.len()).map(cell).collect();
            text += &format!("| {name} |{cells}\n");
        }
        text += &format!("\n| {} | binding | case | fault of the | reason |\n", table.peer);
        text += "| --- | --- | --- | --- | --- |\n";
        for Fault { peer, binding, case, whose, reason, .. } in table.faults {
            text += &format!("| {peer} | {binding} | {case} | {whose} | {reason} |\n");
        }
        text
    }
}
