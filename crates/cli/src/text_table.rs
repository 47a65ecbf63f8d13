//! A table of texts for a terminal: columns as wide as their widest cell.

use std::fmt::Write;

/// A table of texts.
pub struct TextTable {
    /// Title of each column and whether its cells stand to the right.
    columns: Vec<(&'static str, Side)>,
    rows: Vec<Vec<String>>,
}

/// Where the cells of a column stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Texts.
    Left,
    /// Numbers.
    Right,
}

impl TextTable {
    /// A table with these columns.
    pub fn new(columns: &[(&'static str, Side)]) -> Self {
        Self {
            columns: columns.to_vec(),
            rows: Vec::new(),
        }
    }

    /// Adds a row, which has a cell for each column.
    pub fn row(&mut self, cells: Vec<String>) {
        debug_assert_eq!(cells.len(), self.columns.len());
        self.rows.push(cells);
    }

    /// The lines, each with this in front.
    pub fn to_text(&self, indent: &str) -> String {
        let titles: Vec<String> = self.columns.iter().map(|(t, _)| (*t).to_owned()).collect();
        let lines = || std::iter::once(&titles).chain(&self.rows);
        let width = |at: usize| lines().map(|row| row[at].chars().count()).max();
        let widths: Vec<usize> = (0..titles.len()).map(|i| width(i).unwrap_or(0)).collect();
        let mut out = String::new();
        for row in lines() {
            let mut line = indent.to_owned();
            for ((cell, (_, side)), width) in row.iter().zip(&self.columns).zip(&widths) {
                // Writing to a text cannot fail.
                let _ = match side {
                    Side::Left => write!(line, "{cell:<width$}  "),
                    Side::Right => write!(line, "{cell:>width$}  "),
                };
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned() {
        let mut table = TextTable::new(&[("name", Side::Left), ("rows", Side::Right)]);
        table.row(vec!["Übung".to_owned(), "7".to_owned()]);
        table.row(vec!["A".to_owned(), "12345".to_owned()]);
        assert_eq!(
            table.to_text("> "),
            "> name    rows\n> Übung      7\n> A      12345\n"
        );
    }
}
