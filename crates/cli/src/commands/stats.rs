//! `basalt stats`: statistics of a store.

use crate::error::CliError;
use crate::output::write_stdout;
use crate::text_table::{Side, TextTable};
use crate::values::show_count;
use basalt_engine::{ColumnStorage, Database, FileStorage, StorageReport, TableStorage};
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Show statistics of a store
#[derive(Debug, Subcommand)]
#[command(after_help = "Example:\n  basalt stats show --location store")]
pub enum Stats {
    Show(Show),
}

/// Print where the bytes of a store are: every column, predicate and section, with its encodings
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  basalt stats show --location store\n  \
    basalt stats show --location store --format json | jq .files")]
pub struct Show {
    /// Folder of the store
    #[arg(
        long,
        env = "BASALT_LOCATION",
        value_name = "DIR",
        hide_env_values = true
    )]
    location: PathBuf,
    /// How to print
    #[arg(long, env = "BASALT_FORMAT", value_enum, default_value_t = Format::Text, hide_env_values = true)]
    format: Format,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    Text,
    Json,
}

impl Stats {
    /// Runs it.
    pub fn run(self) -> Result<(), CliError> {
        match self {
            Self::Show(show) => show.run(),
        }
    }
}

impl Show {
    fn run(self) -> Result<(), CliError> {
        let database = Database::open(&self.location)?;
        let report = StorageReport::new(&database.snapshot())?;
        write_stdout(&match self.format {
            Format::Text => to_text(&report),
            Format::Json => format!("{:#}\n", report.to_json()),
        })
    }
}

fn to_text(report: &StorageReport) -> String {
    let store = &report.store;
    let mut out = format!(
        "{} bytes in {} files for {} quads: {:.1} bytes per quad\n\n",
        show_count(report.bytes()),
        store.file_count(),
        show_count(report.quads),
        report.bytes_per_quad()
    );
    let mut kinds = TextTable::new(&[
        ("files", Side::Left),
        ("bytes", Side::Right),
        ("share", Side::Right),
    ]);
    for (kind, bytes) in [
        ("tables", store.table_bytes()),
        ("irregular quads", store.quad_file.bytes),
        ("dictionary", store.dictionary_bytes()),
        ("statistics", store.statistics.bytes),
        ("history", store.history_bytes()),
        ("log", store.log_bytes()),
        ("total", store.bytes()),
    ] {
        let share = bytes as f64 * 100.0 / store.bytes().max(1) as f64;
        kinds.row(vec![
            kind.to_owned(),
            show_count(bytes),
            format!("{share:.1} %"),
        ]);
    }
    out.push_str(&kinds.to_text(""));
    for table in &store.tables {
        out.push_str(&table_text(report, table));
    }
    out.push_str(&quads_text(report));
    let files = store.dictionary.iter().chain([&store.statistics]);
    let files = files.chain(&store.history);
    for file in files.chain(&store.log) {
        out.push_str(&format!(
            "\n{}: {} bytes\n",
            file.name,
            show_count(file.bytes)
        ));
        out.push_str(&sections_text(file));
    }
    out
}

fn table_text(report: &StorageReport, table: &TableStorage) -> String {
    let mut text = TextTable::new(&[
        ("predicate", Side::Left),
        ("type", Side::Left),
        ("rows", Side::Right),
        ("values", Side::Right),
        ("distinct", Side::Right),
        ("bytes", Side::Right),
        ("bits/value", Side::Right),
        ("inverse", Side::Left),
        ("its bytes", Side::Right),
        ("segments", Side::Left),
    ]);
    for column in &table.columns {
        text.row(column_row(report, column));
    }
    let mut other = vec![String::new(); 10];
    other[0] = "(directories, statistics, frame)".to_owned();
    other[5] = show_count(table.other_bytes());
    text.row(other);
    format!(
        "\ntable {}: {} rows, {} quads in cells, {} bytes ({})\n{}",
        table.name,
        show_count(table.rows),
        show_count(table.quads_in_cells()),
        show_count(table.file.bytes),
        table.file.name,
        text.to_text("  ")
    )
}

fn column_row(report: &StorageReport, column: &ColumnStorage) -> Vec<String> {
    let predicate = column.predicate.map_or("(home graph)", |p| report.name(p));
    let distinct = match (column.distinct, column.distinct_is_exact) {
        (Some(distinct), true) => show_count(distinct),
        (Some(distinct), false) => format!("~{}", show_count(distinct)),
        (None, _) => "-".to_owned(),
    };
    let (inverse, inverse_bytes) = match column.inverse {
        Some((kind, bytes)) => (kind.to_owned(), show_count(bytes)),
        None => ("-".to_owned(), String::new()),
    };
    let segments: Vec<String> = column
        .segments
        .iter()
        .map(|(encoding, count)| {
            let (form, codec) = (encoding.form.name(), encoding.codec.name());
            format!("{count} {form} {codec}")
        })
        .collect();
    vec![
        predicate.to_owned(),
        column.type_class.describe(),
        show_count(column.rows_with_value),
        show_count(column.values),
        distinct,
        show_count(column.cell_bytes),
        format!("{:.1}", column.bits_per_value()),
        inverse,
        inverse_bytes,
        segments.join(", "),
    ]
}

fn quads_text(report: &StorageReport) -> String {
    let store = &report.store;
    let mut text = TextTable::new(&[
        ("predicate", Side::Left),
        ("quads", Side::Right),
        ("PSOG bytes", Side::Right),
        ("POSG bytes", Side::Right),
    ]);
    let (mut quads, mut in_blocks) = (0, 0);
    for sizes in &store.quads {
        quads += sizes.quads;
        in_blocks += sizes.psog_bytes + sizes.posg_bytes;
        text.row(vec![
            report.name(sizes.predicate).to_owned(),
            show_count(sizes.quads),
            show_count(sizes.psog_bytes),
            show_count(sizes.posg_bytes),
        ]);
    }
    let file = &store.quad_file;
    let predicates = if quads > 0 {
        text.to_text("  ")
    } else {
        String::new()
    };
    format!(
        "\nirregular quads: {} quads, {} bytes, {} of them directories and frame ({})\n{}",
        show_count(quads),
        show_count(file.bytes),
        show_count(file.bytes - in_blocks),
        file.name,
        predicates
    )
}

fn sections_text(file: &FileStorage) -> String {
    let mut text = TextTable::new(&[("section", Side::Left), ("bytes", Side::Right)]);
    for (name, bytes) in &file.sections {
        text.row(vec![name.clone(), show_count(*bytes)]);
    }
    text.row(vec!["(frame)".to_owned(), show_count(file.frame_bytes())]);
    text.to_text("  ")
}
