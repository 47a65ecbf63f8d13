//! `basalt bsbm compare`: reports side by side.

use super::run::report_name;
use crate::error::CliError;
use crate::output::write_stdout;
use basalt_bsbm::{Report, compare_reports, html_page};
use clap::Args;
use std::path::PathBuf;

/// Compare JSON reports side by side, as Markdown and as a page
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  basalt bsbm compare basalt.json other.json --html both.html")]
pub struct Compare {
    /// JSON reports; the first one is the measure of the others
    #[arg(required = true, num_args = 2..)]
    reports: Vec<PathBuf>,
    /// File for a page with tables, histograms and throughput over time
    #[arg(long, env = "BASALT_HTML", value_name = "FILE", hide_env_values = true)]
    html: Option<PathBuf>,
}

impl Compare {
    /// Compares; Markdown goes to standard output.
    pub fn run(self) -> Result<(), CliError> {
        let mut reports = Vec::new();
        for path in &self.reports {
            let text = std::fs::read_to_string(path).map_err(CliError::file("read", path))?;
            let report: Report = serde_json::from_str(&text).map_err(|error| {
                CliError::Other(format!("'{}' is not a report: {error}", path.display()))
            })?;
            reports.push((report_name(path), report));
        }
        let named: Vec<(&str, &Report)> = reports
            .iter()
            .map(|(name, report)| (name.as_str(), report))
            .collect();
        if let Some(path) = &self.html {
            std::fs::write(path, html_page(&named)).map_err(CliError::file("write", path))?;
        }
        write_stdout(&compare_reports(&named))
    }
}
