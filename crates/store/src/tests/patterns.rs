//! Random quads: every kind of pattern finds exactly what a filter over the set finds.

use super::splitter::{load, number, resource, string};
use crate::{
    Cells, CheckDepth, GraphSet, Predicates, QuadBlock, QuadIds, QuadPattern, Snapshot, Storage,
    StoreError, Table,
};
use basalt_rdf::TermId;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::ops::{ControlFlow, Range};

pub(super) fn object() -> impl Strategy<Value = TermId> {
    prop_oneof![
        (0_u64..80).prop_map(resource),
        (40_u64..55).prop_map(resource),
        (-3_i64..6).prop_map(number),
        (0_u64..10).prop_map(string),
    ]
}

pub(super) fn quad() -> impl Strategy<Value = QuadIds> {
    let subject = prop_oneof![
        4 => 10_u64..30,
        4 => 40_u64..55,
        1 => 60_u64..80,
    ];
    let graph = prop_oneof![
        3 => Just(TermId::DEFAULT_GRAPH),
        1 => (6_u64..9).prop_map(resource),
    ];
    (subject, 0_u64..5, object(), graph).prop_map(|(subject, predicate, object, graph)| QuadIds {
        subject: resource(subject),
        predicate: resource(predicate),
        object,
        graph,
    })
}

pub(super) fn quads(count_max: usize) -> impl Strategy<Value = BTreeSet<QuadIds>> {
    proptest::collection::btree_set(quad(), 0..count_max)
}

/// What a pattern finds, sorted; repeats stay.
pub(super) fn found(snapshot: &Snapshot, pattern: &QuadPattern) -> Vec<QuadIds> {
    let mut all = Vec::new();
    snapshot
        .matching(pattern, &mut |quad| {
            all.push(quad);
            ControlFlow::Continue(())
        })
        .expect("the version is whole");
    all.sort_unstable();
    all
}

/// The pattern that binds the positions in the mask to those of the quad.
fn pattern_of(quad: &QuadIds, mask: u8) -> QuadPattern {
    let bound = |bit: u8, id| (mask & bit != 0).then_some(id);
    QuadPattern {
        subject: bound(1, quad.subject),
        predicate: bound(2, quad.predicate),
        object: bound(4, quad.object),
        graph: bound(8, quad.graph),
    }
}

pub(super) fn check_patterns(
    snapshot: &Snapshot,
    quads: &BTreeSet<QuadIds>,
    probes: &[QuadIds],
) -> Result<(), TestCaseError> {
    for probe in probes {
        for mask in 0..16 {
            let pattern = pattern_of(probe, mask);
            let expected: Vec<QuadIds> = quads
                .iter()
                .filter(|quad| pattern.matches(quad))
                .copied()
                .collect();
            prop_assert_eq!(found(snapshot, &pattern), expected, "{:?}", pattern);
        }
    }
    Ok(())
}

/// The numbers of rows of some objects and their rows, searched at once and one by one.
type Found = (Vec<u32>, Vec<u32>);

/// Whether these counts are added to what is there, or nothing is.
fn are_added(cells: Cells<'_>, objects: &[u64], counts: &[u32]) -> bool {
    let mut added = vec![1; objects.len()];
    let all = u64::from(cells.add_counts(objects, &mut added));
    let of_count = |(&added, &count): (&u64, &u32)| added == 1 + all * u64::from(count);
    added.iter().zip(counts).all(of_count)
}

/// Whether objects that are counted together, if they are, have as many rows as each has, of all and of those taken.
fn are_counted_together(cells: Cells<'_>, objects: &[u64]) -> bool {
    let (_, alone) = rows_of(cells, objects);
    let is_even = |row: &u32| row.is_multiple_of(2);
    let all = |_: &[u32]| None;
    let even = |rows: &[u32]| Some(rows.iter().map(is_even).collect());
    let (mut of_all, mut of_even) = (vec![7; objects.len()], vec![0; objects.len()]);
    if !cells.add_counts_together(objects, &all, &mut of_all) {
        return of_all == vec![7; objects.len()];
    }
    cells.add_counts_together(objects, &even, &mut of_even);
    let mut rows = alone.1.iter();
    let mut expected = alone.0.iter().map(|&count| {
        let own: Vec<&u32> = rows.by_ref().take(count as usize).collect();
        let taken = own.iter().filter(|row| is_even(row)).count();
        (7 + own.len() as u64, taken as u64)
    });
    of_all.into_iter().zip(of_even).eq(&mut expected)
}

/// Whether rows of some objects sought by their numbers are those cut out of all.
fn are_parts_of_all(cells: Cells<'_>, objects: &[u64]) -> bool {
    let mut parts = [0..0, 0..1, 0..3, 1..2, 2..9, 9..1000].iter();
    parts.all(|part| {
        let (sought, cut) = parts_of(cells, objects, part);
        sought == cut
    })
}

/// The rows of some objects with these numbers: sought, and cut out of all their rows.
fn parts_of(cells: Cells<'_>, objects: &[u64], part: &Range<usize>) -> (Found, Found) {
    let (mut sought, mut cut) = (Found::default(), Found::default());
    cells.find_part(objects, part, &mut sought.0, &mut sought.1);
    let (_, alone) = rows_of(cells, objects);
    let mut rows = alone.1.into_iter();
    for count in alone.0 {
        let of_object: Vec<u32> = rows.by_ref().take(count as usize).collect();
        let wanted = of_object.iter().skip(part.start).take(part.len());
        let before = cut.1.len();
        cut.1.extend(wanted);
        cut.0.push((cut.1.len() - before) as u32);
    }
    (sought, cut)
}

fn rows_of(cells: Cells<'_>, objects: &[u64]) -> (Found, Found) {
    let (mut together, mut alone) = (Found::default(), Found::default());
    cells.find_many(objects, &mut together.0, &mut together.1);
    for &object in objects {
        let before = alone.1.len();
        cells.find(TermId(object), &mut alone.1);
        alone.0.push((alone.1.len() - before) as u32);
    }
    (together, alone)
}

/// Blocks of graphs, of one predicate and of all, have the quads that a pattern finds, each once; those of a merge its triples; a visitor that
/// has enough gets no more.
pub(super) fn check_blocks(snapshot: &Snapshot) -> Result<(), TestCaseError> {
    let some = vec![TermId::DEFAULT_GRAPH, resource(6)];
    let sets = [
        GraphSet::One(TermId::DEFAULT_GRAPH),
        GraphSet::One(resource(6)),
        GraphSet::One(resource(9)),
        GraphSet::Named(None),
        GraphSet::Named(Some(vec![resource(6), resource(9)])),
        GraphSet::Named(Some(vec![resource(7), resource(6), resource(7)])),
        GraphSet::Named(Some(
            (0..12)
                .map(resource)
                .chain([TermId::DEFAULT_GRAPH])
                .collect(),
        )),
        GraphSet::Any(None),
        GraphSet::Any(Some(some)),
    ];
    let predicates = (0..6).map(|number| Some(resource(number))).chain([None]);
    for predicate in predicates {
        for graphs in &sets {
            check_blocks_of(snapshot, predicate, graphs)?;
        }
    }
    for graphs in &sets {
        snapshot
            .tables()
            .iter()
            .try_for_each(|table| check_taken(table, graphs))?;
    }
    Ok(())
}

/// Whether all quads in cells of a table are in some graphs, or none, is what its rows say.
fn check_taken(table: &Table, graphs: &GraphSet) -> Result<(), TestCaseError> {
    let (mut taken, mut all, mut values) = (0, 0, Vec::new());
    for row in 0..table.rows() {
        values.clear();
        table
            .all_cells()
            .for_each(|cells| cells.values_into(row, &mut values));
        all += values.len();
        taken += values.len() * usize::from(graphs.takes(table.graph(row)));
    }
    let expected = match taken {
        0 => Some(false),
        _ => (taken == all).then_some(true),
    };
    if all > 0 {
        prop_assert_eq!(graphs.takes_table(table), expected, "{:?}", graphs);
    }
    Ok(())
}

fn check_blocks_of(
    snapshot: &Snapshot,
    predicate: Option<TermId>,
    graphs: &GraphSet,
) -> Result<(), TestCaseError> {
    let pattern = QuadPattern {
        predicate,
        ..QuadPattern::default()
    };
    let mut expected = found(snapshot, &pattern);
    expected.retain(|quad| graphs.takes(quad.graph));
    let predicates = predicate.map_or(Predicates::All, Predicates::One);
    let (all, blocks) = quads_of_blocks(
        |visit| snapshot.scan_blocks(predicates, graphs, visit),
        usize::MAX,
    );
    let mut sorted = all.clone();
    sorted.sort_unstable();
    prop_assert_eq!(&sorted, &expected, "{:?} {:?}", predicate, graphs);
    for enough in 1..blocks {
        let scan = |visit: Visit<'_>| snapshot.scan_blocks(predicates, graphs, visit);
        let (first, some) = quads_of_blocks(scan, enough);
        prop_assert_eq!(some, enough);
        prop_assert!(all.starts_with(&first));
    }
    check_among(snapshot, &all, graphs);
    let scan = |visit: Visit<'_>| snapshot.scan_merged_blocks(predicates, graphs, visit);
    let (mut merged, _) = quads_of_blocks(scan, usize::MAX);
    prop_assert!(merged.iter().all(|quad| sorted.binary_search(quad).is_ok()));
    let triple = |quad: &QuadIds| (quad.subject, quad.predicate, quad.object);
    let triples: BTreeSet<_> = expected.iter().map(triple).collect();
    merged.sort_unstable();
    prop_assert!(
        merged.iter().map(triple).eq(triples.iter().copied()),
        "{:?} {:?}",
        predicate,
        graphs
    );
    let repeats = snapshot
        .repeats_in_merge::<StoreError>(predicate, graphs, &mut || Ok(()))
        .expect("the version is whole");
    prop_assert_eq!(repeats, (expected.len() - triples.len()) as u64);
    Ok(())
}

/// Checks that a scan of every second predicate that some quads have gives those of these, in the same order.
fn check_among(snapshot: &Snapshot, all: &[QuadIds], graphs: &GraphSet) {
    let predicates: BTreeSet<TermId> = all.iter().map(|quad| quad.predicate).collect();
    let some: Vec<TermId> = predicates.into_iter().step_by(2).collect();
    let scan = |visit: Visit<'_>| snapshot.scan_blocks(Predicates::Among(&some), graphs, visit);
    let (found, _) = quads_of_blocks(scan, usize::MAX);
    let of_some = all.iter().filter(|quad| some.contains(&quad.predicate));
    assert!(found.iter().eq(of_some), "{some:?} {graphs:?}");
}

type Visit<'v> = &'v mut dyn FnMut(QuadBlock<'_>) -> ControlFlow<()>;

/// The quads of so many blocks of a scan at most, and how many there were.
fn quads_of_blocks(
    scan: impl FnOnce(Visit<'_>) -> Result<(), StoreError>,
    enough: usize,
) -> (Vec<QuadIds>, usize) {
    let (mut quads, mut blocks) = (Vec::new(), 0);
    let scanned = scan(&mut |block| {
        for (at, (&subject, &object)) in block.subjects.iter().zip(block.objects).enumerate() {
            quads.push(QuadIds {
                subject: TermId(subject),
                predicate: block.predicate,
                object: TermId(object),
                graph: block.graphs.at(at),
            });
        }
        blocks += 1;
        match blocks < enough {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    });
    scanned.expect("the version is whole");
    (quads, blocks)
}

/// Checks which rows have a value each: one that is asked for elsewhere, one of the row, or one of the next.
fn check_holding(
    cells: Cells<'_>,
    by_row: &[Vec<u64>],
    objects: &[TermId],
) -> Result<(), TestCaseError> {
    let rows: Vec<u32> = (0..by_row.len() as u32).rev().collect();
    for turn in 0..3 {
        let value = |row: usize| match by_row[(row + turn / 2) % by_row.len()].get(row % 3) {
            Some(&value) if turn > 0 => value,
            _ => objects[row % objects.len()].0,
        };
        let wanted: Vec<u64> = rows.iter().map(|&row| value(row as usize)).collect();
        let has =
            |place: u32| by_row[rows[place as usize] as usize].contains(&wanted[place as usize]);
        let expected: Vec<u32> = (0..rows.len() as u32).filter(|&place| has(place)).collect();
        prop_assert_eq!(cells.holding(&rows, &wanted), expected);
        for (place, (&row, &object)) in (0..).zip(rows.iter().zip(&wanted)) {
            prop_assert_eq!(cells.has(row, TermId(object)), has(place));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_pattern_finds_what_a_filter_finds(
        quads in quads(400),
        others in proptest::collection::vec(quad(), 5),
    ) {
        let snapshot = load(&quads, Storage::Memory);
        prop_assert_eq!(snapshot.quad_count(), quads.len() as u64);
        let mut probes: Vec<QuadIds> = quads.iter().copied().step_by(17).collect();
        probes.extend(others);
        check_patterns(&snapshot, &quads, &probes)?;
        snapshot.check(CheckDepth::Deep).map_err(|e| TestCaseError::fail(e.to_string()))?;
    }

    #[test]
    fn blocks_have_the_quads_of_a_graph(quads in quads(400)) {
        check_blocks(&load(&quads, Storage::Memory))?;
    }

    #[test]
    fn cells_agree_with_patterns(quads in quads(300), objects in proptest::collection::vec(object(), 6)) {
        let snapshot = load(&quads, Storage::Memory);
        for table in snapshot.tables() {
            for cells in table.all_cells() {
                let rows: Vec<u32> = (0..table.rows()).rev().collect();
                let (mut counts, mut values) = (Vec::new(), Vec::new());
                cells.gather_lists(&rows, &mut counts, &mut values);
                prop_assert_eq!(counts.len(), rows.len());
                let mut at = 0;
                let mut by_row = vec![Vec::new(); rows.len()];
                for (&row, &count) in rows.iter().zip(&counts) {
                    by_row[row as usize] = values[at..at + count as usize].to_vec();
                    at += count as usize;
                    let mut again = Vec::new();
                    cells.values_into(row, &mut again);
                    prop_assert_eq!(&again, &by_row[row as usize]);
                    prop_assert_eq!(cells.value(row).0, again.first().copied().unwrap_or(0));
                }
                check_holding(cells, &by_row, &objects)?;
                prop_assert_eq!(cells.statistics().values, values.len() as u64);
                let with_value = counts.iter().filter(|&&c| c > 0).count() as u64;
                prop_assert_eq!(cells.statistics().rows_with_value, with_value);
                let distinct: BTreeSet<u64> = values.iter().copied().collect();
                prop_assert_eq!(cells.statistics().distinct_is_exact.then_some(cells.statistics().distinct), Some(distinct.len() as u64));
                if !cells.multi_valued() {
                    let mut gathered = Vec::new();
                    cells.gather(&rows, &mut gathered);
                    gathered.reverse();
                    let mut scanned = Vec::new();
                    cells.scan(0..table.rows(), &mut scanned);
                    prop_assert_eq!(gathered, scanned);
                }
                let objects: Vec<u64> = objects.iter().map(|o| o.0).collect();
                let (mut counts, mut found) = (Vec::new(), Vec::new());
                cells.find_many(&objects, &mut counts, &mut found);
                let mut reader = cells.reader();
                let mut expected = Vec::new();
                for (&object, &count) in objects.iter().zip(&counts) {
                    let before = expected.len();
                    expected.extend((0..table.rows()).filter(|&r| by_row[r as usize].contains(&object)));
                    prop_assert_eq!(count as usize, expected.len() - before);
                    prop_assert_eq!(reader.count_object(TermId(object)), cells.count_object(TermId(object)));
                    if let Some(counted) = cells.count_object(TermId(object)) {
                        prop_assert_eq!(counted, u64::from(count));
                        let mut by_number = |number: u64| reader.nth_with(TermId(object), number);
                        let rows: Vec<u32> = (0..counted).filter_map(&mut by_number).collect();
                        prop_assert_eq!(&rows, &expected[before..]);
                        prop_assert_eq!(by_number(counted), None);
                    }
                }
                prop_assert_eq!(found, expected);
                prop_assert!(are_added(cells, &objects, &counts));
                let many: Vec<u64> = values.iter().chain(&objects).cycle().take(40).copied().collect();
                let (together, alone) = rows_of(cells, &many);
                prop_assert_eq!(together, alone, "many are searched together");
                prop_assert!(are_counted_together(cells, &many) && are_parts_of_all(cells, &many));
                let rows = table.rows() / 4..table.rows() - table.rows() / 8;
                let mut present = Vec::new();
                cells.rows_with_value(rows.clone(), &mut present);
                let has_value = |r: &u32| !by_row[*r as usize].is_empty();
                prop_assert_eq!(present, rows.clone().filter(has_value).collect::<Vec<_>>());
                for &object in &objects {
                    let mut having = Vec::new();
                    cells.rows_with_object(rows.clone(), TermId(object), &mut having);
                    let has = |r: &u32| by_row[*r as usize].contains(&object);
                    prop_assert_eq!(having, rows.clone().filter(has).collect::<Vec<_>>());
                }
            }
        }
    }

    #[test]
    fn links_and_totals_are_exact(quads in quads(300)) {
        let snapshot = load(&quads, Storage::Memory);
        for total in &snapshot.statistics().predicates {
            let pattern = QuadPattern { predicate: Some(total.predicate), ..QuadPattern::default() };
            prop_assert_eq!(total.quads() as usize, found(&snapshot, &pattern).len());
        }
        for &(graph, count) in snapshot.named_graphs() {
            let pattern = QuadPattern { graph: Some(graph), ..QuadPattern::default() };
            prop_assert_eq!(count as usize, found(&snapshot, &pattern).len());
        }
        let cells = snapshot.tables()[0].cells(resource(0)).expect("a column");
        let mut values = Vec::new();
        cells.scan(0..20, &mut values);
        let mut expected = vec![0_u64; 2];
        for value in values {
            if let Some((target_idx, _)) = snapshot.row_of(TermId(value)) {
                expected[target_idx] += 1;
            }
        }
        let mut links = vec![0_u64; 2];
        for &(target_idx, count) in &cells.statistics().links {
            links[target_idx] = count;
        }
        prop_assert_eq!(links, expected);
    }
}

#[test]
fn a_search_ends_when_the_visitor_wants() {
    let all: BTreeSet<QuadIds> = (10..60)
        .map(|subject| QuadIds {
            subject: resource(subject),
            predicate: resource(0),
            object: resource(61),
            graph: TermId::DEFAULT_GRAPH,
        })
        .collect();
    let snapshot = load(&all, Storage::Memory);
    for object in [None, Some(resource(61))] {
        for wanted in 1..all.len() {
            let mut seen = 0;
            let pattern = QuadPattern {
                object,
                ..QuadPattern::default()
            };
            snapshot
                .matching(&pattern, &mut |_| {
                    seen += 1;
                    if seen == wanted {
                        ControlFlow::Break(())
                    } else {
                        ControlFlow::Continue(())
                    }
                })
                .expect("the version is whole");
            assert_eq!(seen, wanted);
        }
    }
}

#[test]
fn many_irregular_predicates_are_found_before_and_after_they_are_indexed() {
    let quad = |subject: u64, predicate: u64| QuadIds {
        subject: resource(subject),
        predicate: resource(predicate),
        object: number(((subject * 7 + predicate) % 5) as i64),
        graph: resource(6 + subject % 2),
    };
    let some = |&(subject, predicate): &(u64, u64)| (subject * predicate) % 3 != 1;
    let pairs = (10..80).flat_map(|subject| (20..60).map(move |predicate| (subject, predicate)));
    let quads: BTreeSet<QuadIds> = pairs.filter(some).map(|(s, p)| quad(s, p)).collect();
    let snapshot = load(&quads, Storage::Memory);
    // Asking all subjects several times is worth more than the index.
    for _ in 0..4 {
        for subject in (0..80).map(resource) {
            for object in [None, Some(number(2))] {
                let pattern = QuadPattern {
                    subject: Some(subject),
                    object,
                    ..QuadPattern::default()
                };
                let expected: Vec<QuadIds> = quads
                    .iter()
                    .filter(|q| pattern.matches(q))
                    .copied()
                    .collect();
                assert_eq!(found(&snapshot, &pattern), expected);
            }
        }
        for object in (0..80).map(resource).chain((0..6).map(number)) {
            let pattern = QuadPattern {
                object: Some(object),
                ..QuadPattern::default()
            };
            let expected: Vec<QuadIds> = quads
                .iter()
                .filter(|q| pattern.matches(q))
                .copied()
                .collect();
            assert_eq!(found(&snapshot, &pattern), expected);
        }
    }
}

#[test]
fn the_empty_store_has_nothing() {
    let snapshot = Snapshot::empty();
    assert_eq!(snapshot.quad_count(), 0);
    assert!(found(&snapshot, &QuadPattern::default()).is_empty());
    snapshot.check(CheckDepth::Deep).expect("it is whole");
}
