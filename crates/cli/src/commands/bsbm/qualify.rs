//! `basalt bsbm qualify`: the answers of an endpoint, recorded and compared with trusted ones.

use super::target::Target;
use crate::error::CliError;
use crate::output::{Output, message, write_stdout};
use basalt_bsbm::{ParameterPool, Recording, RunOptions, RunProgress, qualify, record_answers};
use clap::Args;
use std::path::{Path, PathBuf};

/// Record the answers of an endpoint, and compare them with those of another one
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  basalt bsbm qualify --endpoint http://127.0.0.1:3030/ds --data-dir td --record trusted.jsonl\n  \
    basalt bsbm qualify --data-dir td --reference trusted.jsonl"
)]
pub struct Qualify {
    #[command(flatten)]
    target: Target,
    /// Folder that the generator wrote
    #[arg(
        long,
        env = "BASALT_DATA_DIR",
        value_name = "DIR",
        required_unless_present = "recorded",
        hide_env_values = true
    )]
    data_dir: Option<PathBuf>,
    /// Mixes to ask
    #[arg(
        long,
        env = "BASALT_MIXES",
        value_name = "N",
        default_value_t = 15,
        hide_env_values = true
    )]
    mixes: u64,
    /// File for the answers of the endpoint
    #[arg(
        long,
        env = "BASALT_RECORD",
        value_name = "FILE",
        conflicts_with = "recorded",
        hide_env_values = true
    )]
    record: Option<PathBuf>,
    /// File for the result: .json or .md; repeatable [default: Markdown on standard output]
    #[arg(
        long,
        env = "BASALT_QUALIFICATION",
        value_name = "FILE",
        value_delimiter = ',',
        hide_env_values = true
    )]
    report: Vec<PathBuf>,
    /// Recorded answers to compare, in place of asking the endpoint
    #[arg(
        long,
        env = "BASALT_RECORDED",
        value_name = "FILE",
        requires = "reference",
        hide_env_values = true
    )]
    recorded: Option<PathBuf>,
    /// Recorded answers to compare with
    #[arg(
        long,
        env = "BASALT_REFERENCE",
        value_name = "FILE",
        required_unless_present_any = ["record", "reference_endpoint"],
        hide_env_values = true
    )]
    reference: Option<PathBuf>,
    /// Endpoint to compare with; updates are sent to the same URL
    #[arg(
        long,
        env = "BASALT_REFERENCE_ENDPOINT",
        value_name = "URL",
        conflicts_with_all = ["reference", "recorded"],
        hide_env_values = true
    )]
    reference_endpoint: Option<String>,
}

impl Qualify {
    /// Records and compares; fails if answers are wrong or missing.
    pub fn run(self) -> Result<(), CliError> {
        for path in &self.report {
            report_kind(path)?;
        }
        let tested = match &self.recorded {
            Some(path) => Recording::open(path)?,
            None => self.ask(self.options())?,
        };
        if let Some(path) = &self.record {
            write_recording(&tested, path)?;
        }
        let reference = match (&self.reference, &self.reference_endpoint) {
            (Some(path), _) => Some(Recording::open(path)?),
            (None, Some(url)) => Some(self.ask(RunOptions {
                endpoint: url.clone(),
                update_endpoint: None,
                ..self.options()
            })?),
            (None, None) => None,
        };
        let Some(reference) = reference else {
            return match tested.failures() {
                0 => Ok(()),
                failures => Err(CliError::Other(format!(
                    "{failures} of {} queries have no answer",
                    tested.answers.len()
                ))),
            };
        };
        let qualification = qualify(&reference, &tested)?;
        for path in &self.report {
            let text = match report_kind(path)? {
                ReportKind::Json => qualification.to_json(),
                ReportKind::Markdown => qualification.to_markdown(),
            };
            std::fs::write(path, text).map_err(CliError::file("write", path))?;
        }
        if self.report.is_empty() {
            write_stdout(&qualification.to_markdown())?;
        }
        match qualification.is_passed() {
            true => Ok(()),
            false => Err(CliError::Other(format!(
                "{} of {} answers are wrong",
                qualification.differences.len(),
                tested.answers.len()
            ))),
        }
    }

    fn options(&self) -> RunOptions {
        RunOptions {
            runs: self.mixes,
            ..self.target.options()
        }
    }

    fn ask(&self, options: RunOptions) -> Result<Recording, CliError> {
        let missing = || CliError::Other("--data-dir is missing".to_owned());
        let data_dir = self.data_dir.as_ref().ok_or_else(missing)?;
        let pool = ParameterPool::open(data_dir)?;
        message(&format!("asking {}", options.endpoint));
        let mut show = |progress: &RunProgress| message(&progress.to_string());
        Ok(record_answers(
            self.target.use_case,
            &pool,
            &options,
            &mut show,
        )?)
    }
}

enum ReportKind {
    Json,
    Markdown,
}

fn report_kind(path: &Path) -> Result<ReportKind, CliError> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("json") => Ok(ReportKind::Json),
        Some("md") => Ok(ReportKind::Markdown),
        _ => Err(CliError::Other(format!(
            "cannot tell the kind of report '{}', use .json or .md",
            path.display()
        ))),
    }
}

fn write_recording(recording: &Recording, path: &Path) -> Result<(), CliError> {
    let mut output = Output::open(Some(path))?;
    let written = recording.write(&mut output);
    written.map_err(CliError::file("write", path))?;
    output.finish()
}
