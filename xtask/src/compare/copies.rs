//! Makes a large data set of a small one: copies whose resources differ, under the same
//! predicates and classes, as if there were more of the same kinds of things.
//!
//! Invariants: copies share no subject, so a file of n different triples gives n
//! different triples a copy; predicates, literals and the objects of `rdf:type` stay.
//!
//! Cost: linear in what is written; the small file is in memory.

use std::io::{self, Write};

/// The predicate whose objects are classes.
const TYPE: &str = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>";

/// Writes the copy of that number of N-Triples text.
pub fn write_copy(text: &str, copy: u32, output: &mut impl Write) -> io::Result<()> {
    for line in text.lines() {
        let line = line.trim();
        if !line.is_empty() && !line.starts_with('#') {
            write_line(line, copy, output)?;
        }
    }
    Ok(())
}

/// Writes one triple with its subject moved, and its object unless that is a class.
fn write_line(line: &str, copy: u32, output: &mut impl Write) -> io::Result<()> {
    let mut terms = line.splitn(3, [' ', '\t']);
    let subject = terms.next().unwrap_or_default();
    let predicate = terms.next().unwrap_or_default();
    let rest = terms.next().unwrap_or_default();
    write_moved(subject, copy, output)?;
    write!(output, " {predicate} ")?;
    if predicate == TYPE {
        output.write_all(rest.as_bytes())?;
    } else {
        write_moved(rest, copy, output)?;
    }
    output.write_all(b"\n")
}

/// Writes a term, with whatever follows it, as that of a copy: the copy's number is in the
/// IRI's host, before its scheme if there is no host, or in the blank node's label.
fn write_moved(term: &str, copy: u32, output: &mut impl Write) -> io::Result<()> {
    if let Some(label) = term.strip_prefix("_:") {
        return write!(output, "_:copy{copy}-{label}");
    }
    let Some(iri) = term.strip_prefix('<') else {
        return output.write_all(term.as_bytes());
    };
    match iri.split_once("://") {
        Some((scheme, rest)) if !scheme.contains('>') => {
            write!(output, "<{scheme}://copy{copy}.{rest}")
        }
        _ => write!(output, "<copy{copy}:{iri}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_move_and_the_rest_stays() {
        let text = "\
# a comment
<http://e.org/a> <http://e.org/p> <http://e.org/b> .

<urn:a> <http://e.org/p> \"<http://e.org/c> in text\"@en .
_:x <http://e.org/p> _:y .
<http://e.org/a> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://e.org/C> .
";
        let mut bytes = Vec::new();
        write_copy(text, 7, &mut bytes).expect("memory can be written");
        assert_eq!(
            String::from_utf8(bytes).expect("it is text"),
            "\
<http://copy7.e.org/a> <http://e.org/p> <http://copy7.e.org/b> .
<copy7:urn:a> <http://e.org/p> \"<http://e.org/c> in text\"@en .
_:copy7-x <http://e.org/p> _:copy7-y .
<http://copy7.e.org/a> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://e.org/C> .
"
        );
    }
}
