//! The report: Markdown on standard output while it grows, and whole in a file.
//!
//! Invariant: whatever is not as it should be (a failed load, counts that differ) is said
//! under its table and makes the command fail.
//!
//! Cost: nothing.

use std::fs;

use super::Comparison;
use super::machine;
use super::systems::System;
use super::work_folder::cannot;
use crate::error::XtaskError;

/// A Markdown table; the first column is text, the others are numbers.
pub struct Table {
    /// The names of the columns.
    header: Vec<&'static str>,
    /// A text for each column.
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Without rows yet.
    pub fn new(header: &[&'static str]) -> Self {
        Self {
            header: header.to_vec(),
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
pub struct Report<'a> {
    /// What was asked for.
    comparison: &'a Comparison<'a>,
    /// The lines of the head that tell versions.
    systems: String,
    /// Everything after the head.
    body: String,
    /// Whether all went well.
    flawless: bool,
}

impl<'a> Report<'a> {
    /// Without systems and sections.
    pub fn new(comparison: &'a Comparison<'a>) -> Self {
        Self {
            comparison,
            systems: String::new(),
            body: String::new(),
            flawless: true,
        }
    }

    /// Adds a system; says whether it can be used.
    pub fn add_system(&mut self, system: &dyn System, version: Result<String, XtaskError>) -> bool {
        let label = system.label();
        let line = match &version {
            Ok(version) => format!("- {label}: {version}; durable by: {}\n", system.durable()),
            Err(error) => format!("- {label}: **not set up**: {error}\n"),
        };
        self.systems.push_str(&line);
        self.flawless &= version.is_ok();
        version.is_ok()
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
        if let Some(path) = &self.comparison.options.report {
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
            "# Loading, compared\n\nMachine: {}.\n\n{}\n{METHOD}",
            machine::describe(),
            self.systems
        )
    }
}

/// What the columns mean.
const METHOD: &str = "\
Every load is into a new, empty store, by turns: the first run of every system, then the second of every system. The input was read once just before, so it is in the page
cache; nothing is dropped from the cache. `wall s` is the median of the runs, from the start of the program (Virtuoso: of the first statement to a server that runs)
until the data is durable by the system's own means; `times` is that, divided by Basalt's. `CPU s` is user and system, `peak MB` the largest resident memory with mapped files and `anonymous MB` without
(sampled), `sync s` what the file system needed to write the rest after the load had ended, `disk MB` the allocated blocks of the store. These are of the median run. `quads`
is what a new process counts in the store afterwards; Virtuoso's server was killed after its checkpoint.
";

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
