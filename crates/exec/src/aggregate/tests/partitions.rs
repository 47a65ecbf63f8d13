//! Groups of several threads, merged in partitions, against one aggregator that has seen all rows.

use super::*;
use crate::aggregate::{Grouping, SpillingAggregator};

const SECOND: Slot = Slot(2);

/// Aggregates whose states may be merged in partitions.
fn aggregates() -> Vec<Aggregate> {
    let is_alone = |aggregate: &Aggregate| {
        let function = &aggregate.function;
        aggregate.distinct
            || matches!(
                function,
                AggregateFunction::GroupConcat { .. } | AggregateFunction::Sample
            )
    };
    let mut aggregates = all_functions();
    aggregates.retain(|aggregate| !is_alone(aggregate));
    aggregates
}

/// Rows of two keys and a value.
type Row = (u64, u64, u64);

/// A key that lies near others, far from them, or is no resource.
fn key(kind: u8, number: u64) -> u64 {
    match kind {
        0 => TermId::resource(number % 900).0,
        1 => TermId::resource(number * 70_001).0,
        _ => TermId::numeric(0, number as i64, 0).expect("fits").0,
    }
}

fn value(number: i64) -> u64 {
    match number {
        0 => 0,
        n if n % 5 == 0 => TermId::numeric(1, n, 2).map_or(0, |id| id.0),
        n => TermId::numeric(0, n, 0).expect("fits").0,
    }
}

fn batch_of(rows: &[Row], wider: bool) -> Batch {
    let column = |of: fn(&Row) -> u64| rows.iter().map(of).collect();
    let mut columns = vec![column(|row| row.0), column(|row| row.2)];
    if wider {
        columns.push(column(|row| row.1));
    }
    Batch::from_vectors(columns, rows.len())
}

/// The rows, keys as ids and results as texts, in an order that does not depend on theirs.
fn rows_of(batches: &[Batch], width: usize, cx: &Context) -> Sorted {
    let of_batch = |batch: &Batch| {
        let results: Vec<_> = (width..batch.width()).map(Some).collect();
        let results = show(&batch.select_columns(&results), cx);
        let key = |row| (0..width).map(|column| batch.ids(column)[row]).collect();
        let keys: Vec<Vec<u64>> = (0..batch.rows()).map(key).collect();
        keys.into_iter().zip(results)
    };
    let mut rows: Vec<_> = batches.iter().flat_map(of_batch).collect();
    rows.sort_unstable();
    rows
}

/// How threads are to go on.
#[derive(Clone, Copy, Debug)]
struct Case {
    threads: usize,
    wider: bool,
    /// Rows of a batch.
    step: usize,
    bytes_max: usize,
}

/// Keys and results of groups, in an order that does not depend on theirs.
type Sorted = Vec<(Vec<u64>, Vec<String>)>;

/// All groups by threads, and by one aggregator; or the error of the threads.
fn both(rows: &[Row], case: Case) -> Result<[Sorted; 2], ExecError> {
    let keys = [KEY, SECOND];
    let width = 1 + usize::from(case.wider);
    let grouping = Arc::new(Grouping {
        aggregates: aggregates(),
        keys: keys[..width].to_vec(),
        schema: [KEY, VALUE, SECOND][..width + 1].to_vec(),
    });
    let options = |memory_bytes_max| ExecOptions {
        threads: case.threads,
        memory_bytes_max,
        ..ExecOptions::default()
    };
    let cx = Context::new(Snapshot::empty(), options(case.bytes_max), 0);
    let mut sinks = Vec::new();
    for share in rows.chunks(rows.len().div_ceil(case.threads).max(1)) {
        let mut sink = SpillingAggregator::new(&grouping, &cx)?;
        for rows in share.chunks(case.step) {
            sink.update(&batch_of(rows, case.wider), &cx)?;
        }
        sinks.push(sink);
    }
    if sinks.is_empty() {
        sinks.push(SpillingAggregator::new(&grouping, &cx)?);
    }
    let mut groups = SpillingAggregator::finish_all(sinks, &cx)?;
    let mut batches = Vec::new();
    while let Some(batch) = groups.next(&cx)? {
        batches.push(batch);
    }
    let found = rows_of(&batches, width, &cx);
    let cx = Context::new(Snapshot::empty(), options(1 << 30), 0);
    let mut alone = grouping.aggregator(&cx)?;
    alone.update(&batch_of(rows, case.wider), &cx)?;
    Ok([found, rows_of(&[alone.finish(&cx)?], width, &cx)])
}

proptest! {
    #[test]
    fn partitions_have_the_groups_of_one_pass(
        rows in prop::collection::vec((0_u8..3, 0_u64..600, 0_u64..9, -12_i64..12), 0..1500),
        one_kind in any::<bool>(),
        wide in any::<bool>(),
        many in any::<bool>(),
        (threads, wider, step) in (1_usize..4, any::<bool>(), 1_usize..200),
        bytes_max in prop_oneof![3 => Just(1_usize << 30), 1 => (1_usize << 18)..(1 << 20)],
    ) {
        let row = |(at, &(kind, first, second, number)): (usize, &(u8, u64, u64, i64))| {
            let kind = if one_kind { 1 } else { kind };
            // Hardly a row has the key of another, or some have.
            let first = if many { at as u64 } else { first };
            (key(kind, first), key(u8::from(wide), second), value(number))
        };
        let rows: Vec<Row> = rows.iter().enumerate().map(row).collect();
        let case = Case { threads, wider, step, bytes_max };
        let [found, expected] = both(&rows, case).expect("it has room, or goes to files");
        prop_assert_eq!(found, expected);
    }
}
