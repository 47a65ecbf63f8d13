//! Speed of each codec on values it is good for: encode, decode, gather, filter.
//!
//! `cargo bench -p basalt-columns`; throughput is values per second.

use std::hint::black_box;

use basalt_columns::SEGMENT_ROWS;
use basalt_columns::codec::{self, CodecKind, Sequence};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

/// A full segment of values on which the codec is the cheapest.
fn values_for(kind: CodecKind) -> Vec<u64> {
    (0..SEGMENT_ROWS as u64)
        .map(|i| match kind {
            CodecKind::Constant => 1 << 56,
            CodecKind::RunLength => i / 300,
            CodecKind::FrameOfReference => 1 << 56 | (i * 7919 % 10_007),
            CodecKind::Delta => 1 << 56 | (i * 5 + i * 7919 % 5),
            CodecKind::Dictionary => (i * 7919 % 23) << 56,
        })
        .collect()
}

fn codecs(criterion: &mut Criterion) {
    let scattered: Vec<u32> = (0..2048u32)
        .map(|i| i.wrapping_mul(2_654_435_761) % SEGMENT_ROWS as u32)
        .collect();
    for kind in CodecKind::ALL {
        let values = values_for(kind);
        let mut bytes = Vec::new();
        assert_eq!(codec::encode(&values, &mut bytes), kind);
        let (sequence, _) = Sequence::open(&bytes).expect("what was encoded opens");
        let mut group = criterion.benchmark_group(format!("{kind:?}"));
        group.throughput(Throughput::Elements(SEGMENT_ROWS as u64));
        group.bench_function("encode", |bencher| {
            bencher.iter(|| codec::encode(black_box(&values), &mut Vec::new()));
        });
        let mut out = Vec::with_capacity(SEGMENT_ROWS);
        group.bench_function("decode", |bencher| {
            bencher.iter(|| {
                out.clear();
                sequence.decode(0..SEGMENT_ROWS, black_box(&mut out));
            });
        });
        let mut found = Vec::new();
        group.bench_function("find_equal", |bencher| {
            bencher.iter(|| {
                found.clear();
                sequence.find_equal(black_box(values[77]), &mut found);
            });
        });
        let (low, high) = (values[SEGMENT_ROWS / 4], values[SEGMENT_ROWS / 2]);
        group.bench_function("find_in_range", |bencher| {
            bencher.iter(|| {
                found.clear();
                let ends = black_box((low.min(high), low.max(high)));
                sequence.find_in_range(0..SEGMENT_ROWS, ends.0, ends.1, &mut found);
            });
        });
        group.throughput(Throughput::Elements(scattered.len() as u64));
        group.bench_function("gather", |bencher| {
            bencher.iter(|| {
                out.clear();
                sequence.gather(black_box(&scattered), &mut out);
            });
        });
        group.finish();
    }
}

criterion_group!(benches, codecs);
criterion_main!(benches);
