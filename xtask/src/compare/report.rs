//! The report: Markdown on standard output while it grows, and whole in a file.
//!
//! Invariant: whatever is not as it should be (a failed load, answers that differ) is said
//! under its table and makes the command fail.
//!
//! Cost: nothing.

use std::fs;
use std::path::PathBuf;

use super::machine;
use super::work_folder::cannot;
use crate::error::XtaskError;

/// A Markdown table; the first column is text, the others are numbers.
pub struct Table {
    /// The names of the columns.
    header: Vec<String>,
    /// A text for each column.
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Without rows yet.
    pub fn new(header: &[impl ToString]) -> Self {
        Self {
            header: header.iter().map(ToString::to_string).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row; cells that are missing at its end stay empty.
    pub fn add(&mut self, mut row: Vec<String>) {
        assert!(row.len() <= self.header.len(), "a row fits its header");
        row.resize(self.header.len(), String::new());
        self.rows.push(row);
    }

    /// The table as Markdown.
    pub fn markdown(&self) -> String {
        let mut text = format!("| {} |\n| ---", self.header.join(" | "));
        text.push_str(&" | ---:".repeat(self.header.len() - 1));
        text.push_str(" |\n");
        for row in &self.rows {
            let cells: Vec<String> = row.iter().map(|cell| cell.replace('|', "\\|")).collect();
            text.push_str(&format!("| {} |\n", cells.join(" | ")));
        }
        text
    }
}

/// A part of the report.
pub struct Section {
    /// Its heading.
    pub title: String,
    /// Its Markdown.
    pub text: String,
    /// What is not as it should be.
    pub flaws: Vec<String>,
}

/// The report so far.
pub struct Report {
    /// What is compared: the heading.
    title: &'static str,
    /// How it was measured.
    method: String,
    /// Where it is written, if not to standard output alone.
    path: Option<PathBuf>,
    /// The lines of the head that tell versions.
    systems: String,
    /// Everything after the head.
    body: String,
    /// Whether all went well.
    flawless: bool,
}

impl Report {
    /// Without systems and sections.
    pub fn new(title: &'static str, method: String, path: Option<PathBuf>) -> Self {
        Self {
            title,
            method,
            path,
            systems: String::new(),
            body: String::new(),
            flawless: true,
        }
    }

    /// Adds a system that can be used, with its version and whatever else is to be known.
    pub fn add_system(&mut self, label: &str, facts: &str) {
        self.systems.push_str(&format!("- {label}: {facts}\n"));
    }

    /// Adds a system that cannot be used.
    pub fn add_missing(&mut self, label: &str, error: &XtaskError) {
        self.add_system(label, &format!("**not set up**: {error}"));
        self.flawless = false;
    }

    /// Adds a section, prints it and writes the file anew.
    pub fn add_section(&mut self, section: Section) -> Result<(), XtaskError> {
        let mut text = format!("## {}\n\n{}\n", section.title, section.text.trim_end());
        if !section.flaws.is_empty() {
            self.flawless = false;
            text.push_str("\nNot as it should be:\n\n");
            for flaw in &section.flaws {
                text.push_str(&format!("- {flaw}\n"));
            }
        }
        if self.body.is_empty() {
            println!("{}", self.head());
        }
        println!("{text}");
        self.body.push_str(&text);
        self.body.push('\n');
        if let Some(path) = &self.path {
            let text = format!("{}\n{}\n", self.head(), self.body.trim_end());
            fs::write(path, text).map_err(|source| cannot("write", path, source))?;
        }
        Ok(())
    }

    /// Whether everything could be measured and all counts agreed.
    pub fn is_flawless(&self) -> bool {
        self.flawless
    }

    /// Machine, versions and method.
    fn head(&self) -> String {
        format!(
            "# {}\n\nMachine: {}.\n\n{}\n{}",
            self.title,
            machine::describe(),
            self.systems,
            self.method
        )
    }
}

/// The median of figures: of an even number the lower of the two in the middle, so that it is
/// one that was measured.
pub fn median_index(figures: &[f64]) -> usize {
    let mut order: Vec<usize> = (0..figures.len()).collect();
    order.sort_by(|&a, &b| figures[a].total_cmp(&figures[b]));
    order[(figures.len() - 1) / 2]
}

/// A number with commas between thousands.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Seconds: two decimals below ten, one below a hundred.
pub fn seconds(seconds: f64) -> String {
    if seconds < 10.0 {
        format!("{seconds:.2}")
    } else if seconds < 100.0 {
        format!("{seconds:.1}")
    } else {
        format!("{seconds:.0}")
    }
}

/// Bytes in millions.
pub fn megabytes(bytes: u64) -> String {
    let megabytes = bytes as f64 / 1e6;
    if megabytes < 10.0 {
        format!("{megabytes:.1}")
    } else {
        thousands(megabytes.round() as u64)
    }
}

/// Bytes in thousands of millions.
pub fn gigabytes(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / 1e9)
}

/// Something by something, if that is not nothing.
pub fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_markdown() {
        let mut table = Table::new(&["system", "wall s", "quads"]);
        table.add(vec!["A".to_owned(), "1.50".to_owned(), "1,000".to_owned()]);
        table.add(vec!["B|C".to_owned(), "does not read it".to_owned()]);
        assert_eq!(
            table.markdown(),
            "\
| system | wall s | quads |
| --- | ---: | ---: |
| A | 1.50 | 1,000 |
| B\\|C | does not read it |  |
"
        );
    }

    #[test]
    fn the_median_is_one_of_the_runs() {
        assert_eq!(median_index(&[3.0]), 0);
        assert_eq!(median_index(&[3.0, 1.0]), 1);
        assert_eq!(median_index(&[5.0, 1.0, 3.0]), 2);
        assert_eq!(median_index(&[4.0, 3.0, 2.0, 1.0]), 2);
    }

    #[test]
    fn figures_are_short() {
        assert_eq!(
            [0, 999, 1_000, 12_345_678].map(thousands),
            ["0", "999", "1,000", "12,345,678"]
        );
        assert_eq!([0.123, 12.34, 123.4].map(seconds), ["0.12", "12.3", "123"]);
        assert_eq!([4_940_000, 2_628_320_991].map(megabytes), ["4.9", "2,628"]);
        assert_eq!(gigabytes(25_165_824_000), "25.2");
        assert_eq!(ratio(1.0, 0.0), 0.0);
    }
}
