//! Terms by hash, and their texts.

use super::*;
use crate::options::SpillSettings;
use crate::texts::Record;
use std::collections::BTreeSet;

/// Interns terms one by one, or in batches of some hundred.
fn intern(
    table: &SharedTerms,
    terms: &[(u32, &str)],
    slab: &mut TextSlab,
    in_batches: bool,
) -> Vec<u32> {
    let hash = |(kind, text): (u32, &str)| table.hash(kind, text);
    if !in_batches {
        let one = |&(kind, text): &(u32, &str)| table.intern(hash((kind, text)), kind, text, slab);
        let all: Result<_, _> = terms.iter().map(one).collect();
        return all.expect("fits");
    }
    let mut batch = TermBatch::default();
    let mut ordinals = Vec::new();
    for terms in terms.chunks(700) {
        for &(kind, text) in terms {
            batch.push(hash((kind, text)), kind, text);
        }
        table.intern_batch(&mut batch, slab).expect("fits");
        ordinals.extend(batch.found.iter().map(|found| found.ordinal));
        batch.clear();
    }
    ordinals
}

fn texts_come_back(memory: LoadMemory) {
    let table = SharedTerms::new("terms", 1 << 30, Arc::new(memory));
    let long = "x".repeat(3 << 20);
    let texts: Vec<String> = (0..5_000)
        .map(|i| format!("term {i}"))
        .chain([long, String::new()])
        .collect();
    let of_kind = |kind: u32| -> Vec<(u32, &str)> {
        texts.iter().map(|text| (kind, text.as_str())).collect()
    };
    let mut slab = table.take_slab();
    // Each of these is new in one way and found in the other; most stand in their batch twice.
    let first = intern(&table, &of_kind(0), &mut slab, false);
    let twice: Vec<_> = of_kind(7).iter().flat_map(|t| [*t, *t]).collect();
    let twice = intern(&table, &twice, &mut slab, true);
    assert!(twice.chunks(2).all(|pair| pair[0] == pair[1]));
    let other = intern(&table, &of_kind(7), &mut slab, false);
    assert!(twice.iter().step_by(2).eq(&other));
    assert_eq!(first, intern(&table, &of_kind(0), &mut slab, true));
    for ((kind, text), &ordinal) in of_kind(0).into_iter().zip(&first) {
        assert_eq!(table.find(kind, text), Some(ordinal));
    }
    assert_eq!(table.find(3, "term 1"), None);
    table.give_back(slab);
    let frozen = table.freeze(Some((7, "term 17")));
    let Frozen {
        terms: frozen,
        firsts,
        sought,
    } = frozen.expect("texts can be kept");
    assert!(firsts.is_empty());
    assert_eq!(sought, Some(other[17]));
    assert_eq!(frozen.len(), 2 * texts.len());
    let all: Vec<u32> = first.iter().chain(&other).copied().collect();
    let names = frozen.names(all.clone()).expect("texts can be read");
    for (i, text) in texts.iter().enumerate() {
        assert_eq!(names[&first[i]], (0, text.clone()));
        assert_eq!(names[&other[i]], (7, text.clone()));
    }
    for (ordinals_max, bytes_max) in [(1, 1), (1_000, 10_000), (1 << 30, 1 << 30)] {
        let portions = frozen.texts.portions(ordinals_max, bytes_max);
        let mut visited = 0;
        for portion in &portions {
            let visit = |records: &mut dyn Iterator<Item = Record<'_>>| {
                for record in records {
                    visited += 1;
                    assert_eq!(
                        names[&record.ordinal],
                        (record.kind, record.str().to_owned())
                    );
                }
            };
            let read = frozen.texts.with_portion(portion, visit);
            read.expect("texts can be read");
        }
        assert_eq!(visited, frozen.len(), "{} portions", portions.len());
        assert_eq!(portions.len() == 1, ordinals_max == 1 << 30);
    }
    let distinct: BTreeSet<u32> = all.into_iter().collect();
    assert_eq!(distinct.len(), frozen.len());
    assert!(
        distinct
            .iter()
            .all(|o| (*o as usize) < frozen.ordinal_bound())
    );
    let few = frozen.names(vec![other[4_000], first[17]]).expect("read");
    assert_eq!(few.len(), 2);
}

#[test]
fn equal_terms_have_equal_ordinals_and_texts_come_back() {
    texts_come_back(LoadMemory::unlimited());
}

#[test]
fn spilled_texts_come_back() {
    for (parse_bytes, slab_bytes) in [(0, 1_000), (50_000, 5_000), (6 << 20, 1 << 20)] {
        let settings = SpillSettings {
            parse_bytes: Some(parse_bytes),
            slab_bytes: Some(slab_bytes),
            ..SpillSettings::default()
        };
        let memory = LoadMemory::new(None, 1, std::env::temp_dir(), settings);
        texts_come_back(memory.expect("the budget is large enough"));
    }
}

#[test]
fn a_term_of_several_generations_is_one() {
    let settings = SpillSettings {
        parse_bytes: Some(0),
        slab_bytes: Some(2_000),
        ..SpillSettings::default()
    };
    let memory = LoadMemory::new(None, 1, std::env::temp_dir(), settings);
    let memory = Arc::new(memory.expect("the budget is large enough"));
    let table = SharedTerms::new("terms", 1 << 30, Arc::clone(&memory));
    let mut slab = table.take_slab();
    let texts: Vec<String> = (0..6_000).map(|i| format!("term {i}")).collect();
    let mut ordinals: Vec<Vec<u32>> = vec![Vec::new(); texts.len()];
    for generation in 0..4 {
        // Every term comes in one generation, every third in all.
        let comes = |i: usize| i % 4 == generation || i.is_multiple_of(3);
        let places: Vec<usize> = (0..texts.len()).filter(|i| comes(*i)).collect();
        let terms: Vec<(u32, &str)> = (places.iter().map(|i| (7, texts[*i].as_str()))).collect();
        let found = intern(&table, &terms, &mut slab, generation % 2 == 0);
        for (place, ordinal) in places.into_iter().zip(found) {
            ordinals[place].push(ordinal);
        }
        // The last stays in part, one shard is never written.
        let last = [SHARDS, SHARDS, SHARDS / 2, SHARDS / 3][generation];
        for shard in (0..last).filter(|shard| *shard != 3) {
            table
                .write_out(shard)
                .expect("the folder can be written to");
        }
    }
    assert!((2_000..6_001).contains(&table.len_min()));
    table.give_back(slab);
    let frozen = table.freeze(Some((7, "term 51"))).expect("written");
    assert_eq!(frozen.sought, Some(ordinals[51][0]));
    assert_eq!(frozen.terms.len(), texts.len());
    let firsts: Vec<u32> = ordinals.iter().map(|of_term| of_term[0]).collect();
    let distinct: BTreeSet<u32> = ordinals.iter().flatten().copied().collect();
    assert!(8_000 < distinct.len(), "most shards have forgotten terms");
    for (of_term, first) in ordinals.iter().zip(&firsts) {
        for ordinal in of_term {
            assert_eq!(frozen.firsts.first(*ordinal), *first);
            assert!((*ordinal as usize) < frozen.terms.ordinal_bound());
        }
    }
    let names = frozen.terms.names(firsts.clone()).expect("read");
    for (text, first) in texts.iter().zip(&firsts) {
        assert_eq!(names[first], (7, text.clone()));
    }
}

#[test]
fn too_many_terms_are_an_error() {
    let memory = Arc::new(LoadMemory::unlimited());
    let table = SharedTerms::new("terms", 2 * SHARDS as u64, memory);
    let mut slab = table.take_slab();
    let error = (0..1_000u32).find_map(|i| {
        let text = i.to_string();
        let hash = table.hash(0, &text);
        table.intern(hash, 0, &text, &mut slab).err()
    });
    let is_limit = |error: Option<LoadError>| matches!(error, Some(LoadError::Limit { what: "terms", limit }) if limit == 2 * SHARDS as u64);
    assert!(is_limit(error));
    let mut batch = TermBatch::default();
    for i in 0..1_000 {
        let text = format!("another {i}");
        batch.push(table.hash(0, &text), 0, &text);
    }
    assert!(is_limit(table.intern_batch(&mut batch, &mut slab).err()));
}
