//! `basalt stats`: statistics of a store.

use crate::error::CliError;
use crate::output::{Output, message, write_stdout};
use crate::text_table::{Side, TextTable};
use crate::values::show_count;
use basalt_engine::{
    ColumnStorage, Database, FileStorage, PlannerStatistics, QueryOptions, StorageReport,
    TableStorage, TextInput,
};
use clap::{Args, Subcommand, ValueEnum};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// Show statistics of a store, or take those of the planner to where the data is not
#[derive(Debug, Subcommand)]
#[command(after_help = "Examples:\n  basalt stats show --location store\n  \
    basalt stats export statistics.json --location store --query-file q.rq\n  \
    basalt explain --stats statistics.json --query-file q.rq")]
pub enum Stats {
    Show(Show),
    Export(Export),
    Import(Import),
}

/// Write what the planner knows of a store, so that plans can be looked into without the data
///
/// The file has the names and counts of tables, columns and predicates. For each query that is given it also has what
/// planning it looks up of the data (ids and counts, not the values of texts), and EXPLAIN by the file gives exactly the plan of the
/// store; for other queries it gives one by counts alone.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  \
    basalt stats export statistics.json --location store --query-file q1.rq --query-file q2.rq")]
pub struct Export {
    /// File to write; `-` is standard output, and `.gz`, `.zst` or `.bz2` packs
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Folder of the store
    #[arg(
        long,
        env = "BASALT_LOCATION",
        value_name = "DIR",
        hide_env_values = true
    )]
    location: PathBuf,
    /// Query whose plan the file is to give; repeatable
    #[arg(
        long,
        env = "BASALT_QUERY",
        value_name = "QUERY",
        hide_env_values = true
    )]
    query: Vec<String>,
    /// File with such a query; repeatable
    #[arg(
        long,
        env = "BASALT_QUERY_FILE",
        value_name = "FILE",
        hide_env_values = true
    )]
    query_file: Vec<PathBuf>,
}

/// Let EXPLAIN on an empty store plan by the statistics of another
///
/// They are used as long as the store is empty, and for EXPLAIN alone. The store is made if there is none.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  basalt stats import statistics.json --location empty\n  \
    basalt explain --location empty --query-file q.rq\n  \
    basalt stats import --none --location empty"
)]
pub struct Import {
    /// File that `stats export` wrote; `-` is standard input
    #[arg(value_name = "FILE", required_unless_present = "none")]
    file: Option<PathBuf>,
    /// Folder of the store
    #[arg(
        long,
        env = "BASALT_LOCATION",
        value_name = "DIR",
        hide_env_values = true
    )]
    location: PathBuf,
    /// Remove what was imported
    #[arg(
        long,
        env = "BASALT_NONE",
        conflicts_with = "file",
        hide_env_values = true
    )]
    none: bool,
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
            Self::Export(export) => export.run(),
            Self::Import(import) => import.run(),
        }
    }
}

/// Statistics of a file.
pub fn read_statistics(path: &Path) -> Result<PlannerStatistics, CliError> {
    let mut text = String::new();
    let input = TextInput::open(path).map_err(|error| CliError::Other(error.to_string()))?;
    let read = input.into_reader().read_to_string(&mut text);
    read.map_err(CliError::file("read", path))?;
    PlannerStatistics::parse(&text)
        .map_err(|error| CliError::Other(format!("'{}': {error}", path.display())))
}

impl Export {
    fn run(self) -> Result<(), CliError> {
        let mut queries = self.query;
        for path in &self.query_file {
            let text = std::fs::read_to_string(path).map_err(CliError::file("read", path))?;
            queries.push(text);
        }
        let database = Database::open(&self.location)?;
        let options = QueryOptions::default();
        let statistics = PlannerStatistics::of(&database.snapshot(), &queries, &options)?;
        let mut output = Output::open(Some(&self.file))?;
        let written = output.write_all(statistics.to_json()?.as_bytes());
        written.map_err(CliError::file("write", &self.file))?;
        output.finish()
    }
}

impl Import {
    fn run(self) -> Result<(), CliError> {
        if let Some(path) = &self.file {
            let statistics = read_statistics(path)?;
            statistics.keep_in(&self.location)?;
            let (quads, queries) = (show_count(statistics.quads()), statistics.queries().count());
            message(&format!(
                "EXPLAIN plans by the statistics of a store with {quads} quads, and of {queries} queries exactly"
            ));
        } else if PlannerStatistics::remove_from(&self.location)? {
            message("EXPLAIN plans by the data again");
        } else {
            message("there are no imported statistics");
        }
        Ok(())
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
