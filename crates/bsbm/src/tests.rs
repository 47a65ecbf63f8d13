//! Acceptance tests: the data against the published numbers, and parameters and queries.

mod data;
mod driver;
mod endpoint;
mod output;
mod qualification;
mod queries;
mod reports;
mod updates;

use crate::{GenerateOptions, generate_to};
use std::collections::HashMap;

/// The part of IRIs that all vocabulary terms of the benchmark share.
const BSBM: &str = "http://www4.wiwiss.fu-berlin.de/bizer/bsbm/v01/vocabulary/";
/// The part of IRIs that all instances share.
const INSTANCES: &str = "http://www4.wiwiss.fu-berlin.de/bizer/bsbm/v01/instances/";
const DC: &str = "http://purl.org/dc/elements/1.1/";
const TYPE: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type";

fn options(products: u64) -> GenerateOptions {
    GenerateOptions {
        threads: 2,
        forward_chaining: true,
        ..GenerateOptions::new(products)
    }
}

fn text_of(options: &GenerateOptions) -> String {
    let mut out = Vec::new();
    generate_to(&mut out, options).expect("generating into memory works");
    String::from_utf8(out).expect("the output is text")
}

/// A triple of an N-Triples line: IRIs without brackets, literals as written.
#[derive(Clone, Copy)]
struct Triple<'a> {
    subject: &'a str,
    predicate: &'a str,
    object: &'a str,
}

fn triples(text: &str) -> Vec<Triple<'_>> {
    fn bare(text: &str) -> &str {
        text.strip_prefix('<')
            .and_then(|rest| rest.strip_suffix('>'))
            .unwrap_or(text)
    }
    text.lines()
        .filter(|line| line.starts_with('<'))
        .map(|line| {
            let line = line.strip_suffix(" .").expect("a line ends in a point");
            let mut parts = line.splitn(3, ' ');
            let mut next = || bare(parts.next().expect("a line has three terms"));
            Triple {
                subject: next(),
                predicate: next(),
                object: next(),
            }
        })
        .collect()
}

/// Objects by subject, for one predicate.
fn objects<'a>(triples: &[Triple<'a>], predicate: &str) -> HashMap<&'a str, &'a str> {
    let of = triples.iter().filter(|t| t.predicate == predicate);
    of.map(|t| (t.subject, t.object)).collect()
}

/// The integer between the quotes of a literal.
fn integer(literal: &str) -> u64 {
    let digits = literal.trim_start_matches('"').split('"').next();
    digits
        .and_then(|digits| digits.parse().ok())
        .expect("the literal is an integer")
}
