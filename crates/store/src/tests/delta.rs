//! Random changes over random versions: every reader finds what a set of quads has, and old views stay.

use super::changed_values;
use super::counts;
use super::neighbours;
use super::patterns::{check_blocks, check_patterns, found, object, quad, quads};
use super::splitter::{RESOURCES, load, number, resource, string};
use crate::{CheckDepth, QuadIds, QuadPattern, RowState, Snapshot, Storage, VersionWriter};
use basalt_rdf::{TermId, TermView};
use proptest::prelude::*;
use roaring::RoaringBitmap;
use std::collections::BTreeSet;

/// Terms that only changes have.
const NEW_TERMS: usize = 6;

/// A quad, some terms of which may be replaced by new ones.
type Made = (QuadIds, u8, usize);

/// What is removed and added: of the quads that are there one in so many, and others.
type Step = (usize, Vec<Made>, Vec<Made>, Vec<Made>);

fn made(count_max: usize) -> impl Strategy<Value = Vec<Made>> {
    let is_new = prop_oneof![3 => Just(0), 1 => 0..16_u8];
    prop::collection::vec((quad(), is_new, 0..NEW_TERMS), 0..count_max)
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (2..20_usize, made(8), made(40), made(10));
    prop::collection::vec(step, 1..6)
}

/// The quad with the positions of the mask replaced by new terms.
fn with_new_terms(snapshot: &Snapshot, (quad, mask, number): Made) -> QuadIds {
    let iri = |role: &str| {
        let iri = format!("http://example.org/new/{role}/{number}");
        snapshot.intern(TermView::Iri(&iri)).expect("there is room")
    };
    let object = || match number % 3 {
        0 => iri("object"),
        1 => {
            let text = TermView::simple("new text");
            snapshot.intern(text).expect("there is room")
        }
        _ => {
            let value = TermView::typed("12", "http://example.org/new/number");
            snapshot.intern(value).expect("there is room")
        }
    };
    let mut made = quad;
    if mask & 1 != 0 {
        made.subject = iri("subject");
    }
    if mask & 2 != 0 {
        made.predicate = iri("predicate");
    }
    if mask & 4 != 0 {
        made.object = object();
    }
    if mask & 8 != 0 {
        made.graph = iri("graph");
    }
    made
}

/// Everything that a snapshot can be asked.
fn check(
    snapshot: &Snapshot,
    quads: &BTreeSet<QuadIds>,
    probes: &[QuadIds],
) -> Result<(), TestCaseError> {
    let deep = snapshot.check(CheckDepth::Deep);
    let deep = deep.map_err(|error| TestCaseError::fail(error.to_string()))?;
    prop_assert_eq!(snapshot.quad_count(), quads.len() as u64);
    prop_assert_eq!(
        deep.quads_in_cells + deep.irregular_quads,
        quads.len() as u64
    );
    prop_assert_eq!(deep, {
        let quick = snapshot.check(CheckDepth::Quick);
        quick.map_err(|error| TestCaseError::fail(error.to_string()))?
    });
    check_patterns(snapshot, quads, probes)?;
    neighbours::check(snapshot, quads, 3)?;
    let objects: Vec<TermId> = probes.iter().map(|probe| probe.object).collect();
    counts::check(snapshot, &objects)?;
    check_links(snapshot, quads, &objects)?;
    for probe in probes {
        let contained = snapshot.contains(probe).expect("reads");
        prop_assert_eq!(contained, quads.contains(probe));
        let mut objects = Vec::new();
        let of = snapshot.objects_of(probe.predicate, probe.subject, &mut objects);
        of.expect("reads");
        objects.sort_unstable();
        let expected = quads.iter();
        let expected = expected
            .filter(|q| (q.predicate, q.subject) == (probe.predicate, probe.subject))
            .map(|q| (q.object, q.graph));
        prop_assert!(objects.into_iter().eq(expected));
        check_reader(snapshot, quads, probe.predicate)?;
        let of_predicate = quads.iter().filter(|q| q.predicate == probe.predicate);
        prop_assert_eq!(
            snapshot.predicate_quads(probe.predicate),
            of_predicate.count() as u64
        );
    }
    let graphs: BTreeSet<TermId> = quads.iter().map(|q| q.graph).collect();
    let named = graphs.into_iter().filter(|g| *g != TermId::DEFAULT_GRAPH);
    let named: Vec<(TermId, u64)> = named
        .map(|graph| {
            let of_graph = quads.iter().filter(|q| q.graph == graph);
            (graph, of_graph.count() as u64)
        })
        .collect();
    prop_assert_eq!(snapshot.named_graph_count(), named.len() as u64);
    prop_assert_eq!(snapshot.named_graphs(), named);
    changed_values::check(snapshot, quads)?;
    check_blocks(snapshot)?;
    check_rows(snapshot, quads)?;
    check_seam(snapshot, quads)
}

/// Reading objects subject after subject, twice in turn, tells what reading each alone does.
fn check_reader(
    snapshot: &Snapshot,
    quads: &BTreeSet<QuadIds>,
    predicate: TermId,
) -> Result<(), TestCaseError> {
    let mut reader = snapshot.object_reader(predicate);
    let subjects: BTreeSet<TermId> = quads.iter().map(|q| q.subject).collect();
    for &subject in subjects.iter().chain(subjects.iter().rev()) {
        let (mut read, mut alone) = (Vec::new(), Vec::new());
        reader.read(subject, &mut read).expect("reads");
        let of = snapshot.objects_of(predicate, subject, &mut alone);
        of.expect("reads");
        let alone: Vec<TermId> = alone.into_iter().map(|(object, _)| object).collect();
        prop_assert_eq!(read, alone);
    }
    Ok(())
}

/// Cells of clean rows tell all, and irregular quads are the rest.
fn check_seam(snapshot: &Snapshot, quads: &BTreeSet<QuadIds>) -> Result<(), TestCaseError> {
    let irregular = snapshot.quad_table();
    let predicates: BTreeSet<TermId> = quads.iter().map(|q| q.predicate).collect();
    let mut count = 0;
    for (predicate, counts) in irregular.predicates() {
        let mut scanned = Vec::new();
        let scan = irregular.scan(predicate, &mut |subjects, objects, graphs| {
            for ((&s, &o), &g) in subjects.iter().zip(objects).zip(graphs) {
                scanned.push((TermId(s), TermId(o), TermId(g)));
            }
            std::ops::ControlFlow::Continue(())
        });
        scan.expect("reads");
        prop_assert_eq!(scanned.len() as u64, counts.quads);
        count += counts.quads;
        let mut by_object = Vec::new();
        let scan = irregular.scan_by_object(predicate, &mut |subjects, objects, graphs| {
            for ((&s, &o), &g) in subjects.iter().zip(objects).zip(graphs) {
                by_object.push((TermId(s), TermId(o), TermId(g)));
            }
            std::ops::ControlFlow::Continue(())
        });
        scan.expect("reads");
        by_object.sort_unstable();
        scanned.sort_unstable();
        prop_assert_eq!(&by_object, &scanned);
        let objects: BTreeSet<TermId> = scanned.iter().map(|(_, o, _)| *o).collect();
        let subjects: BTreeSet<TermId> = scanned.iter().map(|(s, ..)| *s).collect();
        prop_assert!(subjects.len() as u64 <= counts.subjects);
        prop_assert!(objects.len() as u64 <= counts.objects);
        for object in objects {
            let mut found = Vec::new();
            let read = irregular.by_object(predicate, object, &mut found);
            read.expect("reads");
            found.sort_unstable();
            let same = scanned.iter().filter(|(_, o, _)| *o == object);
            let mut expected: Vec<_> = same.map(|(s, _, g)| (*s, *g)).collect();
            expected.sort_unstable();
            let counted = irregular.count_object(predicate, object);
            prop_assert_eq!(counted.expect("reads"), expected.len() as u64);
            prop_assert_eq!(found, expected);
        }
    }
    prop_assert_eq!(irregular.quad_count(), count);
    for (table_idx, table) in snapshot.tables().iter().enumerate() {
        for &predicate in &predicates {
            let mut dirty = RoaringBitmap::new();
            snapshot.add_dirty_rows(table_idx, predicate, &mut dirty);
            let counted = snapshot.dirty_row_count(table_idx, predicate);
            prop_assert_eq!(counted, dirty.len());
            for row in 0..table.rows() {
                if dirty.contains(row) {
                    prop_assert!(snapshot.row_state(table_idx, row) != RowState::Clean);
                    continue;
                }
                let mut values = Vec::new();
                if let Some(cells) = table.cells(predicate) {
                    cells.values_into(row, &mut values);
                }
                values.sort_unstable();
                let of_row = quads
                    .iter()
                    .filter(|q| (q.subject, q.predicate) == (table.subject(row), predicate));
                prop_assert!(of_row.map(|q| q.object.0).eq(values));
            }
        }
    }
    Ok(())
}

/// What leads to several objects at once is what leads to each of them; some of these are objects of no quad.
fn check_links(
    snapshot: &Snapshot,
    quads: &BTreeSet<QuadIds>,
    objects: &[TermId],
) -> Result<(), TestCaseError> {
    let subjects = quads.iter().step_by(7).map(|quad| quad.subject);
    let often = quads.iter().step_by(3).map(|quad| quad.object);
    let asked: BTreeSet<TermId> = objects
        .iter()
        .copied()
        .chain(subjects)
        .chain(often)
        .collect();
    let asked: Vec<u64> = asked.into_iter().map(|id| id.0).collect();
    let mut found = Vec::new();
    let visited = snapshot.links_to(&asked, &mut |at, quad| {
        found.push((asked[at], quad));
        std::ops::ControlFlow::Continue(())
    });
    visited.expect("reads");
    found.sort_unstable();
    let leads = |quad: &QuadIds| asked.binary_search(&quad.object.0).is_ok();
    let mut expected: Vec<(u64, QuadIds)> = quads
        .iter()
        .filter(|quad| leads(quad))
        .map(|quad| (quad.object.0, *quad))
        .collect();
    expected.sort_unstable();
    prop_assert_eq!(found, expected);
    Ok(())
}

/// Rows that no change touches are their cells and the irregular quads of the version.
fn check_rows(snapshot: &Snapshot, quads: &BTreeSet<QuadIds>) -> Result<(), TestCaseError> {
    for (table_idx, table) in snapshot.tables().iter().enumerate() {
        for row in 0..table.rows() {
            let state = snapshot.row_state(table_idx, row);
            if state == RowState::Changed {
                continue;
            }
            let subject = table.subject(row);
            let (mut of_row, mut values) = (Vec::new(), Vec::new());
            for cells in table.all_cells() {
                values.clear();
                cells.values_into(row, &mut values);
                of_row.extend(values.iter().map(|&object| QuadIds {
                    subject,
                    predicate: cells.predicate(),
                    object: TermId(object),
                    graph: table.graph(row),
                }));
            }
            let in_cells = of_row.len();
            let read =
                snapshot.irregular_of_row((table_idx, row), &QuadPattern::default(), &mut |quad| {
                    of_row.push(quad);
                    std::ops::ControlFlow::Continue(())
                });
            read.expect("reads");
            prop_assert_eq!(of_row.len() > in_cells, state == RowState::Irregular);
            of_row.sort_unstable();
            prop_assert!(
                of_row
                    .into_iter()
                    .eq(quads.iter().copied().filter(|q| q.subject == subject))
            );
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn views_with_changes_are_sets_of_quads(
        quads in quads(250),
        steps in steps(),
        objects in prop::collection::vec(object(), 3),
    ) {
        let mut snapshot = load(&quads, Storage::Memory);
        let mut expected = quads.clone();
        let mut views = vec![(snapshot.clone(), expected.clone())];
        for (every, strangers, added, both) in steps {
            let mut removed: Vec<QuadIds> = expected.iter().copied().step_by(every).collect();
            let new = |made: &Made| with_new_terms(&snapshot, *made);
            removed.extend(strangers.iter().map(new));
            let mut added: Vec<QuadIds> = added.iter().map(new).collect();
            // What was there once comes back, and what is there stays.
            added.extend(quads.iter().copied().step_by(every * 3));
            removed.extend(both.iter().map(new));
            added.extend(both.iter().map(new));
            // Triples move to another graph, or are in two.
            let elsewhere = |quad: &QuadIds| QuadIds { graph: resource(6), ..*quad };
            added.extend(removed.iter().step_by(3).map(elsewhere));
            added.extend(expected.iter().step_by(every * 2 + 1).map(elsewhere));
            let before = expected.clone();
            for quad in &removed {
                expected.remove(quad);
            }
            expected.extend(&added);
            let (next, net) = snapshot.with_changes(&removed, &added).expect("they are valid");
            let sorted = |mut quads: Vec<QuadIds>| { quads.sort_unstable(); quads };
            let gone: Vec<QuadIds> = before.difference(&expected).copied().collect();
            let come: Vec<QuadIds> = expected.difference(&before).copied().collect();
            prop_assert_eq!(sorted(net.removed), gone);
            prop_assert_eq!(sorted(net.added), come);
            snapshot = next;
            let mut probes: Vec<QuadIds> = expected.iter().copied().step_by(23).collect();
            probes.extend(removed.iter().step_by(5).chain(added.iter().step_by(11)));
            probes.extend(objects.iter().map(|&object| QuadIds { object, ..added.first().copied().unwrap_or(QuadIds {
                subject: resource(12), predicate: resource(1), object, graph: TermId::DEFAULT_GRAPH,
            }) }));
            check(&snapshot, &expected, &probes)?;
            views.push((snapshot.clone(), expected.clone()));
        }
        for (view, expected) in views {
            let all = found(&view, &QuadPattern::default());
            prop_assert!(all.into_iter().eq(expected.iter().copied()));
            view.check(CheckDepth::Deep).map_err(|e| TestCaseError::fail(e.to_string()))?;
        }
    }
}

fn some_quads() -> BTreeSet<QuadIds> {
    let quads = (0..200).map(|i| QuadIds {
        subject: resource(10 + i % 60),
        predicate: resource(i % 4),
        object: number(i as i64 % 9),
        graph: TermId::DEFAULT_GRAPH,
    });
    quads.collect()
}

#[test]
fn undoing_all_changes_leaves_nothing() {
    let quads = some_quads();
    let base = load(&quads, Storage::Memory);
    let all: Vec<QuadIds> = quads.iter().copied().collect();
    let (empty, net) = base.with_changes(&all, &[]).expect("they are valid");
    assert_eq!((net.removed.len(), net.added.len()), (all.len(), 0));
    let removed = empty.delta_size().removed;
    assert_eq!((empty.quad_count(), removed), (0, quads.len() as u64));
    assert_eq!(empty.quad_table().quad_count(), 0);
    assert!(found(&empty, &QuadPattern::default()).is_empty());
    let (same, net) = empty.with_changes(&[], &all).expect("they are valid");
    assert_eq!((net.removed.len(), net.added.len()), (0, all.len()));
    let size = same.delta_size();
    assert_eq!((size.added, size.removed, size.bytes), (0, 0, 0));
    assert!(found(&same, &QuadPattern::default()).into_iter().eq(quads));
    same.check(CheckDepth::Deep).expect("nothing is left over");
}

#[test]
fn changes_of_nothing_are_no_changes() {
    let quads = some_quads();
    let base = load(&quads, Storage::Memory);
    let known = *quads.first().expect("there are quads");
    let unknown = QuadIds {
        subject: resource(79),
        ..known
    };
    for (removed, added) in [
        (vec![], vec![]),
        (vec![unknown], vec![known, known]),
        (vec![known], vec![known]),
        (vec![unknown, unknown], vec![]),
    ] {
        let (same, net) = base.with_changes(&removed, &added).expect("they are valid");
        assert!(net.is_empty() && !same.has_delta());
    }
    let (changed, net) = base
        .with_changes(&[known, known], &[unknown, unknown])
        .expect("they are valid");
    assert_eq!((net.removed, net.added), (vec![known], vec![unknown]));
    assert!(changed.has_delta());
}

#[test]
fn what_cannot_be_stored_is_refused() {
    let base = load(&some_quads(), Storage::Memory);
    let good = QuadIds {
        subject: resource(79),
        predicate: resource(1),
        object: string(9),
        graph: resource(8),
    };
    let after = resource(RESOURCES);
    let bad = [
        QuadIds {
            subject: string(1),
            ..good
        },
        QuadIds {
            subject: after,
            ..good
        },
        QuadIds {
            predicate: number(1),
            ..good
        },
        QuadIds {
            predicate: after,
            ..good
        },
        QuadIds {
            object: TermId::UNBOUND,
            ..good
        },
        QuadIds {
            object: TermId::DEFAULT_GRAPH,
            ..good
        },
        QuadIds {
            object: TermId::new(0x13, 0),
            ..good
        },
        QuadIds {
            object: string(10),
            ..good
        },
        QuadIds {
            object: after,
            ..good
        },
        QuadIds {
            graph: TermId::UNBOUND,
            ..good
        },
        QuadIds {
            graph: string(1),
            ..good
        },
        QuadIds {
            graph: after,
            ..good
        },
    ];
    for quad in bad {
        assert!(base.with_changes(&[], &[good, quad]).is_err(), "{quad:?}");
        assert!(base.with_changes(&[quad], &[]).is_err(), "{quad:?}");
    }
    let (changed, _) = base.with_changes(&[], &[good]).expect("it is valid");
    assert!(changed.contains(&good).expect("reads") && !base.contains(&good).expect("reads"));
    let mut writer = VersionWriter::create(Storage::Memory).expect("a writer");
    assert!(writer.build_on(&changed).is_err(), "changes are in no file");
}

#[test]
fn a_visitor_that_has_enough_is_left_alone() {
    let base = load(&some_quads(), Storage::Memory);
    let more = (0..50).map(|i| QuadIds {
        subject: resource(60 + i % 20),
        predicate: resource(5),
        object: number(i as i64),
        graph: TermId::DEFAULT_GRAPH,
    });
    let more: Vec<QuadIds> = more.collect();
    let (changed, _) = base.with_changes(&[], &more).expect("they are valid");
    for enough in [1, 100, 200, 201, 225] {
        let mut visited = 0;
        let mut visit = |_| {
            visited += 1;
            match visited == enough {
                true => std::ops::ControlFlow::Break(()),
                false => std::ops::ControlFlow::Continue(()),
            }
        };
        changed
            .matching(&QuadPattern::default(), &mut visit)
            .expect("reads");
        assert_eq!(visited, enough);
    }
}
