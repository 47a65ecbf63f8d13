//! Lists of subjects of one predicate and object: blocks of the quad table beside Roaring bitmaps.
//!
//! `cargo xtask bench posg [FILES]` loads each file (default: the real data sets, see `BASALT_REAL_DATA_DIR`) with
//! every quad irregular and prints a table in Markdown: for the lists of some length, bytes a quad, time to
//! read a list, and time to intersect two. What was decided with it: `docs/decisions/0009-posg-lists.md`.
//!
//! Blocks are encoded as the quad table does it, so sizes are those on disk; a list is charged its share of the blocks
//! that it lies in. A bitmap is charged 16 bytes for its entry in a directory (object and offset).

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::hint::black_box;
use std::io::Write as _;
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};
use std::time::Instant;

use basalt_columns::bitmap::{self, RoaringBitmap};
use basalt_columns::codec::{self, Sequence};
use basalt_loader::{Input, Layout, LoadOptions, NoProgress, load};
use basalt_rdf::TermId;
use basalt_store::{Snapshot, Storage};

/// Lengths of lists that are reported together: from, and below.
const CLASSES: [(usize, usize); 4] = [(64, 256), (256, 1024), (1024, 16_384), (16_384, usize::MAX)];
/// Bytes of a bitmap's entry in a directory.
const ENTRY_BYTES: usize = 16;
/// Lists of a class that are timed.
const TIMED_LISTS_MAX: usize = 400;
/// Times that a measurement is repeated; the least counts.
const RUNS: usize = 7;

/// Some quads of a block that belong to a list.
struct Piece {
    block: usize,
    range: Range<usize>,
}

/// The subjects of one predicate, object and graph, in both forms.
#[derive(Default)]
struct List {
    pieces: Vec<Piece>,
    quads: usize,
    /// Its share of the bytes of its blocks.
    block_bytes: f64,
    /// The bitmap of its subjects, as written.
    bitmap: Vec<u8>,
}

/// All lists of a store.
#[derive(Default)]
struct Lists {
    /// The encoded subjects of each block.
    blocks: Vec<Vec<u8>>,
    lists: Vec<List>,
    quads: usize,
}

fn lists_of(snapshot: &Snapshot) -> Lists {
    let mut all = Lists::default();
    for (predicate, _) in snapshot.quad_table().predicates() {
        let mut of_object: BTreeMap<(u64, u64), (List, RoaringBitmap)> = BTreeMap::new();
        let mut visit = |objects: &[u64], subjects: &[u64], graphs: &[u64]| {
            add_block(&mut all, &mut of_object, [objects, subjects, graphs]);
            ControlFlow::Continue(())
        };
        let scanned = snapshot
            .quad_table()
            .scan_by_object(predicate, &mut |s, o, g| visit(o, s, g));
        scanned.expect("a store just made is whole");
        for (mut list, mut subjects) in of_object.into_values() {
            if list.quads >= CLASSES[0].0 {
                subjects.optimize();
                bitmap::write(&subjects, &mut list.bitmap);
                all.lists.push(list);
            }
        }
    }
    all
}

fn add_block(
    all: &mut Lists,
    of_object: &mut BTreeMap<(u64, u64), (List, RoaringBitmap)>,
    [objects, subjects, graphs]: [&[u64]; 3],
) {
    let mut encoded = Vec::new();
    codec::encode(subjects, &mut encoded);
    let mut rest = Vec::new();
    codec::encode(objects, &mut rest);
    codec::encode(graphs, &mut rest);
    let bytes_each = (encoded.len() + rest.len()) as f64 / subjects.len() as f64;
    let mut start = 0;
    let keys = || objects.iter().zip(graphs);
    let same = |i: usize, j: usize| objects[i] == objects[j] && graphs[i] == graphs[j];
    for (end, (&object, &graph)) in (1..).zip(keys()) {
        if end < objects.len() && same(end - 1, end) {
            continue;
        }
        let (list, bitmap) = of_object.entry((object, graph)).or_default();
        list.pieces.push(Piece {
            block: all.blocks.len(),
            range: start..end,
        });
        list.quads += end - start;
        list.block_bytes += bytes_each * (end - start) as f64;
        bitmap.extend(subjects[start..end].iter().map(|&id| ordinal(id)));
        start = end;
    }
    all.quads += subjects.len();
    all.blocks.push(encoded);
}

fn ordinal(id: u64) -> u32 {
    let ordinal = TermId(id)
        .resource_ordinal()
        .expect("a subject is a resource");
    u32::try_from(ordinal).expect("few resources")
}

/// Reads a list from its blocks.
fn read_blocks(all: &Lists, list: &List, out: &mut Vec<u64>) {
    out.clear();
    for piece in &list.pieces {
        let opened = Sequence::open(&all.blocks[piece.block]);
        let (sequence, _) = opened.expect("a block just made is whole");
        sequence.decode(piece.range.clone(), out);
    }
}

fn open_bitmap(list: &List) -> RoaringBitmap {
    bitmap::read(&list.bitmap)
        .expect("a bitmap just made is whole")
        .0
}

/// Members of both, which ascend.
fn common(a: &[u64], b: &[u64]) -> usize {
    let (mut i, mut j, mut found) = (0, 0, 0);
    while i < a.len() && j < b.len() {
        let (x, y) = (a[i], b[j]);
        found += usize::from(x == y);
        i += usize::from(x <= y);
        j += usize::from(y <= x);
    }
    found
}

/// Nanoseconds of the fastest run, by quad.
fn time(quads: usize, mut run: impl FnMut() -> usize) -> (f64, usize) {
    let mut best = f64::MAX;
    let mut result = 0;
    for _ in 0..RUNS {
        let start = Instant::now();
        result = black_box(run());
        best = best.min(start.elapsed().as_secs_f64());
    }
    (best * 1e9 / quads.max(1) as f64, result)
}

/// Figures of one class of lists.
fn figures(all: &Lists, lists: &[&List]) -> String {
    let quads: usize = lists.iter().map(|list| list.quads).sum();
    let each = |bytes: f64| bytes / quads as f64;
    let block_bytes: f64 = lists.iter().map(|list| list.block_bytes).sum();
    let bitmap_bytes: usize = lists
        .iter()
        .map(|list| list.bitmap.len() + ENTRY_BYTES)
        .sum();
    let step = lists.len().div_ceil(TIMED_LISTS_MAX);
    let timed: Vec<&List> = lists.iter().step_by(step).copied().collect();
    let timed_quads = timed.iter().map(|list| list.quads).sum();
    let (mut ids, mut others) = (Vec::new(), Vec::new());
    let read = time(timed_quads, || {
        let mut sum = 0;
        for list in &timed {
            read_blocks(all, list, &mut ids);
            sum += ids.iter().map(|&id| ordinal(id) as usize).sum::<usize>();
        }
        sum
    });
    let read_bitmap = time(timed_quads, || {
        let bitmaps = timed.iter().map(|list| open_bitmap(list));
        bitmaps
            .map(|bitmap| bitmap.iter().map(|o| o as usize).sum::<usize>())
            .sum()
    });
    assert_eq!(read.1, read_bitmap.1, "both forms hold the same subjects");
    let pairs = || timed.iter().zip(timed.iter().skip(1));
    let paired_quads = pairs().map(|(a, b)| a.quads + b.quads).sum();
    let meet = time(paired_quads, || {
        let mut found = 0;
        for (a, b) in pairs() {
            read_blocks(all, a, &mut ids);
            read_blocks(all, b, &mut others);
            found += common(&ids, &others);
        }
        found
    });
    let meet_bitmap = time(paired_quads, || {
        pairs()
            .map(|(a, b)| open_bitmap(a).intersection_len(&open_bitmap(b)) as usize)
            .sum()
    });
    assert_eq!(meet.1, meet_bitmap.1, "both forms have the same in common");
    format!(
        "{} | {quads} | {:.1} % | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} |",
        lists.len(),
        quads as f64 * 100.0 / all.quads as f64,
        each(block_bytes),
        each(bitmap_bytes as f64),
        read.0,
        read_bitmap.0,
        meet.0,
        meet_bitmap.0,
    )
}

fn report(file: &Path, out: &mut String) {
    let options = LoadOptions {
        inputs: vec![Input::path(file)],
        layout: Layout::AllIrregular,
        ..LoadOptions::default()
    };
    let (snapshot, _) =
        load(options, Storage::Memory, &NoProgress).expect("the file can be loaded");
    let all = lists_of(&snapshot);
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    for (from, below) in CLASSES {
        let lists: Vec<&List> = all
            .lists
            .iter()
            .filter(|l| (from..below).contains(&l.quads))
            .collect();
        if lists.is_empty() {
            continue;
        }
        let class = match below {
            usize::MAX => format!("from {from}"),
            _ => format!("{from} to {}", below - 1),
        };
        writeln!(out, "| {name} | {class} | {}", figures(&all, &lists))
            .expect("a string takes all");
    }
}

/// The real data sets that are there.
fn real_files() -> Vec<PathBuf> {
    let folder = match std::env::var_os("BASALT_REAL_DATA_DIR") {
        Some(folder) => PathBuf::from(folder),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/real"),
    };
    let names = ["codex-m.nt.gz", "vocabularies.nq.gz", "music.ttl.gz"];
    names
        .iter()
        .map(|name| folder.join(name))
        .filter(|file| file.is_file())
        .collect()
}

fn main() {
    let mut files: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    files.retain(|file| !file.to_string_lossy().starts_with("--"));
    if files.is_empty() {
        files = real_files();
    }
    if files.is_empty() {
        eprintln!("skipped: no data (set BASALT_REAL_DATA_DIR, or name files)");
    }
    let mut out = String::from(
        "| data, all irregular | length of list | lists | quads | of all | bytes a quad, blocks | bitmaps \
        | ns a quad to read, blocks | bitmaps | ns a quad to intersect, blocks | bitmaps |\n\
        | --- | --- | --: | --: | --: | --: | --: | --: | --: | --: | --: |\n",
    );
    for file in files {
        report(&file, &mut out);
    }
    // Nobody is left to tell if standard output is gone.
    let _ = std::io::stdout().write_all(out.as_bytes());
}
