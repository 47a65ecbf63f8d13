//! What a store holds after the updates: counts, and hashes of all that they touched.
//!
//! A store could be fast by doing nothing. So each is asked, by a new process after the one that was
//! measured was killed, how many triples there are of each predicate, for each vendor how many offers are left and
//! the sum of their days of delivery, and every triple of the products that were inserted, of their offers and
//! of their reviews. Stores that did the same transactions answer alike.
//!
//! Invariants: rows count whatever their order; numbers are compared by value to six digits, all else
//! by its text; a question that fails is an error, never an empty answer.
//!
//! Cost: two scans, and two look-ups for each product inserted.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use super::super::systems::endpoint::Served;
use super::super::systems::http;
use super::super::work_folder::cannot;
use crate::error::XtaskError;

/// The namespace of the benchmark's vocabulary.
const BSBM: &str = "http://www4.wiwiss.fu-berlin.de/bizer/bsbm/v01/vocabulary/";
const XSD: &str = "http://www.w3.org/2001/XMLSchema#";
/// How long a question may take: a scan of everything, at worst.
pub const QUESTION_MAX: Duration = Duration::from_secs(300);

/// What a store holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    /// All triples.
    pub triples: u64,
    /// Triples of each predicate.
    pub predicates: Digest,
    /// Offers of each vendor, and the days that they take together.
    pub offers: Digest,
    /// The triples of products that were inserted, and of their offers and reviews.
    pub inserted: Digest,
}

/// Rows as a number of them and a hash.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Digest {
    /// The rows.
    pub rows: u64,
    /// The sum of their hashes.
    hash: u64,
}

impl State {
    /// Asks a server; `products` are those that were inserted.
    pub fn read(served: &Served, products: &[String]) -> Result<Self, XtaskError> {
        let ask = |query: &str| http::rows(&served.url, served.default_graph, query, QUESTION_MAX);
        let by_predicate = ask("SELECT ?p (COUNT(*) AS ?n) { ?s ?p ?o } GROUP BY ?p")?;
        let counts = by_predicate.iter().map(|row| number(&row["n"]));
        let triples: Option<f64> = counts.sum();
        let triples = triples.ok_or_else(|| XtaskError::Answer {
            command: format!("counts of {}", served.url),
            what: "a count is no number".to_owned(),
        })?;
        let offers = ask(&format!(
            "SELECT ?vendor (COUNT(?offer) AS ?n) (SUM(?days) AS ?sum) \
             {{ ?offer <{BSBM}vendor> ?vendor ; <{BSBM}deliveryDays> ?days }} GROUP BY ?vendor"
        ))?;
        let mut inserted = Digest::default();
        for product in products {
            let own = ask(&format!("SELECT ?p ?o {{ <{product}> ?p ?o }}"))?;
            let linked = ask(&format!(
                "SELECT ?s ?p ?o {{ {{ ?s <{BSBM}product> <{product}> }} \
                 UNION {{ ?s <{BSBM}reviewFor> <{product}> }} ?s ?p ?o }}"
            ))?;
            inserted.add(&own, product);
            inserted.add(&linked, product);
        }
        Ok(Self {
            triples: triples as u64,
            predicates: Digest::of(&by_predicate),
            offers: Digest::of(&offers),
            inserted,
        })
    }

    /// The parts by their names, as texts.
    pub fn parts(&self) -> [(&'static str, String); 4] {
        let digest = |digest: Digest| format!("{} rows, {:016x}", digest.rows, digest.hash);
        [
            ("triples", self.triples.to_string()),
            ("counts of predicates", digest(self.predicates)),
            ("offers by vendor", digest(self.offers)),
            ("triples of inserted products", digest(self.inserted)),
        ]
    }

    /// In what it differs from another one, in words.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let pairs = self.parts().into_iter().zip(other.parts());
        let differing = pairs.filter(|((_, own), (_, other))| own != other);
        differing
            .map(|((name, own), (_, other))| format!("{name}: {own}, not {other}"))
            .collect()
    }
}

impl Digest {
    fn of(rows: &[Value]) -> Self {
        let mut digest = Self::default();
        digest.add(rows, "");
        digest
    }

    /// Adds rows, under a name that tells them from the same rows elsewhere.
    fn add(&mut self, rows: &[Value], name: &str) {
        for row in rows {
            let text = format!("{name}\n{}", canonical(row));
            self.rows += 1;
            self.hash = self.hash.wrapping_add(hash(&text));
        }
    }
}

/// The largest number of six digits.
const SIX_DIGITS_MAX: u128 = 999_999;

/// A row as a text that is the same for the same terms.
fn canonical(row: &Value) -> String {
    let mut text = String::new();
    let mut names: Vec<(&String, &Value)> = row.as_object().into_iter().flatten().collect();
    names.sort_by_key(|(name, _)| name.as_str());
    for (name, term) in names {
        let part = |key: &str| term[key].as_str().unwrap_or_default();
        let kind = match part("type") {
            "typed-literal" => "literal",
            kind => kind,
        };
        let datatype = part("datatype");
        let value = match numeric_text(term) {
            Some(text) => text,
            None if datatype.strip_prefix(XSD) == Some("string") => part("value").to_owned(),
            None if datatype.is_empty() => part("value").to_owned(),
            None => format!("{}\t{datatype}", part("value")),
        };
        let language = part("xml:lang").to_ascii_lowercase();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name}\t{kind}\t{value}\t{language}");
    }
    text
}

/// A numeric term to six digits, in one spelling whatever its type; an integer with more of them exactly.
fn numeric_text(term: &Value) -> Option<String> {
    let number = number(term)?;
    let part = |key: &str| term[key].as_str().unwrap_or_default();
    let is_integer = part("datatype").strip_prefix(XSD) == Some("integer");
    match part("value").trim().parse::<i128>() {
        Ok(integer) if is_integer && integer.unsigned_abs() > SIX_DIGITS_MAX => {
            Some(integer.to_string())
        }
        // Zero has one spelling.
        _ => Some(format!("{:.5e}", number + 0.0)),
    }
}

/// The value of a numeric term.
fn number(term: &Value) -> Option<f64> {
    let datatype = term["datatype"].as_str()?.strip_prefix(XSD)?;
    let is_numeric = matches!(datatype, "integer" | "decimal" | "float" | "double");
    is_numeric.then_some(())?;
    term["value"].as_str()?.trim().parse().ok()
}

/// FNV-1a, and a step that spreads it, since hashes are added.
fn hash(text: &str) -> u64 {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (hash ^ (hash >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

/// The products of an update file, in order.
pub fn products(update_file: &Path) -> Result<Vec<String>, XtaskError> {
    let text = fs::read_to_string(update_file);
    let text = text.map_err(|source| cannot("read", update_file, source))?;
    Ok(products_in(&text))
}

fn products_in(text: &str) -> Vec<String> {
    let subjects = text.lines().filter_map(|line| {
        let (subject, _) = line.strip_prefix('<')?.split_once('>')?;
        let (_, digits) = subject.rsplit_once("/Product")?;
        let is_product = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        is_product.then(|| subject.to_owned())
    });
    subjects.collect::<BTreeSet<_>>().into_iter().collect()
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use serde_json::json;

    /// A state of so many triples.
    pub fn state(triples: u64) -> State {
        State {
            triples,
            predicates: Digest::of(&[json!({"p": {"type": "uri", "value": "http://p"}})]),
            offers: Digest::default(),
            inserted: Digest::default(),
        }
    }

    #[test]
    fn rows_are_equal_by_their_terms_whatever_their_order_and_spelling() {
        let integer = format!("{XSD}integer");
        let string = format!("{XSD}string");
        let one = [
            json!({"n": {"type": "typed-literal", "value": "007", "datatype": integer},
                   "s": {"type": "uri", "value": "http://x"}}),
            json!({"s": {"type": "literal", "value": "a", "xml:lang": "EN"}}),
            json!({"s": {"type": "literal", "value": "b", "datatype": string}}),
        ];
        let other = [
            json!({"s": {"type": "literal", "value": "b"}}),
            json!({"s": {"type": "literal", "value": "a", "xml:lang": "en"}}),
            json!({"s": {"type": "uri", "value": "http://x"},
                   "n": {"type": "literal", "value": "7", "datatype": integer}}),
        ];
        assert_eq!(Digest::of(&one), Digest::of(&other));
        for (place, changed) in [
            (0, json!({"s": {"type": "uri", "value": "b"}})),
            (
                0,
                json!({"s": {"type": "literal", "value": "b", "datatype": "http://d"}}),
            ),
            (0, json!({"t": {"type": "literal", "value": "b"}})),
            (
                1,
                json!({"s": {"type": "literal", "value": "a", "xml:lang": "de"}}),
            ),
        ] {
            let mut rows = other.clone();
            rows[place] = changed;
            assert_ne!(Digest::of(&one), Digest::of(&rows));
        }
        let mut named = Digest::default();
        named.add(&one, "http://product");
        assert_ne!(named, Digest::of(&one));
        assert_eq!(named.rows, 3);
    }

    #[test]
    fn numbers_are_equal_by_value_and_long_integers_to_the_last_digit() {
        let digest = |value: &str, datatype: &str| {
            let datatype = format!("{XSD}{datatype}");
            Digest::of(&[json!({"n": {"type": "literal", "value": value, "datatype": datatype}})])
        };
        assert_eq!(digest("5", "integer"), digest("5.0", "decimal"));
        assert_eq!(digest("-0.0", "double"), digest("0", "integer"));
        assert_eq!(digest("1.0000001", "float"), digest("1.0", "float"));
        assert_eq!(digest("+01234567", "integer"), digest("1234567", "integer"));
        assert_ne!(digest("1234567", "integer"), digest("1234568", "integer"));
        assert_ne!(digest("999998", "integer"), digest("999999", "integer"));
    }

    #[test]
    fn differences_name_what_differs() {
        assert_eq!(state(7).differences(&state(7)), [""; 0]);
        assert_eq!(state(7).differences(&state(8)), ["triples: 7, not 8"]);
    }

    #[test]
    fn products_are_found_among_what_is_inserted() {
        let text = "<http://i/dataFromProducer1/Product12> <p> <o> .\n\
                    <http://i/dataFromProducer1/Product12> <q> <o> .\n\
                    <http://i/dataFromVendor1/Offer7> <p> <http://i/Product12> .\n\
                    <http://i/dataFromProducer1/Product12/x> <p> <o> .\n\n#__SEP__\n\
                    <http://i/dataFromProducer1/Product9> <p> <o> .\n";
        let expected = ["Product12", "Product9"].map(|p| format!("http://i/dataFromProducer1/{p}"));
        assert_eq!(products_in(text), expected);
    }
}
