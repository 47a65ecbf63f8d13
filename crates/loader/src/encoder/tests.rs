//! Encoding terms and quads.

use super::*;
use crate::options::SpillSettings;
use crate::quad_blocks::QuadBlocks;
use std::sync::atomic::Ordering;

/// What a quad is made of: subject, predicate, graph, object.
type Written = (String, String, Option<String>, String, bool);

fn written(i: usize) -> Written {
    let subject = format!("http://d/s{}", i / 3 * 7 % 3_001);
    let predicate = format!("http://v/p{}", i * i % 2_003);
    let graph = match i / 5 % 4 {
        0 => None,
        _ => Some(format!("http://g/{}", i / 11 % 700)),
    };
    // Some subjects, predicates and graphs are objects too.
    let object = match i % 4 {
        0 => format!("http://d/s{}", i % 4_000),
        1 => format!("http://g/{}", i % 900),
        2 => format!("text {}", i % 3_000),
        _ => "x".repeat(i * 13 % 120),
    };
    (subject, predicate, graph, object, i % 4 > 1)
}

fn view(quad: &Written) -> QuadView<'_> {
    let (subject, predicate, graph, object, is_literal) = quad;
    QuadView {
        subject: TermView::Iri(subject),
        predicate: TermView::Iri(predicate),
        object: match is_literal {
            false => TermView::Iri(object),
            true => TermView::Literal(LiteralView {
                lexical: object,
                kind: LiteralKind::Simple,
            }),
        },
        graph: graph.as_deref().map(TermView::Iri),
    }
}

fn terms() -> Terms {
    let memory = Arc::new(LoadMemory::unlimited());
    Terms::new(Arc::new(Qualifiers::new()), &memory)
}

/// What encoding term by term gives.
fn expected(encoder: &mut Encoder<'_>, quad: QuadView<'_>) -> RawQuad {
    let mut id = |term| encoder.term(term).expect("fits");
    let graph = quad.graph.map(|graph| id(graph).payload() as u32 + 1);
    RawQuad {
        subject: id(quad.subject).payload() as u32,
        predicate: id(quad.predicate).payload() as u32,
        object: id(quad.object),
        graph: graph.unwrap_or(encoder.default_graph),
    }
}

#[test]
fn encoding_in_batches_is_encoding_term_by_term() {
    for graph in [None, Some("http://g/17")] {
        let terms = terms();
        let mut encoder = Encoder::new(&terms, 1, graph).expect("fits");
        let mut one_by_one = Encoder::new(&terms, 1, graph).expect("fits");
        let (mut at, quad_count) = (0, 60_000);
        // Blocks of no quad, of few, and of several batches.
        for block in [0, 1, 5, 20_000, 3, 0, 15_000].into_iter().cycle() {
            let quads: Vec<Written> = (at..at + block).map(written).collect();
            encoder.begin(1);
            for quad in &quads {
                encoder.encode(view(quad)).expect("fits");
            }
            assert_eq!(encoder.quad_count(), quads.len());
            let found = encoder.finish().expect("fits");
            for (quad, found) in quads.iter().zip(found) {
                assert_eq!(*found, expected(&mut one_by_one, view(quad)));
            }
            at += block;
            if at >= quad_count {
                break;
            }
        }
    }
}

#[test]
fn what_a_block_left_that_was_not_finished_is_forgotten() {
    let terms = terms();
    let mut encoder = Encoder::new(&terms, 1, None).expect("fits");
    for i in 0..10 {
        encoder.encode(view(&written(i))).expect("fits");
    }
    encoder.begin(1);
    // The last subject and graph of the block that was given up, and another.
    let again = [written(9), written(8), written(40)];
    for quad in &again {
        encoder.encode(view(quad)).expect("fits");
    }
    let found = encoder.finish().expect("fits").to_vec();
    let mut one_by_one = Encoder::new(&terms, 1, None).expect("fits");
    let expected = again.iter().map(|q| expected(&mut one_by_one, view(q)));
    assert_eq!(found, expected.collect::<Vec<_>>());
    assert_eq!(terms.resources.find(IRI, &written(0).0), None);
}

#[test]
fn what_is_counted_stays_within_the_budget() {
    const MIB: u64 = 1 << 20;
    let settings = SpillSettings {
        parse_bytes: Some(12 * MIB),
        index_bytes: Some(8 * MIB),
        slab_bytes: Some(MIB as usize),
        ..SpillSettings::default()
    };
    let memory = LoadMemory::new(None, 1, std::env::temp_dir(), settings);
    let memory = Arc::new(memory.expect("the budget is large enough"));
    let terms = Terms::new(Arc::new(Qualifiers::new()), &memory);
    let quads = QuadBlocks::new(Arc::clone(&memory));
    let mut encoder = Encoder::new(&terms, 1, None).expect("fits");
    let (blocks, block_quads) = (50, 10_000);
    let number_of_terms = blocks * block_quads;
    for block in 0..blocks {
        encoder.begin(1);
        for i in block * block_quads..(block + 1) * block_quads {
            let (subject, predicate) = (format!("http://d/{}", i / 9), "http://v/p");
            let text = format!("text no. {}", i * 7 % number_of_terms);
            let quad = (subject, predicate.to_owned(), None, text, true);
            encoder.encode(view(&quad)).expect("written");
        }
        let found = encoder.finish().expect("written");
        quads.put(1, block, found).expect("written");
    }
    drop(encoder);
    let peak = memory.peak.load(Ordering::Relaxed);
    assert!((10 * MIB..14 * MIB).contains(&peak), "{peak}");
    let least = terms.literals.len_min();
    assert!(
        least < number_of_terms / 5 * 4,
        "{least}: no shard was written"
    );
    let Terms { literals, .. } = terms;
    let literals = literals.freeze(None).expect("read").terms;
    assert_eq!(literals.len(), number_of_terms);
}
