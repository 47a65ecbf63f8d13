//! A quad table that was added to against one written at once.

use super::{QuadTable, write};
use crate::folder::Folder;
use crate::matching::QuadIds;
use basalt_rdf::TermId;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::ops::ControlFlow;

fn table(old: Option<&QuadTable>, quads: &BTreeSet<QuadIds>) -> QuadTable {
    let folder = Folder::memory();
    let mut quads: Vec<QuadIds> = quads.iter().rev().copied().collect();
    write(&folder, old, &mut quads).expect("memory takes files");
    QuadTable::open(&folder).expect("an intact table opens")
}

/// All quads in the two orders.
fn contents(table: &QuadTable) -> [Vec<[u64; 4]>; 2] {
    let (mut psog, mut posg) = (Vec::new(), Vec::new());
    for (p, _) in table.predicates() {
        let take = |out: &mut Vec<[u64; 4]>, s: &[u64], o: &[u64], g: &[u64]| {
            let rest = o.iter().zip(g);
            out.extend(s.iter().zip(rest).map(|(&s, (&o, &g))| [p.0, s, o, g]));
            ControlFlow::Continue(())
        };
        table
            .scan(p, &mut |s, o, g| take(&mut psog, s, o, g))
            .expect("it can be read");
        table
            .scan_by_object(p, &mut |s, o, g| take(&mut posg, s, o, g))
            .expect("it can be read");
    }
    [psog, posg]
}

fn quad(number: u32) -> QuadIds {
    let resource = |n: u32| TermId::resource(u64::from(n));
    QuadIds {
        subject: resource(number / 7 % 400),
        predicate: resource(number % 3 * 2 + number / 9_000),
        object: resource(number / 3 % 900),
        graph: if number.is_multiple_of(11) {
            resource(5)
        } else {
            TermId::DEFAULT_GRAPH
        },
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn adding_in_pieces_gives_the_same_table(
        pieces in proptest::collection::vec(
            (0_u32..10_000, prop_oneof![0_u32..4, 0_u32..6_000], 1_u32..9), 1..5,
        ),
    ) {
        let mut all = BTreeSet::new();
        let mut grown = table(None, &all);
        for (first, count, step) in pieces {
            let numbers = (0..count).map(|i| (first + i * step) % 10_000);
            let new: BTreeSet<QuadIds> = numbers.map(quad).filter(|q| !all.contains(q)).collect();
            grown = table(Some(&grown), &new);
            all.extend(new);
        }
        let whole = table(None, &all);
        prop_assert_eq!(contents(&grown), contents(&whole));
        prop_assert!(grown.predicates().eq(whole.predicates()));
    }
}

#[test]
fn a_quad_that_is_there_is_refused() {
    let quads: BTreeSet<QuadIds> = (0..5_000).map(quad).collect();
    let old = table(None, &quads);
    let mut again = vec![quad(77)];
    let refused = write(&Folder::memory(), Some(&old), &mut again);
    assert!(refused.is_err());
}

#[test]
fn blocks_do_not_become_small() {
    let mut all: BTreeSet<QuadIds> = BTreeSet::new();
    let mut grown = table(None, &all);
    for round in 0..40 {
        let new: BTreeSet<QuadIds> = (0..250)
            .map(|i| quad((i * 40 + round * 7) % 10_000))
            .filter(|q| !all.contains(q))
            .collect();
        grown = table(Some(&grown), &new);
        all.extend(new);
    }
    let blocks: usize = grown
        .entries()
        .iter()
        .map(|p| p.blocks(super::Order::Psog).len())
        .sum();
    let full = all.len() / super::BLOCK_QUADS;
    let predicates = grown.predicates().count();
    assert!(
        blocks <= 2 * full + predicates,
        "{blocks} blocks for {} quads",
        all.len()
    );
}

#[test]
fn graphs_have_the_same_quads_before_and_after_their_places_are_known() {
    let graph_of = |number: u32| match number % 5 {
        0 => TermId::DEFAULT_GRAPH,
        _ => TermId::resource(u64::from(2_000 + number % 37)),
    };
    let all: BTreeSet<QuadIds> = (0..6_000)
        .map(|number| QuadIds {
            graph: graph_of(number),
            ..quad(number)
        })
        .collect();
    let table = table(None, &all);
    let predicates = [None, Some(TermId::resource(2)), Some(TermId::resource(3))];
    for turn in 0..3 {
        for graph in (1_999..2_038).map(TermId::resource) {
            for predicate in predicates {
                let mut found = BTreeSet::new();
                let step = table.by_graph(predicate, (graph, 1), &mut |quad| {
                    assert!(found.insert(quad), "each comes once");
                    ControlFlow::Continue(())
                });
                assert!(step.expect("it can be read").is_continue());
                let wanted = |quad: &QuadIds| {
                    quad.graph == graph && predicate.is_none_or(|p| p == quad.predicate)
                };
                assert!(found.into_iter().eq(all.iter().copied().filter(wanted)));
            }
        }
        assert!(turn == 0 || table.knows_places_by_graph());
    }
    let mut seen = 0;
    let step = table.by_graph(None, (TermId::resource(2_001), 1), &mut |_| {
        seen += 1;
        ControlFlow::Break(())
    });
    assert!(step.expect("it can be read").is_break() && seen == 1);
}
