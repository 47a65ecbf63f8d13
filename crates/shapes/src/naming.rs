//! Names of tables: from the class, else from the referrer, else from a telling predicate.
//!
//! Names are made of the last part of an IRI, and made unique by a number.

use basalt_rdf::TermId;
use std::collections::HashSet;

/// Where discovery learns the text of IRIs; asked only for the few it needs.
pub trait Names {
    /// The IRI of the predicate with this index.
    fn predicate(&self, predicate: u32) -> String;
    /// The IRI (or label) of a resource.
    fn term(&self, id: TermId) -> String;
}

/// The part of an IRI after its last `#`, `/` or `:` that is followed by something.
pub fn local_name(iri: &str) -> &str {
    let trimmed = iri.trim_end_matches(['/', '#', ':']);
    let start = trimmed.rfind(['#', '/', ':']).map_or(0, |at| at + 1);
    if start < trimmed.len() {
        &trimmed[start..]
    } else {
        iri
    }
}

/// The part of an IRI up to its local name.
pub fn namespace(iri: &str) -> &str {
    let trimmed = iri.trim_end_matches(['/', '#', ':']);
    &trimmed[..trimmed.rfind(['#', '/', ':']).map_or(0, |at| at + 1)]
}

/// Hands out names, each once.
#[derive(Default)]
pub(crate) struct UniqueNames {
    taken: HashSet<String>,
}

impl UniqueNames {
    /// The wished name, or the name with the first free number from 2 on.
    pub(crate) fn take(&mut self, wish: String) -> String {
        let mut name = wish.clone();
        let mut number = 2u32;
        // Termination: each round tries another name and finitely many are taken.
        while !self.taken.insert(name.clone()) {
            name = format!("{wish} {number}");
            number += 1;
        }
        name
    }
}
