//! The ways out: threads, formats, files, compression, updates, the data directory.

use super::*;
use crate::{
    Compression, Format, Output, ParameterPool, UpdateBlocks, generate, generate_update_to,
    numbered_path,
};
use rio_api::parser::TriplesParser;
use std::path::{Path, PathBuf};

fn bytes_of(options: &GenerateOptions) -> Vec<u8> {
    let mut out = Vec::new();
    generate_to(&mut out, options).expect("generating into memory works");
    out
}

/// Reads a file of any compression.
fn plain_text(path: &Path) -> String {
    let (_, compression) = Format::from_path(path).expect("a known suffix");
    let file = std::fs::File::open(path).expect("the file exists");
    let mut reader = crate::compress::decompress(compression, file).expect("a readable file");
    let mut text = String::new();
    std::io::Read::read_to_string(&mut reader, &mut text).expect("valid text");
    text
}

fn sorted_lines(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().filter(|l| l.starts_with('<')).collect();
    lines.sort_unstable();
    lines
}

#[test]
fn output_does_not_depend_on_the_number_of_threads() {
    for (format, compression) in [
        (Format::NTriples, Compression::None),
        (Format::NQuads, Compression::Gzip),
        (Format::Turtle, Compression::Zstd),
    ] {
        let [one, two, three] = [1, 2, 3].map(|threads| {
            bytes_of(&GenerateOptions {
                threads,
                format,
                compression,
                ..options(500)
            })
        });
        assert!(!one.is_empty());
        assert!(one == two && one == three, "{format:?}");
    }
}

#[test]
fn turtle_says_the_same_as_n_triples() {
    let turtle = text_of(&GenerateOptions {
        format: Format::Turtle,
        ..options(100)
    });
    let mut lines = Vec::new();
    rio_turtle::TurtleParser::new(turtle.as_bytes(), None)
        .parse_all(&mut |triple| -> Result<(), rio_turtle::TurtleError> {
            lines.push(format!("{triple} ."));
            Ok(())
        })
        .expect("the output is valid Turtle");
    let plain = text_of(&options(100));
    let mut expected = Vec::new();
    rio_turtle::NTriplesParser::new(plain.as_bytes())
        .parse_all(&mut |triple| -> Result<(), rio_turtle::TurtleError> {
            expected.push(format!("{triple} ."));
            Ok(())
        })
        .expect("the output is valid N-Triples");
    lines.sort_unstable();
    expected.sort_unstable();
    assert!(lines == expected);
    assert!(turtle.len() * 2 < plain.len());
}

#[test]
fn quads_are_the_triples_in_graphs_of_their_publishers() {
    let plain = text_of(&options(100));
    let quads = text_of(&GenerateOptions {
        format: Format::NQuads,
        ..options(100)
    });
    assert_eq!(plain.lines().count(), quads.lines().count());
    let triples = triples(&plain);
    let publishers = objects(&triples, &format!("{DC}publisher"));
    for ((line, quad), triple) in plain.lines().zip(quads.lines()).zip(&triples) {
        let triple_text = line.strip_suffix('.').expect("a line ends in a point");
        let rest = quad.strip_prefix(triple_text).expect("the same triple");
        let graph = rest.trim_start_matches('<').trim_end_matches("> .");
        let namespace = graph.strip_suffix("/Graph").expect("a graph name");
        assert!(publishers[triple.subject].starts_with(namespace), "{quad}");
    }
}

#[test]
fn files_are_parts_of_about_equal_size() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("data.nt.zst");
    let options = GenerateOptions {
        files: 3,
        compression: Compression::Zstd,
        output: Output::File(path.clone()),
        ..options(500)
    };
    let mut last = 0;
    let manifest = generate(&options, &mut |progress| last = progress.triples)
        .expect("generating to files works");
    assert_eq!(last, manifest.triples());
    let mut all = String::new();
    for (number, file) in (1..=3).zip(&manifest.files) {
        let part = plain_text(&numbered_path(&path, number, 3));
        assert_eq!(part.len() as u64, file.plain_bytes);
        assert_eq!(part.lines().count() as u64, file.triples);
        all.push_str(&part);
    }
    let plain = text_of(&GenerateOptions {
        compression: Compression::None,
        ..options.clone()
    });
    assert!(all == plain);
    for file in &manifest.files {
        let share = file.plain_bytes as f64 / plain.len() as f64;
        assert!((0.2..0.5).contains(&share), "{share}");
    }
}

#[test]
fn file_names_are_numbered_before_the_suffixes() {
    let name = |path: &str, number, files| numbered_path(Path::new(path), number, files);
    assert_eq!(name("a/b.nt", 2, 3), PathBuf::from("a/b2.nt"));
    assert_eq!(name("b.x.ttl.gz", 2, 10), PathBuf::from("b.x02.ttl.gz"));
    assert_eq!(name("b", 1, 1), PathBuf::from("b1"));
}

#[test]
fn formats_follow_from_file_names() {
    let of = |name: &str| Format::from_path(Path::new(name)).ok();
    assert_eq!(of("x.nt"), Some((Format::NTriples, Compression::None)));
    assert_eq!(of("x.nq.gz"), Some((Format::NQuads, Compression::Gzip)));
    assert_eq!(of("x.ttl.zst"), Some((Format::Turtle, Compression::Zstd)));
    assert_eq!(of("x.csv"), None);
    assert_eq!(of(".."), None);
}

#[test]
fn data_and_updates_together_are_the_data_without_updates() {
    let options = GenerateOptions {
        update_transactions: 20,
        products_per_transaction: 2,
        ..options(1_000)
    };
    let mut update = Vec::new();
    let summary = generate_update_to(&mut update, &options).expect("the update can be written");
    let update = String::from_utf8(update).expect("the update is text");
    assert_eq!(update.lines().filter(|l| *l == "#__SEP__").count(), 20);
    assert_eq!(update.len() as u64, summary.plain_bytes);
    assert!(update.ends_with("\n\n#__SEP__\n"));
    let mut out = Vec::new();
    let manifest = generate_to(&mut out, &options).expect("generating into memory works");
    let both = String::from_utf8(out).expect("the output is text") + &update;
    let whole = text_of(&GenerateOptions {
        update_transactions: 0,
        ..options.clone()
    });
    assert!(sorted_lines(&both) == sorted_lines(&whole));
    let triples = manifest.triples() + summary.counts.triples;
    assert_eq!(triples, whole.lines().count() as u64);
    let held = summary.counts.classes[&format!("{BSBM}Product")];
    assert_eq!(held, 40);
    // The last products are the least popular ones.
    assert!((60..200).contains(&(summary.counts.triples / 40)));
}

#[test]
fn a_whole_run_leaves_blocks_and_parameters() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let update_path = folder.path().join("update.nt.gz");
    let data_dir = folder.path().join("parameters");
    let options = GenerateOptions {
        output: Output::File(folder.path().join("data.nt")),
        update_transactions: 7,
        products_per_transaction: 3,
        update_output: Some(update_path.clone()),
        data_dir: Some(data_dir.clone()),
        ..options(100)
    };
    let manifest = generate(&options, &mut |_| ()).expect("generating to files works");
    let mut blocks = UpdateBlocks::open(&update_path).expect("the update file exists");
    let mut triples = 0;
    let mut count = 0;
    while let Some(block) = blocks.next_block().expect("the update file is readable") {
        assert_eq!(block.matches(&format!("<{BSBM}Product> .")).count(), 3);
        triples += block.lines().count() as u64;
        count += 1;
    }
    assert_eq!(count, 7);
    let update = manifest.update.clone().expect("there is an update file");
    assert_eq!(update.counts.triples, triples);

    let opened = ParameterPool::open(&data_dir).expect("the parameters are readable");
    let made = ParameterPool::from_options(100, options.seed).expect("valid options");
    assert_eq!(opened, made);
    let text = std::fs::read(data_dir.join("manifest.json")).expect("there is a manifest");
    let read: crate::Manifest = serde_json::from_slice(&text).expect("the manifest is valid");
    assert_eq!(read, manifest);
}

#[test]
fn writing_errors_are_reported() {
    struct Full(usize);
    impl std::io::Write for Full {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 = self
                .0
                .checked_sub(bytes.len())
                .ok_or(std::io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let error = generate_to(&mut Full(4 << 20), &options(500)).expect_err("the disk is full");
    assert_eq!(error.to_string(), "writing \"-\" failed");
    let missing = GenerateOptions {
        output: Output::File(PathBuf::from("/no such folder/data.nt")),
        ..options(10)
    };
    let error = generate(&missing, &mut |_| ()).expect_err("there is no such folder");
    assert_eq!(
        error.to_string(),
        "creating \"/no such folder/data.nt\" failed"
    );
}
