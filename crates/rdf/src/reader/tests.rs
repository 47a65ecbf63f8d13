//! Tests of formats, inputs and whole documents.

use std::convert::Infallible;
use std::io::Write;
use std::path::Path;

use super::document::read_document;
use super::input::{Compression, Input, InputError};
use super::lines::strict;
use super::*;

const TTL: &str =
    "@prefix : <http://e/> . # é\n:a :p \"x\"@EN, '''y'z'''@de-AT, [ :q (\"1\"@Fr 2) ] .\n";

fn read(text: &[u8], format: GraphFormat) -> Result<Vec<String>, ReadError<Infallible>> {
    let mut quads = Vec::new();
    let mut sink = |quad: QuadView<'_>| {
        quads.push(quad.to_string());
        Ok(())
    };
    read_document(text, format, Some("http://base/x/"), &mut sink, &mut strict)?;
    Ok(quads)
}

#[test]
fn formats_are_told_by_names() {
    let format = |path: &str| GraphFormat::from_path(Path::new(path));
    assert_eq!(format("a/b.nt"), Some(GraphFormat::NTriples));
    assert_eq!(format("b.NQ.GZ"), Some(GraphFormat::NQuads));
    assert_eq!(format("b.ttl.zst"), Some(GraphFormat::Turtle));
    assert_eq!(format("b.gz"), None);
    assert_eq!(format("nt"), None);
    for format in GraphFormat::ALL {
        assert_eq!(
            GraphFormat::from_extension(format.extension()),
            Some(format)
        );
        let media_type = format!("{}; charset=utf-8", format.media_type().to_uppercase());
        assert_eq!(GraphFormat::from_media_type(&media_type), Some(format));
    }
    assert_eq!(GraphFormat::from_media_type("text/html"), None);
}

#[test]
fn turtle_keeps_tags_and_resolves() {
    let quads = read(TTL.as_bytes(), GraphFormat::Turtle).expect("valid Turtle");
    assert_eq!(quads.len(), 8);
    let tagged: Vec<_> = quads
        .iter()
        .filter_map(|q| q.split_once('@'))
        .map(|(_, t)| t)
        .collect();
    assert_eq!(tagged, ["EN .", "de-AT .", "Fr ."]);
    let quads = read(b"<a> <../p> <> .", GraphFormat::Turtle).expect("valid Turtle");
    assert_eq!(
        quads,
        ["<http://base/x/a> <http://base/p> <http://base/x/> ."]
    );
}

#[test]
fn strings_that_look_like_tags_do_not_count() {
    let text = "@prefix e: <http://e/#@EN> .\n<a> <b> \"@NO\\\"@NO\", \"\", \"\"\"@NO\"\"@NO\"\"\"@EN-gb,\n\
        e:x\\'y , \"z\" # \"@NO\n @Cd, '@NO'@ef .";
    let quads = read(text.as_bytes(), GraphFormat::Turtle).expect("valid Turtle");
    assert!(quads[2].ends_with("\"@EN-gb ."), "{}", quads[2]);
    assert!(quads[4].ends_with("\"z\"@Cd ."), "{}", quads[4]);
    assert!(quads[5].ends_with("\"@NO\"@ef ."), "{}", quads[5]);
}

#[test]
fn turtle_errors_have_a_place_and_quote() {
    let error = |text: &[u8]| {
        read(text, GraphFormat::TriG)
            .expect_err("bad text")
            .in_file("f.trig")
            .to_string()
    };
    assert_eq!(
        error(b"<a> <b> <c> .\n<a> x:b <c> ."),
        "f.trig:2:7: unknown prefix 'x': «<a> x:b <c> .»"
    );
    assert_eq!(error(b"?"), "f.trig:1:1: unexpected character '?': «?»");
    assert_eq!(
        error(b"<a> <b> <<<a> <b> <c>>> ."),
        "f.trig: quoted triples are not RDF 1.1"
    );
    assert_eq!(
        error(b"<a> <b> <c> .\n# \xC3("),
        "f.trig:2:3: the byte 0xC3 is not UTF-8 here: «# \u{FFFD}(»"
    );
    let long = [TTL.as_bytes().repeat(5000).as_slice(), b"<a> <b> \xFF"].concat();
    assert!(
        error(&long).starts_with("f.trig:10001:9: the byte 0xFF"),
        "{}",
        error(&long)
    );
    let long = [TTL.as_bytes().repeat(5000).as_slice(), b"<a> <b> c ."].concat();
    assert!(error(&long).contains(":10001:"), "{}", error(&long));
    assert!(
        error(&long).ends_with(": «<a> <b> c .»"),
        "{}",
        error(&long)
    );
}

#[test]
fn a_bad_base_is_an_error() {
    let mut sink = |_: QuadView<'_>| Ok::<(), Infallible>(());
    let result = read_document(
        &b""[..],
        GraphFormat::Turtle,
        Some("x> ."),
        &mut sink,
        &mut strict,
    );
    let error = result.expect_err("a bad base");
    assert!(
        error
            .to_string()
            .starts_with("the base 'x> .' is not an absolute IRI"),
        "{error}"
    );
}

#[test]
fn empty_documents_are_empty() {
    for format in GraphFormat::ALL {
        assert_eq!(read(b"", format).expect("empty"), Vec::<String>::new());
    }
}

fn compressed(text: &[u8], compression: Compression) -> Vec<u8> {
    match compression {
        Compression::Gzip => {
            let mut encoder =
                flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(text).expect("memory");
            encoder.finish().expect("memory")
        }
        Compression::Zstd => zstd::encode_all(text, 1).expect("memory"),
        Compression::Bzip2 => {
            let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
            encoder.write_all(text).expect("memory");
            encoder.finish().expect("memory")
        }
    }
}

fn opened(bytes: Vec<u8>) -> Result<Vec<u8>, String> {
    let input = Input::from_reader("x", None, io::Cursor::new(bytes)).map_err(|e| e.to_string())?;
    let mut text = Vec::new();
    io::Read::read_to_end(&mut input.into_reader(), &mut text).map_err(|e| e.to_string())?;
    Ok(text)
}

#[test]
fn compressions_are_undone() {
    let text: Vec<u8> = (0..20_000)
        .flat_map(|i| format!("# {i}\n").into_bytes())
        .collect();
    assert_eq!(opened(text.clone()), Ok(text.clone()));
    for compression in [Compression::Gzip, Compression::Zstd, Compression::Bzip2] {
        let packed = compressed(&text, compression);
        assert_eq!(opened(packed.clone()), Ok(text.clone()), "{compression:?}");
        let twice = [packed.clone(), packed.clone()].concat();
        assert_eq!(
            opened(twice).map(|t| t.len()),
            Ok(2 * text.len()),
            "{compression:?} members"
        );
        let cut = packed[..packed.len() / 2].to_vec();
        let error = opened(cut).expect_err("cut data");
        assert!(
            error.contains(&format!("the {} data is cut off", compression.name())),
            "{error}"
        );
        let nested = compressed(&packed, compression);
        let error = opened(nested).expect_err("compressed twice");
        assert!(error.contains("compressed twice"), "{error}");
    }
}

#[test]
fn what_is_no_text_is_told_at_once() {
    assert_eq!(opened(Vec::new()), Ok(Vec::new()));
    assert_eq!(opened(b"\xEF\xBB\xBF# x".to_vec()), Ok(b"# x".to_vec()));
    assert!(opened(b"\xFF\xFE#\0".to_vec()).is_err_and(|e| e.contains("UTF-16")));
    assert!(opened(b"a\0b".to_vec()).is_err_and(|e| e.contains("binary data")));
    assert!(opened(b"PK\x03\x04..".to_vec()).is_err_and(|e| e.contains("zip")));
}

#[test]
fn files_are_opened_or_explained() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.ttl.gz");
    std::fs::write(&path, compressed(TTL.as_bytes(), Compression::Gzip)).expect("written");
    let input = Input::open(&path).expect("a good file");
    assert_eq!(input.format(), Some(GraphFormat::Turtle));
    assert_eq!(input.name(), path.display().to_string());
    let mut count = 0;
    let mut sink = |_: QuadView<'_>| {
        count += 1;
        Ok::<(), Infallible>(())
    };
    let reader = input.into_reader();
    let result = read_document(reader, GraphFormat::Turtle, None, &mut sink, &mut strict);
    assert_eq!(result.ok(), Some(8));
    assert_eq!(count, 8);
    assert!(matches!(
        Input::open(folder.path()),
        Err(InputError::Directory(_))
    ));
    let missing = folder.path().join("none.nt");
    assert!(matches!(Input::open(&missing), Err(InputError::Missing(_))));
}
