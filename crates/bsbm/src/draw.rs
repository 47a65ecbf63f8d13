//! Parameter values of one query, typed so that each is spelled correctly in a query text.

use crate::vocabulary::Resource;

/// The name of the product type that a query can be drilled down on.
pub(crate) const PRODUCT_TYPE: &str = "ProductType";

/// Which execution parameters are drawn for: they are a pure function of these three numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Draw {
    /// The seed of the run.
    pub seed: u64,
    /// The number of the mix; negative ones are for warm-up.
    pub mix: i64,
    /// The position of the query in its mix.
    pub position: u32,
}

/// A value to put into a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// An IRI, without brackets.
    Iri(String),
    /// An integer.
    Integer(u64),
    /// An xsd:date.
    Date(String),
    /// An xsd:dateTime.
    DateTime(String),
    /// A plain string.
    Text(String),
    /// Triples in N-Triples syntax, trusted to be well formed.
    Triples(String),
}

/// The parameters of one query, by the names that its text uses.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Parameters {
    values: Vec<(&'static str, Value)>,
    /// The level and number of the product type, if it was drawn from several levels.
    product_type: Option<(usize, u64)>,
}

impl Parameters {
    /// Adds a value, or replaces the one of that name.
    pub fn set(&mut self, name: &'static str, value: Value) {
        match self.values.iter_mut().find(|(known, _)| *known == name) {
            Some((_, old)) => *old = value,
            None => self.values.push((name, value)),
        }
    }

    /// The value of a name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        let found = self.values.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| value)
    }

    /// All names and values, in the order in which they were drawn.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        self.values.iter().map(|(name, value)| (*name, value))
    }

    /// The level of the product type in the tree, if it was drawn from several; the root is 0.
    pub fn level(&self) -> Option<usize> {
        self.product_type.map(|(level, _)| level)
    }

    pub(crate) fn product_type(&self) -> Option<(usize, u64)> {
        self.product_type
    }

    pub(crate) fn set_product_type(&mut self, level: usize, number: u64) {
        let iri = Resource::ProductType(number).text();
        self.set(PRODUCT_TYPE, Value::Iri(iri));
        self.product_type = Some((level, number));
    }
}

impl Value {
    /// Appends the SPARQL spelling.
    pub(crate) fn push_to(&self, out: &mut String) {
        match self {
            Value::Iri(iri) => {
                out.push('<');
                for character in iri.chars() {
                    // What may not stand between the brackets is percent-encoded.
                    if character <= ' ' || "<>\"{}|^`\\".contains(character) {
                        out.push_str(&format!("%{:02X}", u32::from(character)));
                    } else {
                        out.push(character);
                    }
                }
                out.push('>');
            }
            Value::Integer(value) => out.push_str(&value.to_string()),
            Value::Date(date) => push_typed(out, date, "date"),
            Value::DateTime(instant) => push_typed(out, instant, "dateTime"),
            Value::Text(text) => push_quoted(out, text),
            Value::Triples(triples) => out.push_str(triples),
        }
    }
}

fn push_typed(out: &mut String, text: &str, datatype: &str) {
    push_quoted(out, text);
    out.push_str("^^<http://www.w3.org/2001/XMLSchema#");
    out.push_str(datatype);
    out.push('>');
}

fn push_quoted(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            other => out.push(other),
        }
    }
    out.push('"');
}
