//! Speed of a load, whole and by phase, in memory.
//!
//! `cargo xtask bench load`; throughput is quads per second. A phase is measured inside whole loads, by the
//! times of their reports, so each figure is what that phase costs in a load and the phases add up. One
//! thread, except `whole load, all cores`: the phases of several threads say little on a busy machine.
//!
//! Two data sets of about the same number of quads: `regular` is shaped like the e-commerce benchmark
//! (types, links, texts, numbers, dates; grouped by subject), `irregular` has no two subjects alike, named
//! graphs, blank nodes, repeated quads, and its subjects in no order.

use std::fmt::Write;
use std::io::Cursor;
use std::time::Duration;

use basalt_loader::{Input, LoadOptions, LoadReport, NoProgress, load};
use basalt_rdf::GraphFormat;
use basalt_store::Storage;
use criterion::{Criterion, SamplingMode, Throughput, criterion_group, criterion_main};

/// Quads of a data set: large enough that each phase takes milliseconds.
const QUADS: usize = 200_000;
/// Loads from which a figure is made.
const SAMPLES: usize = 10;
/// The prefix of all IRIs.
const BASE: &str = "http://example.org/shop";

/// Numbers that look random and are always the same (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) % bound as u64) as usize
    }

    /// So many words of a small vocabulary.
    fn words(&mut self, count: usize) -> String {
        let words: Vec<String> = (0..count)
            .map(|_| format!("word{}", self.below(5000)))
            .collect();
        words.join(" ")
    }
}

/// Writes statements about one subject.
struct Subject<'o> {
    out: &'o mut String,
    iri: String,
}

impl Subject<'_> {
    fn says(&mut self, predicate: &str, object: &str) {
        writeln!(self.out, "<{}> <{BASE}/{predicate}> {object} .", self.iri)
            .expect("a string takes all");
    }

    fn link(&mut self, predicate: &str, kind: &str, number: usize) {
        self.says(predicate, &format!("<{BASE}/{kind}/{number}>"));
    }

    fn text(&mut self, predicate: &str, text: &str) {
        self.says(predicate, &format!("\"{text}\""));
    }

    fn typed(&mut self, predicate: &str, value: &str, datatype: &str) {
        self.says(
            predicate,
            &format!("\"{value}\"^^<http://www.w3.org/2001/XMLSchema#{datatype}>"),
        );
    }

    fn date(&mut self, predicate: &str, random: &mut Random) {
        let (month, day) = (1 + random.below(12), 1 + random.below(28));
        self.typed(predicate, &format!("2008-{month:02}-{day:02}"), "date");
    }
}

/// Products, each with offers and reviews, as a shop has them.
fn regular() -> String {
    let mut random = Random(1);
    let mut out = String::new();
    // A product has 15 statements, its five offers 8 each, its three reviews 10 or so each.
    let products = QUADS / 85;
    for product in 0..products {
        describe_product(&mut out, &mut random, product);
        for offer in 0..5 {
            let mut it = subject(&mut out, "offer", product * 5 + offer);
            it.link("type", "Offer", 0);
            it.link("product", "product", random.below(products));
            it.link("vendor", "vendor", random.below(products / 20 + 1));
            it.typed(
                "price",
                &format!("{}.{:02}", random.below(9000), random.below(100)),
                "double",
            );
            it.typed(
                "deliveryDays",
                &(1 + random.below(14)).to_string(),
                "integer",
            );
            it.date("validFrom", &mut random);
            it.date("validTo", &mut random);
            it.says("page", &format!("<{BASE}/pages/{product}/{offer}>"));
        }
        for review in 0..3 {
            let mut it = subject(&mut out, "review", product * 3 + review);
            it.link("type", "Review", 0);
            it.link("reviewFor", "product", random.below(products));
            it.link("reviewer", "person", random.below(products / 10 + 1));
            it.text("title", &random.words(6));
            it.says("text", &format!("\"{}\"@en", random.words(60)));
            it.date("reviewDate", &mut random);
            for rating in 1..5 {
                if random.below(10) < 7 {
                    let value = (1 + random.below(10)).to_string();
                    it.typed(&format!("rating{rating}"), &value, "integer");
                }
            }
        }
    }
    out
}

fn describe_product(out: &mut String, random: &mut Random, product: usize) {
    let mut it = subject(out, "product", product);
    it.link("type", "Product", 0);
    it.text("label", &random.words(3));
    it.text("comment", &random.words(40));
    it.link("producer", "producer", product / 50);
    for _ in 0..6 {
        it.link("feature", "feature", random.below(500));
    }
    for number in 1..4 {
        it.typed(
            &format!("number{number}"),
            &random.below(2000).to_string(),
            "integer",
        );
        it.text(&format!("text{number}"), &random.words(8));
    }
}

fn subject<'o>(out: &'o mut String, kind: &str, number: usize) -> Subject<'o> {
    Subject {
        out,
        iri: format!("{BASE}/{kind}/{number}"),
    }
}

/// Statements of random subjects with random predicates, some repeated, in some graphs.
fn irregular() -> String {
    let mut random = Random(2);
    let mut out = String::new();
    for _ in 0..QUADS {
        let subject = match random.below(5) {
            0 => format!("_:b{}", random.below(QUADS / 20)),
            _ => format!("<{BASE}/thing/{}>", random.below(QUADS / 8)),
        };
        let object = match random.below(4) {
            0 => format!("\"{}\"", random.words(4)),
            1 => format!("\"{}\"@de", random.below(1000)),
            2 => format!("_:b{}", random.below(QUADS / 20)),
            _ => format!("<{BASE}/thing/{}>", random.below(QUADS / 8)),
        };
        let predicate = random.below(2000);
        let graph = random.below(10);
        let line = format!("{subject} <{BASE}/p{predicate}> {object} <{BASE}/g{graph}> .\n");
        let copies = if random.below(50) == 0 { 2 } else { 1 };
        out.push_str(&line.repeat(copies));
    }
    out
}

/// Loads the text into memory.
fn load_text(text: &str, threads: usize) -> LoadReport {
    let reader = Cursor::new(text.as_bytes().to_vec());
    let options = LoadOptions {
        inputs: vec![Input::reader("text", reader, GraphFormat::NQuads)],
        threads,
        ..LoadOptions::default()
    };
    let loaded = load(options, Storage::Memory, &NoProgress);
    loaded.expect("generated data can be loaded").1
}

fn loads(criterion: &mut Criterion) {
    for (name, text) in [("regular", regular()), ("irregular", irregular())] {
        // To warm up, and to learn how long each phase takes.
        load_text(&text, 1);
        let report = load_text(&text, 1);
        let mut group = criterion.benchmark_group(format!("load/{name}"));
        group.sample_size(SAMPLES);
        // One whole load for each sample, however short the phase.
        group.sampling_mode(SamplingMode::Flat);
        group.warm_up_time(Duration::from_nanos(1));
        group.throughput(Throughput::Elements(report.quads_read));
        for (phase, time) in &report.phases {
            group.measurement_time((*time).max(Duration::from_nanos(1)) * SAMPLES as u32);
            group.bench_function(phase.name(), |bencher| {
                bencher.iter_custom(|loads| {
                    let times = (0..loads).flat_map(|_| load_text(&text, 1).phases);
                    let of_phase = times.filter(|(measured, _)| measured == phase);
                    of_phase.map(|(_, time)| time).sum()
                });
            });
        }
        group.measurement_time(report.elapsed() * SAMPLES as u32);
        for (title, threads) in [("whole load", 1), ("whole load, all cores", 0)] {
            group.bench_function(title, |bencher| {
                bencher.iter_custom(|loads| {
                    (0..loads)
                        .map(|_| load_text(&text, threads).elapsed())
                        .sum()
                });
            });
        }
        group.finish();
    }
}

criterion_group!(benches, loads);
criterion_main!(benches);
