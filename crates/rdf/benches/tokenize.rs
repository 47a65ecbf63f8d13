//! Speed of the N-Triples path on lines like those of the Berlin benchmark and on real files, alone and with
//! a hash of every term, beside rio_turtle and oxttl.
//!
//! Inputs: synthetic offers; the first 64 MiB of the N-Triples file that `BASALT_BENCH_FILE` names; the
//! file `codex-m.nt.gz` in `BASALT_REAL_DATA_DIR`. Absent ones are left out, and it is said so. Texts are
//! handed over in blocks, as a load does it.
//!
//! With `BASALT_BENCH_READER` naming one of the readers, that reader alone reads one input a fixed number of
//! times, in [`counted_rounds`], for tools that count instructions: the file that was named, else the synthetic lines.
//!
//! Run as a test (`cargo test`) the input is tiny; all readers must find the same statements, always.

mod inputs;

use std::convert::Infallible;
use std::hint::black_box;
use std::sync::Arc;

use basalt_rdf::reader::LineFormat;
use basalt_rdf::reader::blocks::BLOCK_BYTES;
use basalt_rdf::reader::lines::{LineScratch, parse_block, strict};
use basalt_rdf::{
    LiteralKind, LiteralView, QuadView, QualifierCache, Qualifiers, TermView, inline,
};
use criterion::{Criterion, Throughput};
use oxttl::NTriplesParser as OxttlParser;
use rio_api::parser::TriplesParser;
use rio_turtle::{NTriplesParser, TurtleError};
use xxhash_rust::xxh3::xxh3_128;

use inputs::Input;

/// How often [`counted_rounds`] reads its input.
const COUNTED_ROUNDS: u64 = 5;

/// Reads a text and returns the number of statements.
type Reader = fn(&str) -> u64;

/// The readers that are compared.
const READERS: [(&str, Reader); 6] = [
    ("basalt", read),
    ("basalt-hash", read_and_hash),
    ("rio_turtle", read_by_rio),
    ("oxttl", read_by_oxttl),
    ("oxttl-lenient", read_by_lenient_oxttl),
    ("oxttl-hash", read_and_hash_by_oxttl),
];

/// Reads the text, a block at a time, and gives every quad to `take`.
fn read_blocks(text: &str, take: &mut impl FnMut(QuadView<'_>)) -> u64 {
    let mut sink = |quad: QuadView<'_>| {
        take(quad);
        Ok::<(), Infallible>(())
    };
    let mut scratch = LineScratch::new();
    let format = LineFormat::NTriples;
    let (mut rest, mut count) = (text.as_bytes(), 0);
    // Termination: every block holds a byte at least.
    while !rest.is_empty() {
        let (block, after) = rest.split_at(inputs::whole_lines(rest, BLOCK_BYTES));
        count += parse_block(block, format, 1, &mut scratch, &mut sink, &mut strict)
            .expect("the lines are valid");
        rest = after;
    }
    count
}

fn read(text: &str) -> u64 {
    read_blocks(text, &mut |quad| {
        black_box(&quad);
    })
}

fn read_and_hash(text: &str) -> u64 {
    let mut sum = 0;
    let count = read_blocks(text, &mut |quad| {
        sum ^= hash(quad.subject) ^ hash(quad.predicate) ^ hash(quad.object);
    });
    black_box(sum);
    count
}

/// A hash of all that a term is made of.
fn hash(term: TermView<'_>) -> u128 {
    match term {
        TermView::Iri(text) | TermView::Blank(text) => xxh3_128(text.as_bytes()),
        TermView::Literal(literal) => hash_literal(literal),
    }
}

fn hash_literal(literal: LiteralView<'_>) -> u128 {
    let kind = match literal.kind {
        LiteralKind::Simple => 0,
        LiteralKind::Language(text) | LiteralKind::Typed(text) => xxh3_128(text.as_bytes()),
    };
    xxh3_128(literal.lexical.as_bytes()) ^ kind
}

fn read_by_rio(text: &str) -> u64 {
    let mut count = 0;
    NTriplesParser::new(text.as_bytes())
        .parse_all(&mut |triple| -> Result<(), TurtleError> {
            black_box(&triple);
            count += 1;
            Ok(())
        })
        .expect("the lines are valid");
    count
}

fn read_by_oxttl(text: &str) -> u64 {
    let mut count = 0;
    for triple in OxttlParser::new().for_slice(text) {
        black_box(&triple.expect("the lines are valid"));
        count += 1;
    }
    count
}

fn read_by_lenient_oxttl(text: &str) -> u64 {
    let mut count = 0;
    for triple in OxttlParser::new().lenient().for_slice(text) {
        black_box(&triple.expect("the lines are valid"));
        count += 1;
    }
    count
}

fn read_and_hash_by_oxttl(text: &str) -> u64 {
    let (mut count, mut sum) = (0, 0);
    for triple in OxttlParser::new().for_slice(text) {
        let triple = triple.expect("the lines are valid");
        let quad = triple.as_ref().in_graph(oxrdf::GraphNameRef::DefaultGraph);
        let quad = QuadView::from(quad);
        sum ^= hash(quad.subject) ^ hash(quad.predicate) ^ hash(quad.object);
        count += 1;
    }
    black_box(sum);
    count
}

/// Encodes the literals as a loader does; returns how many are inline.
fn encode_literals(literals: &[(String, String)], cache: &mut QualifierCache) -> usize {
    let literals = literals
        .iter()
        .map(|(lexical, datatype)| LiteralView::typed(lexical, datatype));
    literals
        .filter_map(|literal| inline::encode(literal, cache))
        .count()
}

/// The whole work of a run that counts instructions; its name is what the tool is told to look for.
#[inline(never)]
fn counted_rounds(reader: Reader, text: &str) -> u64 {
    (0..COUNTED_ROUNDS).map(|_| reader(black_box(text))).sum()
}

/// Reads the input by the reader of this name, and says how many bytes these were and how long it took.
fn count_instructions(name: &str) {
    let input = inputs::named_or_synthetic();
    let text = input.text.as_str();
    let found = READERS.iter().find(|(reader, _)| *reader == name);
    let (_, reader) = found.expect("one of the readers of this benchmark");
    let before = processor_seconds();
    let statement_count = counted_rounds(*reader, text);
    let byte_count = text.len() as u64 * COUNTED_ROUNDS;
    eprintln!(
        "{name}, {}: {byte_count} bytes, {statement_count} statements",
        input.name
    );
    if let (Some(before), Some(after)) = (before, processor_seconds()) {
        let megabytes = byte_count as f64 / 1e6 / (after - before);
        eprintln!(
            "{:.3} s of the processor, {megabytes:.0} MB/s",
            after - before
        );
    }
}

/// The processor's time that this thread has had, where the system tells: waiting for a turn on a busy machine
/// is not in it.
fn processor_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds: u64 = text.split(' ').next()?.parse().ok()?;
    Some(nanoseconds as f64 / 1e9)
}

/// Times all readers on one input, after checking that they find the same statements.
fn bench_readers(criterion: &mut Criterion, input: &Input) {
    let text = input.text.as_str();
    let statement_count = read(text);
    let mut group = criterion.benchmark_group(format!("tokenize/{}", input.name));
    group.sample_size(10);
    group.throughput(Throughput::Bytes(text.len() as u64));
    for (name, reader) in READERS {
        assert_eq!(reader(text), statement_count, "{name} on {}", input.name);
        group.bench_function(name, |b| b.iter(|| reader(text)));
    }
    group.finish();
}

/// Times the encoding of literals.
fn bench_inline_encode(criterion: &mut Criterion, text: &str) {
    let mut literals = Vec::new();
    read_blocks(text, &mut |quad| {
        if let TermView::Literal(literal) = quad.object {
            literals.push((literal.lexical.to_owned(), literal.datatype().to_owned()));
        }
    });
    let mut group = criterion.benchmark_group("tokenize");
    group.sample_size(10);
    group.throughput(Throughput::Elements(literals.len() as u64));
    group.bench_function("inline encode", |b| {
        let mut cache = QualifierCache::new(Arc::new(Qualifiers::new()));
        b.iter(|| encode_literals(&literals, &mut cache));
    });
    group.finish();
}

fn main() {
    if let Ok(name) = std::env::var("BASALT_BENCH_READER") {
        return count_instructions(&name);
    }
    let is_bench = std::env::args().any(|arg| arg == "--bench");
    let mut criterion = Criterion::default().configure_from_args();
    let inputs = if is_bench {
        inputs::all()
    } else {
        vec![inputs::synthetic(10)]
    };
    for input in &inputs {
        bench_readers(&mut criterion, input);
    }
    bench_inline_encode(&mut criterion, &inputs[0].text);
    criterion.final_summary();
}
