//! Formats rows as a table with aligned columns.

use crate::terminal::{self, Text, cut, pad, width};

/// Maximum number of columns of a cell. A longer one is cut.
const MAX_CELL: usize = 256;
/// Minimum number of columns that a cell keeps when rows are cut to the terminal. If that is
/// not enough, the rows are wider than the terminal.
const MIN_CELL: usize = 12;
/// The text between two cells.
const GAP: &str = "  ";

/// Formats the rows. With the width of a terminal, cells are cut until the rows fit, the widest
/// column first. The columns in `ids` are not cut for that.
pub(super) fn table(rows: &[Vec<String>], ids: &[usize], terminal: Option<usize>) -> Vec<Text> {
    let cell = |cell: &String| cut(&terminal::line(cell), MAX_CELL);
    let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(cell).collect()).collect();
    let mut widths = Vec::new();
    for row in &rows {
        widths.resize(row.len().max(widths.len()), 0);
        for (column, cell) in row.iter().enumerate() {
            widths[column] = width(cell).max(widths[column]);
        }
    }
    // Without a terminal (a file or a pipe) rows keep their full width.
    if let Some(columns) = terminal {
        shrink(&mut widths, ids, columns);
    }
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| pad(&cut(cell, *width), *width));
        Text::from(cells.collect::<Vec<_>>().join(GAP).trim_end())
    };
    rows.iter().map(line).collect()
}

/// Narrows the widest column, one step at a time, until the rows fit or no column can be
/// narrowed.
fn shrink(widths: &mut [usize], ids: &[usize], columns: usize) {
    let gaps = GAP.len() * widths.len().saturating_sub(1);
    let mut excess = (widths.iter().sum::<usize>() + gaps).saturating_sub(columns);
    while excess > 0 {
        let can_shrink =
            |(column, width): &(usize, &mut usize)| **width > MIN_CELL && !ids.contains(column);
        let widest =
            widths.iter_mut().enumerate().filter(can_shrink).max_by_key(|(_, width)| **width);
        let Some((_, widest)) = widest else { return };
        *widest -= 1;
        excess -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(cells: &[&[&str]]) -> Vec<Vec<String>> {
        cells.iter().map(|row| row.iter().map(|cell| (*cell).to_owned()).collect()).collect()
    }

    #[track_caller]
    fn check(cells: &[&[&str]], ids: &[usize], terminal: Option<usize>, expected: &[&str]) {
        let shown = table(&rows(cells), ids, terminal);
        assert_eq!(shown.iter().map(Text::uncoloured).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn columns_stand_below_each_other() {
        let cells: [&[&str]; 3] = [&["id", "name"], &["longer", "x"], &["é", ""]];
        check(&cells, &[], None, &["id      name", "longer  x", "é"]);
        check(&[&["猫", "x"], &["ab", "y"]], &[], None, &["猫  x", "ab  y"]);
        check(&[], &[], Some(10), &[]);
        check(&[&[]], &[], Some(10), &[""]);
    }

    #[test]
    fn rows_fit_the_terminal_and_ids_stay_whole() {
        let id = "0af7651916cd43dd8448eb211c80319c";
        let cells: [&[&str]; 1] = [&["flow", "a name of some forty characters in all .", id]];
        check(&cells, &[2], Some(60), &[&format!("flow  a name of some fort…  {id}")]);
        check(&cells, &[2], Some(10), &[&format!("flow  a name of s…  {id}")]);
    }

    #[test]
    fn a_cell_of_any_length_or_content_takes_its_place() {
        let long = "x".repeat(66_000);
        let shown = table(&rows(&[&["NAME", "ID"], &[&long, "1"], &["a\nb", "2"]]), &[1], None);
        let shown: Vec<_> = shown.iter().map(Text::uncoloured).collect();
        assert_eq!(width(&shown[1]), MAX_CELL + 3);
        assert!(shown[1].ends_with("…  1"), "{}", shown[1]);
        assert!(shown[2].starts_with("a\\nb ") && shown[2].ends_with("  2"), "{}", shown[2]);
    }
}
