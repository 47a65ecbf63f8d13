//! Speed of the N-Triples path on lines like those of the Berlin benchmark, beside rio_turtle.
//!
//! Run as a test (`cargo test`) the input is tiny and the two readers must agree.

use std::convert::Infallible;
use std::hint::black_box;

use basalt_rdf::reader::LineFormat;
use basalt_rdf::reader::lines::{LineScratch, parse_block, strict};
use basalt_rdf::{LiteralView, QuadView, QualifierCache, Qualifiers, TermView, inline};
use criterion::{Criterion, Throughput};
use rio_api::parser::TriplesParser;
use rio_turtle::{NTriplesParser, TurtleError};
use std::sync::Arc;

const XSD: &str = "http://www.w3.org/2001/XMLSchema#";
const VOCABULARY: &str = "http://www4.wiwiss.fu-berlin.de/bizer/bsbm/v01/vocabulary/";
const INSTANCES: &str = "http://www4.wiwiss.fu-berlin.de/bizer/bsbm/v01/instances/dataFromVendor1/";

/// Offers of eight lines each.
fn offers(count: usize) -> String {
    let mut text = String::new();
    for i in 0..count {
        let subject = format!("<{INSTANCES}Offer{i}>");
        let day = i % 28 + 1;
        for (predicate, object) in [
            ("product", format!("<{INSTANCES}Product{}>", i % 997)),
            ("vendor", format!("<{INSTANCES}Vendor{}>", i % 13)),
            (
                "price",
                format!("\"{}.{:02}\"^^<{VOCABULARY}USD>", i % 9000, i % 100),
            ),
            (
                "validFrom",
                format!("\"2008-06-{day:02}T00:00:00\"^^<{XSD}dateTime>"),
            ),
            ("deliveryDays", format!("\"{}\"^^<{XSD}integer>", i % 21)),
            (
                "offerWebpage",
                format!("<http://vendor1.example.org/offers/Offer{i}/>"),
            ),
            ("date", format!("\"2008-05-{day:02}\"^^<{XSD}date>")),
            (
                "comment",
                "\"worrying outbursts retooled diapers unhappily\"@en".to_owned(),
            ),
        ] {
            text.push_str(&format!("{subject} <{VOCABULARY}{predicate}> {object} .\n"));
        }
    }
    text
}

/// Reads the block and gives every quad to `take`.
fn read_block(text: &str, take: &mut impl FnMut(QuadView<'_>)) -> u64 {
    let mut sink = |quad: QuadView<'_>| {
        take(quad);
        Ok::<(), Infallible>(())
    };
    let mut scratch = LineScratch::new();
    let format = LineFormat::NTriples;
    parse_block(
        text.as_bytes(),
        format,
        1,
        &mut scratch,
        &mut sink,
        &mut strict,
    )
    .expect("the lines are valid")
}

fn read_by_rio(text: &str) -> u64 {
    let mut count = 0;
    NTriplesParser::new(text.as_bytes())
        .parse_all(&mut |triple| -> Result<(), TurtleError> {
            black_box(triple);
            count += 1;
            Ok(())
        })
        .expect("the lines are valid");
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

fn main() {
    let is_bench = std::env::args().any(|arg| arg == "--bench");
    let text = offers(if is_bench { 20_000 } else { 10 });
    let mut literals = Vec::new();
    let count = read_block(&text, &mut |quad| {
        if let TermView::Literal(literal) = quad.object {
            literals.push((literal.lexical.to_owned(), literal.datatype().to_owned()));
        }
    });
    assert_eq!(
        count,
        read_by_rio(&text),
        "both readers find the same statements"
    );

    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("tokenize");
    group.sample_size(10);
    group.throughput(Throughput::Bytes(text.len() as u64));
    group.bench_function("basalt", |b| {
        b.iter(|| {
            read_block(&text, &mut |q| {
                black_box(q);
            })
        })
    });
    group.bench_function("rio_turtle", |b| b.iter(|| read_by_rio(&text)));
    group.throughput(Throughput::Elements(literals.len() as u64));
    group.bench_function("inline encode", |b| {
        let mut cache = QualifierCache::new(Arc::new(Qualifiers::new()));
        b.iter(|| encode_literals(&literals, &mut cache));
    });
    group.finish();
    criterion.final_summary();
}
