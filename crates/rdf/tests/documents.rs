//! RDF/XML and JSON-LD from the outside: terms exactly as written, places of errors, what is refused.

use std::convert::Infallible;
use std::io::Read;

use basalt_rdf::reader::document::read_document;
use basalt_rdf::reader::lines::strict;
use basalt_rdf::{GraphFormat, QuadView, ReadError};

const OPEN: &str =
    "<rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\" xmlns:e=\"http://e/\"";

/// Gives at most so many bytes at once.
struct Slow<'a>(&'a [u8], usize);

impl Read for Slow<'_> {
    fn read(&mut self, target: &mut [u8]) -> std::io::Result<usize> {
        let count = self.1.min(target.len()).min(self.0.len());
        target[..count].copy_from_slice(&self.0[..count]);
        self.0 = &self.0[count..];
        Ok(count)
    }
}

fn read(text: impl AsRef<[u8]>, format: GraphFormat) -> Result<Vec<String>, String> {
    let mut quads = Vec::new();
    let mut sink = |quad: QuadView<'_>| {
        quads.push(quad.to_string());
        Ok::<(), Infallible>(())
    };
    let reader = Slow(text.as_ref(), 7);
    read_document(reader, format, Some("http://b/d"), &mut sink, &mut strict)
        .map_err(|error: ReadError<Infallible>| error.in_file("f").to_string())?;
    Ok(quads)
}

fn xml(body: &str) -> Result<Vec<String>, String> {
    let text = format!("{OPEN}>\n<e:C rdf:about=\"#s\">{body}</e:C></rdf:RDF>");
    Ok(read(text, GraphFormat::RdfXml)?.split_off(1))
}

fn json(text: &str) -> Result<Vec<String>, String> {
    read(text, GraphFormat::JsonLd)
}

#[test]
fn rdf_xml_keeps_tags_as_written() {
    let body = "<e:p xml:lang='de-AT'>1</e:p><e:p xml:lang=\"EN\" e:q='2'/>\
        <e:r xml:lang='FR'><e:D e:p='3' xml:lang='fr-CA'><e:p>4</e:p><e:p xml:lang='en'>5</e:p></e:D></e:r>\
        <!-- <e:p xml:lang='XX'> --><e:p xml:lang='De'\n  rdf:parseType='Literal'><b xml:lang='NO'/></e:p>\
        <e:p xml:lang='DE' ><![CDATA[6<e:p>]]></e:p><e:p>7</e:p>";
    let quads = xml(body).expect("good").join("\n");
    for tagged in [
        "\"1\"@de-AT",
        "\"2\"@EN",
        "\"3\"@fr-CA",
        "\"4\"@fr-CA",
        "\"5\"@en ",
        "\"6<e:p>\"@DE",
        "\"7\" ",
    ] {
        assert!(quads.contains(tagged), "{tagged}: {quads}");
    }
    assert!(quads.contains("xml:lang=\\\"NO\\\""), "{quads}");
}

#[test]
fn rdf_xml_resolves_and_makes_line_ends_equal() {
    assert_eq!(
        xml("<e:p rdf:resource='x'/><e:p>a\r\nb\rc&#xD;\n</e:p>").expect("good"),
        [
            "<http://b/d#s> <http://e/p> <http://b/x> .",
            "<http://b/d#s> <http://e/p> \"a\\nb\\nc\\r\\n\" ."
        ]
    );
    let in_document = format!("{OPEN} xml:base='http://c/'><e:C rdf:about='x'/></rdf:RDF>");
    let quads = read(in_document, GraphFormat::RdfXml).expect("good");
    assert!(quads[0].starts_with("<http://c/x> "), "{quads:?}");
}

#[test]
fn errors_of_rdf_xml_have_a_place_and_quote() {
    let error = xml("\n <e:p rdf:resource='a b'/>").expect_err("a space");
    assert!(
        error.starts_with("f:3:2: ") && error.contains("«") && error.contains("a b"),
        "{error}"
    );
    let error = xml("\r\n\r\n<e:p>x</e:q>").expect_err("another end");
    assert!(error.starts_with("f:4:7: "), "{error}");
    let error = xml("<e:p>&none;</e:p>").expect_err("no such entity");
    assert!(
        error.starts_with("f:2:") && error.contains("none"),
        "{error}"
    );
    let error = xml("<e:p xml:lang='a b'>x</e:p>").expect_err("no tag");
    assert!(
        error.contains("'a b'") && error.contains("f:2:21:"),
        "{error}"
    );
    let cut = read(format!("{OPEN}>\n<e:C>"), GraphFormat::RdfXml).expect_err("cut off");
    assert!(
        cut.contains("f:2:1: the text ends within 2 elements"),
        "{cut}"
    );
    let error = read("no element", GraphFormat::RdfXml).expect_err("no XML");
    assert!(error.contains("f:1:1: "), "{error}");
    let text = [OPEN.as_bytes(), b">\n\xFF</rdf:RDF>"].concat();
    let error = read(text, GraphFormat::RdfXml).expect_err("no UTF-8");
    assert!(
        error.starts_with("f:2:1: the byte 0xFF is not UTF-8"),
        "{error}"
    );
}

#[test]
fn entities_expand_a_little() {
    let with = |entities: &str, body: &str| {
        let text =
            format!("<!DOCTYPE rdf:RDF [{entities}]>{OPEN}><e:C rdf:about='{body}'/></rdf:RDF>");
        read(text, GraphFormat::RdfXml)
    };
    let quads = with("<!ENTITY e \"http://e/\">\n<!ENTITY f \"&e;f/\">", "&f;x").expect("good");
    assert!(quads[0].starts_with("<http://e/f/x>"), "{quads:?}");
    // A parameter entity is one like any other to the parser, and a name ends at ASCII white space.
    for (mark, name) in [("", "e"), ("% ", "e"), ("%", "e"), ("", "e\u{A0}")] {
        let mut bomb = format!("<!ENTITY {mark}{name}0 \"http://e/aaaaaaaaaaaaaaaaaaaaa\">");
        for i in 1..12 {
            let ten = format!("&{name}{};", i - 1).repeat(10);
            bomb.push_str(&format!("<!ENTITY {mark}{name}{i} \"{ten}\">"));
        }
        let error = with(&bomb, &format!("&{name}11;")).expect_err("too long");
        let message = format!("the entity '{name}3' expands to more than 4096 bytes");
        assert!(error.contains(&message), "{error}");
    }
    for bad in ["<!ENTITY e 'http://e/'>", "<!ENTITY e>", "<!ENTITY e \"x>"] {
        assert!(with(bad, "x").is_err(), "{bad}");
    }
}

#[test]
fn json_ld_reads_contexts_and_keeps_tags() {
    let quads = json(
        "{\"@context\": {\"e\": \"http://e/\", \"n\": {\"@id\": \"e:n\", \"@container\": \"@language\"},\
         \"age\": {\"@id\": \"e:age\", \"@type\": \"http://www.w3.org/2001/XMLSchema#short\"}},\
         \"e:p\": [{\"@value\": \"x\", \"@language\": \"de-AT\"}, 1.5, true, 7], \"n\": {\"EN\": \"y\"},\
         \"age\": \"007\", \"unmapped\": 1, \"@id\": \"#s\", \"@graph\": [{\"@id\": \"e:t\", \"@type\": \"e:C\"}]}",
    );
    let mut quads = quads.expect("good");
    quads.sort();
    let xsd = "^^<http://www.w3.org/2001/XMLSchema#";
    let mut expected = vec![
        "<http://b/d#s> <http://e/p> \"x\"@de-AT .".to_owned(),
        format!("<http://b/d#s> <http://e/p> \"1.5E0\"{xsd}double> ."),
        format!("<http://b/d#s> <http://e/p> \"true\"{xsd}boolean> ."),
        format!("<http://b/d#s> <http://e/p> \"7\"{xsd}integer> ."),
        "<http://b/d#s> <http://e/n> \"y\"@EN .".to_owned(),
        format!("<http://b/d#s> <http://e/age> \"007\"{xsd}short> ."),
        "<http://e/t> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://e/C> <http://b/d#s> .".to_owned(),
    ];
    expected.sort();
    assert_eq!(quads, expected);
}

#[test]
fn errors_of_json_ld_say_what_is_wrong() {
    let error = json("[\n{\"@id\": \"é\", x}]").expect_err("no JSON");
    assert!(
        error.starts_with("f:2:14: ") && error.contains("«{\"@id\": \"é\", x}]»"),
        "{error}"
    );
    let error = json("[{\"@id\": \"http://e/s\"}").expect_err("cut off");
    assert!(error.starts_with("f:1:"), "{error}");
    let error = json("[] x").expect_err("more than one value");
    assert!(error.starts_with("f:1:"), "{error}");
    let error =
        json("{\"@context\": \"http://schema.org/\", \"name\": \"x\"}").expect_err("remote");
    assert!(
        error.contains("http://schema.org/: contexts are not fetched"),
        "{error}"
    );
    let error = json("{\"@id\": \"http://a b\", \"http://e/p\": 1}").expect_err("no IRI");
    assert!(error.contains("'http://a b' is not an IRI"), "{error}");
    let error =
        json("{\"http://e/p\": {\"@value\": \"x\", \"@language\": \"a b\"}}").expect_err("no tag");
    assert!(error.contains("'a b' is not a language tag"), "{error}");
    let error = json(&"[".repeat(100_000)).expect_err("deep");
    assert!(error.contains("f:1:1: nested deeper than 200"), "{error}");
    let deep = format!("{}1{}", "{\"http://e/p\":".repeat(199), "}".repeat(199));
    assert_eq!(json(&deep).expect("not too deep").len(), 199);
    let mut sink = |_: QuadView<'_>| Ok::<(), Infallible>(());
    let relative = read_document(
        b"{\"@id\": \"x\", \"http://e/p\": 1}".as_slice(),
        GraphFormat::JsonLd,
        None,
        &mut sink,
        &mut strict,
    );
    assert_eq!(
        relative.ok(),
        Some(0),
        "a relative IRI without a base is dropped"
    );
}

/// Damaged documents end with an error or with quads, never with a panic.
#[test]
fn damage_is_survived() {
    let xml = format!(
        "<!DOCTYPE rdf:RDF [<!ENTITY e \"http://e/\">]>{OPEN}><e:C rdf:about='&e;s' xml:lang='EN'>\
        <e:p rdf:parseType='Collection'><e:D/></e:p><e:q rdf:datatype='&e;d'>x</e:q><e:r rdf:ID='i'>y</e:r>\
        <e:l rdf:parseType='Literal'><b/>z</e:l><rdf:li rdf:nodeID='n'/></e:C></rdf:RDF>"
    );
    let json = "{\"@context\": {\"e\": \"http://e/\", \"@vocab\": \"http://v/\", \"l\": {\"@container\": \"@list\"},\
        \"r\": {\"@reverse\": \"e:r\"}}, \"@id\": \"e:s\", \"@type\": [\"C\"], \"l\": [1, 2.5e3, \"x\", null],\
        \"r\": {\"@id\": \"_:b\"}, \"@graph\": [{\"e:p\": {\"@value\": \"x\", \"@language\": \"EN\"}}]}";
    let mut state = 0x9E37_79B9_u64;
    let mut random = |bound: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % bound
    };
    for (text, format) in [
        (xml.as_str(), GraphFormat::RdfXml),
        (json, GraphFormat::JsonLd),
    ] {
        assert!(read(text, format).is_ok_and(|quads| quads.len() > 5));
        let mut failed = 0;
        for _ in 0..20_000 {
            let mut bytes = text.as_bytes().to_vec();
            for _ in 0..=random(3) {
                let (at, from) = (random(bytes.len()), random(bytes.len()));
                match random(3) {
                    0 => drop(bytes.drain(at..(at + 1 + random(9)).min(bytes.len()))),
                    1 => bytes[at] = bytes[from],
                    _ => {
                        let piece = bytes[from..(from + random(12)).min(bytes.len())].to_vec();
                        bytes.splice(at..at, piece);
                    }
                }
            }
            failed += usize::from(read(&bytes, format).is_err());
        }
        assert!(failed > 5000, "{format:?}: {failed}");
    }
}
