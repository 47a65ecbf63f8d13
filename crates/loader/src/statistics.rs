//! The statistics that only the loader knows: characteristic sets in final ids.

use basalt_rdf::TermId;
use basalt_shapes::{CharacteristicSets, Charset, Schema};
use basalt_store::{CharacteristicSet, StoreStatistics};

/// Characteristic sets for the planner.
pub(crate) fn statistics(
    charsets: &CharacteristicSets,
    schema: &Schema,
    predicates: &[TermId],
) -> StoreStatistics {
    let with_table = charsets.sets.iter().zip(&schema.charset_to_table);
    StoreStatistics {
        characteristic_sets: with_table
            .map(|(set, table)| convert(set, *table, predicates))
            .collect(),
        subject_count: charsets.of_subject.len() as u64,
        ..StoreStatistics::default()
    }
}

fn convert(set: &Charset, table: Option<usize>, predicates: &[TermId]) -> CharacteristicSet {
    let mut values: Vec<(TermId, u64)> = Vec::new();
    for run in set.counts.chunk_by(|a, b| a.predicate == b.predicate) {
        let sum = run.iter().map(|c| c.values).sum();
        values.push((predicates[run[0].predicate as usize], sum));
    }
    values.sort_unstable();
    CharacteristicSet {
        predicates: values.iter().map(|v| v.0).collect(),
        subjects: set.subjects,
        values: values.iter().map(|v| v.1).collect(),
        table,
    }
}
