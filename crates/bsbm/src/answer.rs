//! Checks the answer to a query and condenses it to a number of rows and a hash.
//!
//! The hash does not depend on the order of rows or triples and hardly on the engine: numbers are
//! compared by value to six digits, blank nodes are all alike. Equal answers hash equally;
//! different ones collide about once in 2^64. An answer that cannot be read in full is an error.

use crate::http::Answer;
use crate::queries::QueryForm;
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The formats asked for.
pub(crate) fn accepted(form: QueryForm) -> &'static str {
    match form {
        QueryForm::Select => "application/sparql-results+json",
        QueryForm::Graph => "application/n-triples",
        QueryForm::Update => "*/*",
    }
}

/// What an answer holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Digest {
    /// Rows or triples.
    pub(crate) rows: u64,
    pub(crate) hash: u64,
}

#[derive(Deserialize)]
struct Document<'a> {
    #[serde(borrow)]
    results: Results<'a>,
}

#[derive(Deserialize)]
struct Results<'a> {
    #[serde(borrow)]
    bindings: Vec<BTreeMap<Cow<'a, str>, Term<'a>>>,
}

#[derive(Deserialize)]
struct Term<'a> {
    #[serde(rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    value: Cow<'a, str>,
    datatype: Option<Cow<'a, str>>,
    #[serde(rename = "xml:lang")]
    language: Option<Cow<'a, str>>,
}

/// Reads an answer; returns in words what is wrong with it.
pub(crate) fn digest(form: QueryForm, answer: &Answer) -> Result<Digest, String> {
    if !(200..300).contains(&answer.status) {
        let start = &answer.body[..answer.body.len().min(200)];
        let text = String::from_utf8_lossy(start);
        return Err(format!("status {}: {}", answer.status, text.trim()));
    }
    if form == QueryForm::Update {
        return Ok(Digest::default());
    }
    let expected = accepted(form);
    let media_type = answer.media_type.as_str();
    let is_plain_text = form == QueryForm::Graph && media_type == "text/plain";
    if media_type != expected && !is_plain_text {
        return Err(format!("the answer is {media_type:?}, not {expected:?}"));
    }
    match form {
        QueryForm::Select => digest_rows(&answer.body),
        _ => digest_triples(&answer.body),
    }
}

fn digest_rows(body: &[u8]) -> Result<Digest, String> {
    let document: Document<'_> =
        serde_json::from_slice(body).map_err(|error| format!("unreadable results: {error}"))?;
    let mut digest = Digest::default();
    for row in &document.results.bindings {
        let mut hash = Fnv::new();
        for (name, term) in row {
            hash.add(name);
            hash_term(term, &mut hash);
        }
        digest.rows += 1;
        digest.hash = digest.hash.wrapping_add(hash.finish());
    }
    Ok(digest)
}

fn hash_term(term: &Term<'_>, hash: &mut Fnv) {
    // Old engines write typed literals as a kind of their own.
    hash.add(match &*term.kind {
        "typed-literal" => "literal",
        kind => kind,
    });
    if term.kind == "bnode" {
        return;
    }
    let datatype = term.datatype.as_deref().unwrap_or_default();
    let local = datatype.strip_prefix("http://www.w3.org/2001/XMLSchema#");
    match (local, term.value.trim().parse::<f64>()) {
        (Some("integer" | "decimal" | "float" | "double"), Ok(value)) => {
            hash.add(&format!("{value:.5e}"));
        }
        _ => {
            hash.add(&term.value);
            hash.add(if local == Some("string") {
                ""
            } else {
                datatype
            });
        }
    }
    let language = term.language.as_deref().unwrap_or_default();
    hash.add(&language.to_ascii_lowercase());
}

fn digest_triples(body: &[u8]) -> Result<Digest, String> {
    let text = std::str::from_utf8(body).map_err(|_| "the triples are not text".to_owned())?;
    let mut digest = Digest::default();
    for line in text.lines().map(str::trim) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if !line.ends_with('.') || !(line.starts_with('<') || line.starts_with("_:")) {
            return Err(format!("{line:?} is not a triple"));
        }
        let mut hash = Fnv::new();
        for word in line.trim_end_matches('.').split_whitespace() {
            hash.add(if word.starts_with("_:") { "_:" } else { word });
        }
        digest.rows += 1;
        digest.hash = digest.hash.wrapping_add(hash.finish());
    }
    Ok(digest)
}

/// The FNV-1a hash with a final mix, so that sums of hashes spread well.
pub(crate) struct Fnv(u64);

impl Fnv {
    pub(crate) fn new() -> Fnv {
        Fnv(0xCBF2_9CE4_8422_2325)
    }

    /// Adds a text and an end mark.
    pub(crate) fn add(&mut self, text: &str) {
        for byte in text.bytes().chain([0xFF]) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
        }
    }

    pub(crate) fn finish(self) -> u64 {
        crate::random::scramble(self.0)
    }
}
