//! What the tests of whole queries share: the matrix of configurations, and a database of a dataset.

#![allow(dead_code, reason = "each test program uses its own part")]

mod changes;
pub mod triples;

use self::changes::Changed;
use basalt_engine::{
    Addition, Answer, Database, ExplainedNode, ForceJoin, GraphFormat, Input, Layout, LoadOptions,
    MergeWatcher, NoProgress, OrderDraw, QueryOptions, SharedKeys, UpdateOptions, Waves,
    WriteOptions,
};
use basalt_testkit::bag::{self, Numbers};
use basalt_testkit::{Answer as OracleAnswer, Dataset};
use std::io::Cursor;
use std::sync::Arc;
use tempfile::TempDir;

/// One way to store data and to run queries. Answers must not depend on it.
#[derive(Clone, Copy, Debug)]
pub struct Configuration {
    /// Where quads are put.
    pub layout: Layout,
    /// Rows in a batch.
    pub batch_rows: usize,
    /// Worker threads.
    pub threads: usize,
    /// Join algorithm to prefer.
    pub force_join: Option<ForceJoin>,
    /// Another join order than the cheapest.
    pub order_draw: Option<OrderDraw>,
    /// Whether key filters are used wherever that changes no answer.
    pub reduce_always: bool,
    /// Whether plans of a template are taken wherever they are right.
    pub known_plans_always: bool,
    /// Whether the store is on disk and opened anew.
    pub is_reopened: bool,
    /// A planner rule that is off.
    pub rule_off: Option<&'static str>,
    /// The number of loads, each of which adds a layer to the store.
    pub loads: usize,
    /// Whether a part of the data comes as changes of what was loaded, and quads that were loaded go.
    pub is_changed: bool,
}

impl Default for Configuration {
    fn default() -> Self {
        Self {
            layout: Layout::Discover,
            batch_rows: 2048,
            threads: 2,
            force_join: None,
            order_draw: None,
            reduce_always: false,
            known_plans_always: false,
            is_reopened: false,
            rule_off: None,
            loads: 1,
            is_changed: false,
        }
    }
}

/// A number that the environment sets, or the one given.
pub fn number_from_env(name: &str, default: u64) -> u64 {
    let value = std::env::var(name).ok();
    value
        .and_then(|value| value.parse().ok())
        .unwrap_or(default)
}

/// Every layout.
pub const LAYOUTS: [Layout; 4] = [
    Layout::Discover,
    Layout::AllIrregular,
    Layout::OneTable,
    Layout::HalfDirty,
];

/// The configurations that every test of the matrix runs under: each value of each dimension, with
/// the values of the others rotated so that pairs of them meet.
pub fn matrix() -> Vec<Configuration> {
    let joins = [
        None,
        Some(ForceJoin::Hash),
        Some(ForceJoin::Index),
        Some(ForceJoin::Merge),
    ];
    let batches = [2048, 1, 7];
    let mut all = Vec::new();
    for (layout_idx, &layout) in LAYOUTS.iter().enumerate() {
        for (join_idx, &force_join) in joins.iter().enumerate() {
            let number = layout_idx * joins.len() + join_idx;
            all.push(Configuration {
                layout,
                force_join,
                order_draw: None,
                reduce_always: force_join == Some(ForceJoin::Hash),
                known_plans_always: false,
                batch_rows: batches[number % batches.len()],
                threads: 1 + number % 2,
                is_reopened: number % 5 == 4,
                rule_off: None,
                // Every layout is met.
                loads: if number % 3 == 1 { 3 } else { 1 },
                is_changed: number % 3 == 2 || number % 6 == 1,
            });
        }
    }
    all.push(Configuration {
        is_reopened: true,
        is_changed: true,
        ..Configuration::default()
    });
    // Joins in any order, once where much is read the general way.
    all.extend(
        [Layout::Discover, Layout::HalfDirty].map(|layout| Configuration {
            layout,
            order_draw: Some(OrderDraw {
                seed: 1,
                spread: None,
            }),
            reduce_always: true,
            is_changed: layout == Layout::HalfDirty,
            ..Configuration::default()
        }),
    );
    all.extend(basalt_engine::RULES.iter().map(|&rule| Configuration {
        rule_off: Some(rule),
        ..Configuration::default()
    }));
    all
}

/// A database and the folder that it lives in, if any.
pub struct Loaded {
    pub database: Database,
    folder: Option<TempDir>,
    /// Whether the folder has what the database has, changes included.
    is_whole: bool,
    /// How it is written to when it is opened again.
    options: WriteOptions,
}

impl Loaded {
    /// A database that is not opened again.
    pub fn of(database: Database) -> Self {
        Self {
            database,
            folder: None,
            is_whole: false,
            options: WriteOptions::default(),
        }
    }

    /// Closes the store and opens it again, if it is on disk; whether it is.
    pub fn reopen(&mut self) -> bool {
        let folder = self.folder.as_ref().filter(|_| self.is_whole);
        if let Some(folder) = folder {
            // The store has one writer at a time, so it is let go first.
            self.database = Database::in_memory();
            let path = folder.path().join("store");
            let database = Database::open_with(&path, self.options.clone());
            self.database = database.expect("the store opens again");
        }
        folder.is_some()
    }

    /// Has its merges watched from now on.
    pub fn watch_merges(&mut self, watcher: Arc<dyn MergeWatcher>) {
        self.options.merge_watcher = Some(watcher);
        if !self.reopen() {
            let snapshot = self.database.snapshot();
            self.database = Database::in_memory_with(snapshot, self.options.clone());
        }
    }
}

/// Loads a dataset the way a configuration wants it.
pub fn load(dataset: &Dataset, configuration: &Configuration) -> Loaded {
    load_nquads(dataset.to_nquads(), configuration)
}

/// Loads N-Quads text the way a configuration wants it.
pub fn load_nquads(text: String, configuration: &Configuration) -> Loaded {
    if !configuration.is_changed {
        return load_pieces(text, configuration);
    }
    let changed = Changed::new(&text);
    let loaded = load_pieces(changed.loaded.clone(), configuration);
    if let Some(folder) = &loaded.folder {
        // By way of the log.
        changed.commit(&loaded.database);
        let database = Database::open(&folder.path().join("store"));
        return Loaded {
            database: database.expect("the store opens again"),
            ..loaded
        };
    }
    let snapshot = changed.apply(loaded.database.snapshot());
    Loaded {
        database: Database::of_snapshot(snapshot),
        is_whole: false,
        ..loaded
    }
}

fn load_pieces(text: String, configuration: &Configuration) -> Loaded {
    let pieces = pieces(text, configuration.loads);
    let load_into = |database: &Database| {
        for piece in &pieces {
            let reader = Cursor::new(piece.clone().into_bytes());
            let options = LoadOptions {
                inputs: vec![Input::reader("data.nq", reader, GraphFormat::NQuads)],
                layout: configuration.layout,
                threads: configuration.threads,
                addition: Addition::Layer,
                ..LoadOptions::default()
            };
            database.load(options, &NoProgress).expect("the data loads");
        }
    };
    if !configuration.is_reopened {
        let database = Database::in_memory();
        load_into(&database);
        return Loaded {
            database,
            folder: None,
            is_whole: true,
            options: WriteOptions::default(),
        };
    }
    let folder = TempDir::new().expect("a temporary folder");
    let path = folder.path().join("store");
    let database = Database::open_or_empty(&path).expect("a new store opens");
    load_into(&database);
    drop(database);
    let database = Database::open(&path).expect("the store opens again");
    Loaded {
        database,
        folder: Some(folder),
        is_whole: true,
        options: WriteOptions::default(),
    }
}

/// Cuts N-Quads text for so many loads, the first of which has half of the lines. Lines with blank nodes
/// are all in the last, since a label means the same node in one load only.
fn pieces(text: String, loads: usize) -> Vec<String> {
    if loads < 2 {
        return vec![text];
    }
    let (blank, named): (Vec<&str>, Vec<&str>) = text.lines().partition(|l| l.contains("_:"));
    let (first, rest) = named.split_at(named.len() / 2);
    let mut pieces = vec![first.to_vec()];
    let size = rest.len().div_ceil(loads - 1).max(1);
    pieces.extend(rest.chunks(size).map(<[&str]>::to_vec));
    match pieces.last_mut() {
        Some(last) => last.extend(blank),
        None => pieces.push(blank),
    }
    let join = |lines: Vec<&str>| lines.iter().map(|line| format!("{line}\n")).collect();
    pieces.into_iter().map(join).collect()
}

/// Query options without some planner rules, whose threads join in at once.
pub fn options_without(batch_rows: usize, threads: usize, rules_off: &[&str]) -> QueryOptions {
    let mut options = query_options(&Configuration::default());
    options.exec.batch_rows = batch_rows;
    options.exec.threads = threads;
    options.exec.alone_for = std::time::Duration::ZERO;
    options.disabled_rules = rules_off.iter().map(|&rule| rule.to_owned()).collect();
    options
}

/// Query options of a configuration.
pub fn query_options(configuration: &Configuration) -> QueryOptions {
    let mut options = QueryOptions {
        force_join: configuration.force_join,
        order_draw: configuration.order_draw,
        reduce_always: configuration.reduce_always,
        aggregate_parts_always: configuration.reduce_always,
        known_plans_always: configuration.known_plans_always,
        disabled_rules: configuration
            .rule_off
            .iter()
            .map(|&rule| rule.to_owned())
            .collect(),
        ..QueryOptions::default()
    };
    options.exec.batch_rows = configuration.batch_rows;
    options.exec.threads = configuration.threads;
    // What was changed is read as columns whenever that can be, or now and then, or never.
    options.exec.changed_columns_min = match configuration.batch_rows {
        7 => usize::MAX,
        1 => options.exec.changed_columns_min,
        _ => 1,
    };
    // Bits of changed rows are made at once, or if that pays.
    if configuration.batch_rows != 7 {
        options.exec.searched_rows_max = 0;
    }
    // Solutions of which nothing is read are counted, or looked for.
    options.exec.counted_solutions = configuration.batch_rows != 1;
    // What can be dealt out to threads is dealt out.
    if configuration.batch_rows != 1 {
        options.exec.dealt_rows_min = 0;
        options.exec.alone_for = std::time::Duration::ZERO;
    }
    // Rows of two objects are found together, or one by one.
    options.exec.common_rows = configuration.batch_rows != 1;
    // Rows with the same key share their solutions whenever that can be, or if that pays, or never.
    options.exec.shared_keys = match configuration.batch_rows {
        1 => SharedKeys::Never,
        7 => SharedKeys::WhereItPays,
        _ => SharedKeys::Always,
    };
    // Where one solution is enough partners come one by one at first, or as it pays, or all at once.
    options.exec.waves = match configuration.batch_rows {
        1 => Waves::NONE,
        7 => Waves::default(),
        _ => Waves {
            first: 1,
            partners_min: 1,
        },
    };
    // Partners are looked for in the ranges that conditions give, or compared one by one.
    options.exec.ordered_partners_min = match configuration.batch_rows {
        1 => usize::MAX,
        7 => options.exec.ordered_partners_min,
        _ => 0,
    };
    options
}

/// Whether two answers are the same, whatever the order of rows; `what` says of what they are.
pub fn same_answers(expected: &OracleAnswer, actual: &OracleAnswer, what: &str) {
    if let Err(mismatch) = bag::compare(expected, actual, Numbers::ByValue) {
        assert_eq!(mismatch.to_string(), "", "{what}");
    }
}

/// Runs a query and collects its answer in the form of the oracles.
pub fn ask(
    database: &Database,
    text: &str,
    options: &QueryOptions,
) -> Result<OracleAnswer, String> {
    let answer = database
        .query(text, options)
        .map_err(|error| error.to_string())?;
    collect(answer).map_err(|error| error.to_string())
}

/// Asserts that a query has the answer that it has with a rule off, by batches of so many rows on so many threads.
pub fn same_without(rule: &str, database: &Database, text: &str, ways: &[(usize, usize)]) {
    let expected = ask(database, text, &options_without(2048, 1, &[rule]));
    let expected = expected.expect("it runs");
    for &(batch_rows, threads) in ways {
        let answer = ask(database, text, &options_without(batch_rows, threads, &[]));
        same_answers(&expected, &answer.expect("it runs"), text);
    }
}

/// The plan of a query with some rules off.
pub fn plan_without(rules_off: &[&str], database: &Database, text: &str) -> String {
    let options = options_without(2048, 1, rules_off);
    let prepared = database.prepare(text, &options).expect("it plans");
    prepared.explain().to_text()
}

fn collect(answer: Answer) -> Result<OracleAnswer, basalt_engine::Error> {
    Ok(match answer {
        Answer::Boolean(value) => OracleAnswer::Boolean(value),
        Answer::Solutions(solutions) => {
            let variables = solutions.variables().to_vec();
            OracleAnswer::Solutions {
                variables,
                rows: solutions.into_rows()?,
            }
        }
        Answer::Graph(mut graph) => {
            let mut triples = Vec::new();
            while let Some(more) = graph.next_triples()? {
                triples.extend(more);
            }
            OracleAnswer::Graph(triples)
        }
    })
}

/// A store with this N-Triples text, and one with the same and what an update makes of it, which is not merged.
pub fn plain_and_changed(text: &str, update: &str) -> [Database; 2] {
    [false, true].map(|is_changed| {
        let database = Database::in_memory();
        let report = database.load_text(text, GraphFormat::NTriples);
        report.expect("the data loads");
        if is_changed {
            let updated = database.update(update, &UpdateOptions::default());
            updated.expect("the update is well formed");
        }
        database
    })
}

/// The rows that the operators of a plan have read.
pub fn read_rows(node: &ExplainedNode) -> u64 {
    let own = node.actual.map_or(0, |actual| actual.read_rows);
    own + node.below().map(read_rows).sum::<u64>()
}

/// The rows of which the operators of a plan have compared a packed value.
pub fn compared_rows(node: &ExplainedNode) -> u64 {
    let own = node.actual.map_or(0, |actual| actual.compared_rows);
    own + node.below().map(compared_rows).sum::<u64>()
}
