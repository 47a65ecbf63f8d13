//! Real files, read, written and read again; every literal through the inline codes.
//!
//! `BASALT_REAL_DATA_DIR` names a folder of RDF files, by default `../shared/data/real` beside the
//! workspace; where it is absent the test says that it is skipped.

use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;

use basalt_rdf::reader::document::read_document;
use basalt_rdf::reader::input::Input;
use basalt_rdf::reader::lines::strict;
use basalt_rdf::{
    GraphFormat, QuadView, QuadWriter, QualifierCache, Qualifiers, TermBuf, TermView, inline,
};

/// What one pass over a file finds.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    quads: u64,
    literals: u64,
    inline: u64,
}

/// Reads a file as N-Quads text, sending every literal through the inline codes on the way.
fn as_n_quads(path: &Path) -> (Vec<u8>, Counts) {
    let shared = Arc::new(Qualifiers::new());
    let mut cache = QualifierCache::new(Arc::clone(&shared));
    let mut buf = TermBuf::new();
    let mut counts = Counts::default();
    let mut writer = QuadWriter::new(Vec::new(), GraphFormat::NQuads);
    let mut sink = |quad: QuadView<'_>| {
        if let TermView::Literal(literal) = quad.object {
            counts.literals += 1;
            if let Some(id) = inline::encode(literal, &mut cache) {
                counts.inline += 1;
                assert!(inline::decode(id, &shared, &mut buf), "{quad}");
                assert_eq!(buf.view(), quad.object);
            }
        }
        writer.quad(quad)
    };
    let input = Input::open(path).expect("the file opens");
    let format = input.format().expect("the name tells the format");
    let reader = input.into_reader();
    let quads = read_document(reader, format, None, &mut sink, &mut strict);
    counts.quads = quads.expect("the file is valid");
    (writer.finish().expect("memory takes all"), counts)
}

#[test]
fn real_files_survive() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = match std::env::var_os("BASALT_REAL_DATA_DIR") {
        Some(folder) => root.join(folder),
        None => root.join("../shared/data/real"),
    };
    let Ok(files) = std::fs::read_dir(&folder) else {
        eprintln!("skipped: no real data here; set BASALT_REAL_DATA_DIR to a folder of RDF files");
        return;
    };
    let mut paths: Vec<_> = files
        .map(|file| file.expect("a listed file").path())
        .collect();
    paths.retain(|path| GraphFormat::from_path(path).is_some());
    paths.sort();
    for path in &paths {
        let (text, counts) = as_n_quads(path);
        eprintln!("{}: {counts:?}", path.display());
        assert!(counts.quads > 0, "{}", path.display());
        let mut writer = QuadWriter::new(Vec::new(), GraphFormat::NQuads);
        let mut sink = |quad: QuadView<'_>| writer.quad(quad);
        let again = read_document(&text[..], GraphFormat::NQuads, None, &mut sink, &mut strict);
        assert_eq!(again.ok(), Some(counts.quads), "{}", path.display());
        let again = writer.finish().expect("memory takes all");
        assert!(again == text, "{}: the texts differ", path.display());
        let mut trig = QuadWriter::new(Vec::new(), GraphFormat::TriG);
        let mut quads = 0_u64;
        let mut sink = |quad: QuadView<'_>| trig.quad(quad);
        read_document(&text[..], GraphFormat::NQuads, None, &mut sink, &mut strict)
            .expect("read before");
        let trig = trig.finish().expect("memory takes all");
        let mut sink = |_: QuadView<'_>| {
            quads += 1;
            Ok::<(), Infallible>(())
        };
        read_document(&trig[..], GraphFormat::TriG, None, &mut sink, &mut strict)
            .expect("what we write is TriG");
        assert_eq!(quads, counts.quads, "{}", path.display());
    }
}
