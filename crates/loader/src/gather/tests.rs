//! Grouping in memory against a set of quads, grouping through windows against grouping in memory.

use super::*;
use crate::first_ordinals::FirstTerms;
use crate::options::SpillSettings;
use crate::quad_blocks::QuadBlocks;
use std::sync::Arc;

fn raw(subject: u32, predicate: u32, object: u64, graph: u32) -> RawQuad {
    RawQuad {
        subject,
        predicate,
        graph,
        object: TermId::resource(object),
    }
}

fn gather(text: &[RawQuad], threads: usize, settings: SpillSettings) -> (Gathered, LoadMemory) {
    gather_by(text, threads, settings, |grouping, raw| {
        grouping.gather(raw)
    })
}

fn gather_by(
    text: &[RawQuad],
    threads: usize,
    settings: SpillSettings,
    group: impl FnOnce(&Grouping<'_>, RawQuads) -> Result<Gathered, LoadError>,
) -> (Gathered, LoadMemory) {
    let memory = LoadMemory::new(None, 1, std::env::temp_dir(), settings);
    let memory = Arc::new(memory.expect("the budget is large enough"));
    let blocks = QuadBlocks::new(Arc::clone(&memory));
    for (i, part) in text.chunks(100).enumerate() {
        blocks.put(1, i, part).expect("kept");
    }
    let grouping = Grouping {
        resource_bound: 4_100,
        type_predicate: Some(2),
        threads,
        memory: &memory,
        resident: 0,
    };
    let raw = blocks
        .into_ordered(FirstTerms::default())
        .expect("in order");
    let gathered = group(&grouping, raw).expect("grouped");
    let memory = Arc::try_unwrap(memory).expect("nobody else has it");
    (gathered, memory)
}

/// Quads by rank.
fn quads_of(all: &Gathered, memory: &LoadMemory) -> Vec<Vec<Quad>> {
    let mut quads = Vec::new();
    let read = all.for_each_batch(memory, &mut |batch| {
        let ranks = batch.ranks.clone();
        quads.extend(ranks.map(|rank| batch.quads_of(rank).to_vec()));
        Ok(())
    });
    read.expect("read");
    quads
}

fn check(text: &[RawQuad]) {
    let mut expected: HashSet<(u32, u32, u64, u32)> = HashSet::new();
    for q in text {
        expected.insert((q.subject, q.predicate, q.object.payload(), q.graph));
    }
    let (all, memory) = gather(text, 1, SpillSettings::default());
    let in_order = text.chunk_by(|a, b| a.subject == b.subject).count() == all.subjects.len();
    let in_memory = quads_of(&all, &memory);
    let mut found = HashSet::new();
    for (rank, &subject) in all.subjects.iter().enumerate() {
        let quads = &in_memory[rank];
        assert!(quads.is_sorted_by_key(|q| q.predicate));
        for q in quads {
            let predicate = all.predicates[q.predicate as usize];
            let graph = all.graphs[q.graph as usize];
            let new = found.insert((subject, predicate, q.object.payload(), graph));
            assert!(new, "every quad once");
        }
    }
    assert_eq!(found, expected);
    let ways = [
        // In memory, and where the quads stand by subject without windows to a file.
        (3, None, 1, None),
        (3, None, 64, Some(0)),
        (1, None, 9, Some(0)),
        (3, Some(1), 1, None),
        (1, Some(700), 64, None),
        (2, Some(100_000), 9, None),
    ];
    for (threads, window_quads, batch_quads, group_bytes) in ways {
        let settings = SpillSettings {
            parse_bytes: Some(0),
            window_quads,
            group_bytes,
            batch_quads: Some(batch_quads),
            ..SpillSettings::default()
        };
        let (spilled, memory) = gather(text, threads, settings);
        let is_held = matches!(spilled.quads, GroupedQuads::Memory(_));
        if in_order {
            // Windows of few quads are several, and without windows all goes where it fits.
            let is_file =
                group_bytes.is_some() || window_quads == Some(1) && all.subjects.len() > 1;
            assert!(!is_held || !is_file);
        }
        assert_eq!(spilled.subjects, all.subjects);
        assert_eq!(spilled.predicates, all.predicates);
        assert_eq!(spilled.graphs, all.graphs);
        assert_eq!(spilled.quad_count(), all.quad_count());
        assert!(quads_of(&spilled, &memory) == in_memory, "{window_quads:?}");
        assert_eq!(sorted(spilled.types), sorted(all.types.clone()));
    }
    // Chunks of one subject, of some, and one of all.
    for (threads, shift) in [(3, 0), (1, 3), (2, 13)] {
        let (dealt, memory) =
            gather_by(text, threads, SpillSettings::default(), |grouping, raw| {
                let ranked = rank(&raw, grouping.resource_bound)?;
                grouping.gather_chunks(raw, ranked, shift)
            });
        assert_eq!(dealt.subjects, all.subjects);
        assert!(quads_of(&dealt, &memory) == in_memory, "{shift}");
        assert_eq!(sorted(dealt.types), sorted(all.types.clone()));
        assert!(memory.has_room(memory.limit_of_groups()), "all is freed");
    }
}

fn sorted(mut types: Vec<(TermId, u64)>) -> Vec<(TermId, u64)> {
    types.sort_unstable();
    types
}

#[test]
fn scattered_and_repeated_quads_are_grouped_and_distinct() {
    let quad = |i: u32| raw(i % 7, i % 3, u64::from(i % 110), i % 2);
    check(&(0..3_000).map(quad).collect::<Vec<_>>());
    let quad = |i: u32| raw(i * i % 59, i % 5, u64::from(i % 11), 0);
    check(&(0..2_000).map(quad).collect::<Vec<_>>());
}

#[test]
fn grouped_quads_stay_so() {
    let quad = |i: u32| raw(i / 40, i % 5, u64::from(i % 30), 0);
    check(&(0..2_000).map(quad).collect::<Vec<_>>());
    // More subjects than a chunk in memory has; one has most of the quads.
    let quad = |i: u32| {
        let subject = match i {
            0..4_000 => i / 2,
            4_000..7_000 => 2_000,
            _ => i - 4_999,
        };
        raw(subject, i * i % 7, u64::from(i % 3), i % 2)
    };
    check(&(0..9_000).map(quad).collect::<Vec<_>>());
}

#[test]
fn nothing_is_grouped_to_nothing() {
    for window_quads in [None, Some(5)] {
        let settings = SpillSettings {
            parse_bytes: Some(0),
            window_quads,
            ..SpillSettings::default()
        };
        let (all, _) = gather(&[], 2, settings);
        assert!(all.subjects.is_empty() && all.quad_count() == 0);
    }
}
