//! SPARQL Query Results XML in: the head, then a boolean or rows.
//!
//! Written here because the crate that reads the other formats takes away the spaces around a literal
//! and takes a text that was cut for a shorter one. Elements and attributes that the format does not know
//! are errors inside of a row and are passed over in the head.

use super::xml_text::{Piece, XmlText};
use oxrdf::{BlankNode, Literal, NamedNode, Term};
use std::io::Read;

/// A row, or what is wrong with the text.
type XmlRow = Result<Vec<Option<Term>>, String>;

/// What follows the head.
pub(super) enum XmlResults<R: Read> {
    Boolean(bool),
    Rows(XmlRows<R>),
}

/// The rows of a document.
pub(super) struct XmlRows<R: Read> {
    text: XmlText<R>,
    variables: Vec<String>,
    has_ended: bool,
}

/// The next piece that is not space between elements.
fn element<R: Read>(text: &mut XmlText<R>) -> Result<Option<Piece>, String> {
    loop {
        match text.next()? {
            Some(Piece::Text(space)) if space.trim().is_empty() => {}
            Some(Piece::Text(other)) => {
                return Err(format!("'{}' stands between elements", other.trim()));
            }
            piece => return Ok(piece),
        }
    }
}

/// The text up to the end of an element that holds nothing else.
fn content<R: Read>(text: &mut XmlText<R>) -> Result<String, String> {
    let mut content = String::new();
    loop {
        match text.next()? {
            Some(Piece::Text(more)) => content.push_str(&more),
            Some(Piece::End) => return Ok(content),
            Some(Piece::Start(name, _)) => return Err(format!("<{name}> stands inside a value")),
            None => return Err("a value does not end".to_owned()),
        }
    }
}

fn attribute(attributes: Vec<(String, String)>, wanted: &str) -> Option<String> {
    let mut found = attributes.into_iter().filter(|(name, _)| name == wanted);
    found.next().map(|(_, value)| value)
}

fn unexpected(piece: Option<Piece>, wanted: &str) -> String {
    match piece {
        Some(Piece::Start(name, _)) => format!("<{name}> where {wanted} was expected"),
        _ => format!("an end where {wanted} was expected"),
    }
}

/// Reads the head, and the boolean if it is one.
pub(super) fn read<R: Read>(reader: R) -> Result<XmlResults<R>, String> {
    let mut text = XmlText::new(reader);
    match element(&mut text)? {
        Some(Piece::Start(name, _)) if name == "sparql" => {}
        other => return Err(unexpected(other, "<sparql>")),
    }
    match element(&mut text)? {
        Some(Piece::Start(name, _)) if name == "head" => {}
        other => return Err(unexpected(other, "<head>")),
    }
    let variables = head(&mut text)?;
    match element(&mut text)? {
        Some(Piece::Start(name, _)) if name == "results" => Ok(XmlResults::Rows(XmlRows {
            text,
            variables,
            has_ended: false,
        })),
        Some(Piece::Start(name, _)) if name == "boolean" => {
            let value = match content(&mut text)?.trim() {
                "true" | "1" => true,
                "false" | "0" => false,
                other => return Err(format!("'{other}' is not a boolean")),
            };
            end(&mut text)?;
            Ok(XmlResults::Boolean(value))
        }
        other => Err(unexpected(other, "<results> or <boolean>")),
    }
}

/// The variables, up to the end of the head.
fn head<R: Read>(text: &mut XmlText<R>) -> Result<Vec<String>, String> {
    let mut variables = Vec::new();
    let mut depth = 0;
    loop {
        match text.next()? {
            Some(Piece::Start(name, attributes)) => {
                depth += 1;
                if name == "variable" {
                    let name =
                        attribute(attributes, "name").ok_or("a <variable> without a name")?;
                    if variables.contains(&name) {
                        return Err(format!("the variable '{name}' stands twice in the head"));
                    }
                    variables.push(name);
                }
            }
            Some(Piece::End) if depth == 0 => return Ok(variables),
            Some(Piece::End) => depth -= 1,
            Some(Piece::Text(_)) => {}
            None => return Err("the head does not end".to_owned()),
        }
    }
}

/// The end of the root element and of the document.
fn end<R: Read>(text: &mut XmlText<R>) -> Result<(), String> {
    match element(text)? {
        Some(Piece::End) => {}
        other => return Err(unexpected(other, "</sparql>")),
    }
    match text.next()? {
        None => Ok(()),
        other => Err(unexpected(other, "the end of the document")),
    }
}

impl<R: Read> XmlRows<R> {
    pub(super) fn variables(&self) -> &[String] {
        &self.variables
    }

    /// The next row; `None` after the last one, when the document has been read to its end.
    fn row(&mut self) -> Result<Option<Vec<Option<Term>>>, String> {
        match element(&mut self.text)? {
            Some(Piece::Start(name, _)) if name == "result" => {}
            Some(Piece::End) => return end(&mut self.text).map(|()| None),
            other => return Err(unexpected(other, "<result>")),
        }
        let mut row = vec![None; self.variables.len()];
        loop {
            match element(&mut self.text)? {
                Some(Piece::End) => return Ok(Some(row)),
                Some(Piece::Start(name, attributes)) if name == "binding" => {
                    let name = attribute(attributes, "name").ok_or("a <binding> without a name")?;
                    let place = self.variables.iter().position(|other| *other == name);
                    let place = place.ok_or_else(|| format!("'{name}' is not in the head"))?;
                    row[place] = Some(self.value()?);
                }
                other => return Err(unexpected(other, "<binding>")),
            }
        }
    }

    /// The value in a binding, and the end of the binding.
    fn value(&mut self) -> Result<Term, String> {
        let (kind, attributes) = match element(&mut self.text)? {
            Some(Piece::Start(kind, attributes)) => (kind, attributes),
            other => return Err(unexpected(other, "a value")),
        };
        let text = content(&mut self.text)?;
        let term = match kind.as_str() {
            "uri" => NamedNode::new(text.as_str())
                .map_err(|error| format!("'{text}' is not an IRI: {error}"))?
                .into(),
            "bnode" => blank_node(&text).into(),
            "literal" => literal(text, attributes)?.into(),
            other => return Err(format!("<{other}> is not a kind of value")),
        };
        match element(&mut self.text)? {
            Some(Piece::End) => Ok(term),
            other => Err(unexpected(other, "</binding>")),
        }
    }
}

/// Labels that are none in other syntaxes (some servers write IRIs) are written as digits.
fn blank_node(label: &str) -> BlankNode {
    BlankNode::new(label).unwrap_or_else(|_| {
        let digits: String = label.bytes().map(|byte| format!("{byte:02x}")).collect();
        BlankNode::new_unchecked(format!("x{digits}"))
    })
}

fn literal(text: String, attributes: Vec<(String, String)>) -> Result<Literal, String> {
    let (mut language, mut datatype) = (None, None);
    for (name, value) in attributes {
        match name.as_str() {
            "lang" => language = Some(value),
            "datatype" => datatype = Some(value),
            _ => {}
        }
    }
    match (language, datatype) {
        (Some(language), _) => {
            let wrong = |error| format!("'{language}' is not a language: {error}");
            Literal::new_language_tagged_literal(text, language.as_str()).map_err(wrong)
        }
        (None, Some(datatype)) => {
            let wrong = |error| format!("'{datatype}' is not an IRI: {error}");
            let datatype = NamedNode::new(datatype.as_str()).map_err(wrong)?;
            Ok(Literal::new_typed_literal(text, datatype))
        }
        (None, None) => Ok(Literal::new_simple_literal(text)),
    }
}

impl<R: Read> Iterator for XmlRows<R> {
    type Item = XmlRow;

    fn next(&mut self) -> Option<XmlRow> {
        if self.has_ended {
            return None;
        }
        let row = self.row().transpose();
        self.has_ended = !matches!(row, Some(Ok(_)));
        row
    }
}
