//! What the tests of updates share: options, and the data of a database beside what it should be.

#![allow(dead_code, reason = "each test program uses its own part")]

use crate::support::{Configuration, query_options};
use basalt_engine::dump::{DumpGraph, dump};
use basalt_engine::{Database, GraphFormat, UpdateOptions};
use basalt_testkit::Dataset;
use basalt_testkit::bag::{self, Numbers};

/// Update options of a configuration.
pub fn update_options(configuration: &Configuration) -> UpdateOptions {
    UpdateOptions {
        query: query_options(configuration),
        ..UpdateOptions::default()
    }
}

/// Everything that a database holds.
pub fn data_of(database: &Database) -> Dataset {
    let mut bytes = Vec::new();
    dump(
        &database.snapshot(),
        &mut bytes,
        GraphFormat::NQuads,
        DumpGraph::All,
    )
    .expect("the data can be written");
    let text = String::from_utf8(bytes).expect("N-Quads are UTF-8");
    let data = Dataset::from_nquads(&text).expect("N-Quads can be read");
    assert_eq!(
        data.quads().len() as u64,
        database.snapshot().quad_count(),
        "the number of quads is known"
    );
    data
}

/// Whether a database holds just this, up to the labels of blank nodes.
pub fn compare_data(expected: &Dataset, database: &Database) -> Result<(), String> {
    let actual = data_of(database).to_solutions();
    bag::compare(&expected.to_solutions(), &actual, Numbers::ByValue)
        .map_err(|difference| difference.to_string())
}
