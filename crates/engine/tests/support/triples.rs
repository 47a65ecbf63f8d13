//! Triples that a test makes one by one, as N-Triples.

use std::fmt::Write;

/// The names of subjects, predicates and objects are in this namespace.
pub const NS: &str = "http://example.org/";

/// The text.
#[derive(Default)]
pub struct Triples(pub String);

impl Triples {
    /// Adds a triple of two names and an object as it is written.
    pub fn add(&mut self, subject: &str, predicate: &str, object: &str) {
        writeln!(self.0, "<{NS}{subject}> <{NS}{predicate}> {object} .").expect("memory has room");
    }
}

/// The object with a name that ends in a number.
pub fn iri(name: &str, number: usize) -> String {
    format!("<{NS}{name}{number}>")
}

/// A number of a datatype of XML Schema.
pub fn number(value: usize, datatype: &str) -> String {
    format!("\"{value}\"^^<http://www.w3.org/2001/XMLSchema#{datatype}>")
}
