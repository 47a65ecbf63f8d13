//! The W3C suites of RDF 1.1 for N-Triples, N-Quads, Turtle, TriG and RDF/XML, one test per manifest.
//!
//! The suites are not part of the project: `RDF_TESTS_DIR` names the folder of `rdf-tests`, by default
//! `../shared/data/w3c` beside the workspace; where it is absent the tests say that they are skipped.
//! Every entry must pass; [`IGNORED`] lists exceptions with their reasons. Turtle and TriG are read in one run and in
//! tiny blocks.

mod in_blocks;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::convert::Infallible;
use std::path::{Path, PathBuf};

use basalt_rdf::reader::document::read_document;
use basalt_rdf::reader::lines::strict;
use basalt_rdf::reader::turtle_blocks::TurtleFormat;
use basalt_rdf::{GraphFormat, QuadView, ReadError, TermView};
use in_blocks::read_in_blocks;

/// Names of entries that are not run, with the reason.
const IGNORED: &[(&str, &str)] = &[
    ("xml-canon-test001", NOT_EXCLUSIVE),
    ("xml-canon-test002", NOT_EXCLUSIVE),
];
const NOT_EXCLUSIVE: &str = "XML literals keep all namespaces in scope, where exclusive canonical XML keeps those in use; the parser's";

const MF: &str = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#";
const RDFT: &str = "http://www.w3.org/ns/rdftest#";
const RDF_TYPE: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type";
/// Where the suites say they live; the base IRIs of their files.
const HOME: &str = "https://w3c.github.io/rdf-tests/rdf/rdf11/";

/// A quad as four terms in N-Triples form; the default graph is the empty text.
type Quad = [String; 4];

fn suites_folder() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = match std::env::var_os("RDF_TESTS_DIR") {
        Some(folder) => root.join(folder),
        None => root.join("../shared/data/w3c"),
    };
    folder.join("rdf/rdf11").is_dir().then_some(folder)
}

fn read(path: &Path, format: GraphFormat, base: &str) -> Result<Vec<Quad>, String> {
    let text = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut quads = Vec::new();
    let mut sink = |quad: QuadView<'_>| {
        quads.push(shown(quad));
        Ok::<(), Infallible>(())
    };
    read_document(text.as_slice(), format, Some(base), &mut sink, &mut strict)
        .map_err(|error: ReadError<Infallible>| error.to_string())?;
    Ok(quads)
}

/// As [`read`], in blocks of so many bytes.
fn read_blocks(
    path: &Path,
    format: TurtleFormat,
    base: &str,
    block_bytes: usize,
) -> Result<Vec<Quad>, String> {
    let text = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut quads = Vec::new();
    let mut take = |quad: QuadView<'_>| quads.push(shown(quad));
    read_in_blocks(
        text.as_slice(),
        format,
        Some(base),
        block_bytes,
        2,
        &mut take,
    )
    .map_err(|error| error.to_string())?;
    Ok(quads)
}

fn shown(quad: QuadView<'_>) -> Quad {
    let text = |term: TermView<'_>| term.to_string();
    let graph = quad.graph.map(text).unwrap_or_default();
    [
        text(quad.subject),
        text(quad.predicate),
        text(quad.object),
        graph,
    ]
}

/// One entry of a manifest.
struct Entry {
    name: String,
    kind: String,
    action: String,
    result: Option<String>,
}

fn entries(manifest: &[Quad]) -> Vec<Entry> {
    let iri = |local: &str| format!("<{MF}{local}>");
    let mut facts: BTreeMap<&str, HashMap<&str, &str>> = BTreeMap::new();
    for [subject, predicate, object, _] in manifest {
        facts.entry(subject).or_default().insert(predicate, object);
    }
    let type_of = format!("<{RDF_TYPE}>");
    let unquoted = |text: &str| text.trim_matches(['<', '>', '"']).to_owned();
    let get = |entry: &HashMap<&str, &str>, key: &str| entry.get(key).map(|text| unquoted(text));
    facts
        .values()
        .filter(|entry| entry.contains_key(iri("action").as_str()))
        .map(|entry| Entry {
            name: get(entry, &iri("name")).expect("an entry has a name"),
            kind: get(entry, &type_of)
                .expect("an entry has a type")
                .replace(RDFT, ""),
            action: get(entry, &iri("action")).expect("an entry has an action"),
            result: get(entry, &iri("result")),
        })
        .collect()
}

fn turtle_format(format: GraphFormat) -> Option<TurtleFormat> {
    match format {
        GraphFormat::Turtle => Some(TurtleFormat::Turtle),
        GraphFormat::TriG => Some(TurtleFormat::TriG),
        _ => None,
    }
}

/// Runs one entry; the text says why it failed.
fn run(entry: &Entry, folder: &Path, home: &str, format: GraphFormat) -> Result<(), String> {
    let local = |iri: &str| folder.join(iri.strip_prefix(home).expect("a file of the suite"));
    if !local(&entry.action).is_file() {
        return Err("its file is missing".to_owned());
    }
    let outcome = read(&local(&entry.action), format, &entry.action);
    if let Some(format) = turtle_format(format) {
        for block_bytes in [1, 64] {
            let blocks = read_blocks(&local(&entry.action), format, &entry.action, block_bytes);
            match (&outcome, blocks) {
                (Ok(one), Ok(blocks))
                    if one.len() == blocks.len() && is_isomorphic(one, &blocks) => {}
                (Err(one), Err(blocks)) if *one == blocks => {}
                (_, blocks) => return Err(format!("in blocks of {block_bytes} bytes: {blocks:?}")),
            }
        }
    }
    if entry.kind.contains("Negative") {
        return match outcome {
            Ok(quads) => Err(format!("accepted with {} quads", quads.len())),
            Err(_) => Ok(()),
        };
    }
    let actual = outcome?;
    let Some(result) = &entry.result else {
        return Ok(());
    };
    let result_format = GraphFormat::from_path(Path::new(result)).expect("a known extension");
    let expected = read(&local(result), result_format, result)?;
    if is_isomorphic(&actual, &expected) {
        Ok(())
    } else {
        Err(format!("got {actual:#?}\ninstead of {expected:#?}"))
    }
}

fn run_suite(suite: &str, format: GraphFormat, entries_min: usize) {
    let Some(root) = suites_folder() else {
        eprintln!("skipped: the W3C suites are not here; set RDF_TESTS_DIR to their folder");
        return;
    };
    let folder = root.join("rdf/rdf11").join(suite);
    let home = format!("{HOME}{suite}/");
    let base = format!("{home}manifest.ttl");
    let manifest = read(&folder.join("manifest.ttl"), GraphFormat::Turtle, &base);
    let entries = entries(&manifest.expect("the manifest is Turtle"));
    assert!(
        entries.len() >= entries_min,
        "only {} entries",
        entries.len()
    );
    let (mut passed, mut ignored, mut failures) = (0, 0, Vec::new());
    for entry in &entries {
        if IGNORED.iter().any(|(name, _)| *name == entry.name) {
            ignored += 1;
            continue;
        }
        match run(entry, &folder, &home, format) {
            Ok(()) => passed += 1,
            Err(why) => failures.push(format!("{} ({}): {why}", entry.name, entry.kind)),
        }
    }
    eprintln!(
        "{suite}: {passed} passed, {ignored} ignored, {} failed",
        failures.len()
    );
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn n_triples() {
    run_suite("rdf-n-triples", GraphFormat::NTriples, 60);
}

#[test]
fn n_quads() {
    run_suite("rdf-n-quads", GraphFormat::NQuads, 80);
}

#[test]
fn turtle() {
    run_suite("rdf-turtle", GraphFormat::Turtle, 280);
}

#[test]
fn trig() {
    run_suite("rdf-trig", GraphFormat::TriG, 300);
}

#[test]
fn rdf_xml() {
    run_suite("rdf-xml", GraphFormat::RdfXml, 160);
}

/// Whether two sets of quads are equal up to the names of blank nodes.
fn is_isomorphic(left: &[Quad], right: &[Quad]) -> bool {
    let left: BTreeSet<Quad> = left.iter().cloned().collect();
    let right: BTreeSet<Quad> = right.iter().cloned().collect();
    let blanks = |quads: &BTreeSet<Quad>| -> BTreeSet<String> {
        quads
            .iter()
            .flatten()
            .filter(|term| term.starts_with("_:"))
            .cloned()
            .collect()
    };
    let (from, to) = (blanks(&left), blanks(&right));
    left.len() == right.len()
        && from.len() == to.len()
        && extend(
            &left,
            &right,
            &Vec::from_iter(from),
            &to,
            &mut HashMap::new(),
        )
}

/// Tries to give the blank nodes `from[mapping.len()..]` partners; backtracks as soon as a quad whose
/// blank nodes all have partners is missing on the right.
fn extend(
    left: &BTreeSet<Quad>,
    right: &BTreeSet<Quad>,
    from: &[String],
    to: &BTreeSet<String>,
    mapping: &mut HashMap<String, String>,
) -> bool {
    let fits = left.iter().all(|quad| {
        let mut image = quad.clone();
        for term in image.iter_mut().filter(|term| term.starts_with("_:")) {
            match mapping.get(term) {
                Some(partner) => partner.clone_into(term),
                None => return true,
            }
        }
        right.contains(&image)
    });
    let Some(next) = from.get(mapping.len()) else {
        return fits;
    };
    fits && to.iter().any(|partner| {
        if mapping.values().any(|taken| taken == partner) {
            return false;
        }
        mapping.insert(next.clone(), partner.clone());
        let found = extend(left, right, from, to, mapping);
        if !found {
            mapping.remove(next);
        }
        found
    })
}

#[test]
fn isomorphism_tells_structures_apart() {
    let quads = |edges: &[(&str, &str)]| -> Vec<Quad> {
        let quad =
            |(s, o): &(&str, &str)| [format!("_:{s}"), "<p>".into(), format!("_:{o}"), "".into()];
        edges.iter().map(quad).collect()
    };
    let ring = quads(&[("a", "b"), ("b", "c"), ("c", "a")]);
    assert!(is_isomorphic(
        &ring,
        &quads(&[("z", "x"), ("x", "y"), ("y", "z")])
    ));
    assert!(!is_isomorphic(
        &ring,
        &quads(&[("a", "b"), ("b", "c"), ("a", "c")])
    ));
}
