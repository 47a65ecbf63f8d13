//! Reads SPARQL results in JSON as a stream of cells.
//!
//! Nothing is kept of a row but what the [`RowSink`] keeps, and texts without escapes are borrowed
//! from the body, so that reading costs the driver little beside what it measures. A document that
//! ends early, or that has neither rows nor a boolean, is an error.

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;

/// A text of the document, borrowed unless it has escapes.
#[derive(Clone, Debug)]
pub(crate) struct Text<'a>(pub(crate) Cow<'a, str>);

/// A term as the results format writes it.
#[derive(Deserialize)]
pub(crate) struct Term<'a> {
    /// `uri`, `literal` (or `typed-literal`, from old engines) or `bnode`.
    #[serde(borrow, rename = "type")]
    pub(crate) kind: Text<'a>,
    #[serde(borrow)]
    pub(crate) value: Text<'a>,
    #[serde(borrow)]
    pub(crate) datatype: Option<Text<'a>>,
    #[serde(borrow, rename = "xml:lang")]
    pub(crate) language: Option<Text<'a>>,
}

/// Takes what is read.
pub(crate) trait RowSink {
    /// The variables of the rows.
    fn variables(&mut self, _names: Vec<String>) {}
    /// The answer to an ASK query.
    fn boolean(&mut self, _value: bool) {}
    /// A value of the row that is being read.
    fn cell(&mut self, name: &str, term: &Term<'_>);
    /// The row is complete.
    fn end_row(&mut self);
}

/// Reads a whole document; returns in words what is wrong with it.
pub(super) fn read_json_rows(body: &[u8], sink: &mut dyn RowSink) -> Result<(), String> {
    let mut document = serde_json::Deserializer::from_slice(body);
    let outcome = Document(sink)
        .deserialize(&mut document)
        .and_then(|()| document.end());
    outcome.map_err(|error| format!("unreadable results: {error}"))
}

impl Text<'_> {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(TextVisitor)
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Text<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Text(Cow::Borrowed(text)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Text(Cow::Owned(text.to_owned())))
    }
}

#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    vars: Vec<String>,
}

/// The outermost object.
struct Document<'s>(&'s mut dyn RowSink);

/// The object with the key `bindings`.
struct Results<'s>(&'s mut dyn RowSink);

/// The array of rows.
struct Bindings<'s>(&'s mut dyn RowSink);

/// One row.
struct Row<'s>(&'s mut dyn RowSink);

macro_rules! seed {
    ($name:ident, $method:ident) => {
        impl<'de> DeserializeSeed<'de> for $name<'_> {
            type Value = ();

            fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
                deserializer.$method(self)
            }
        }
    };
}

seed!(Document, deserialize_map);
seed!(Results, deserialize_map);
seed!(Bindings, deserialize_seq);
seed!(Row, deserialize_map);

impl<'de> Visitor<'de> for Document<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with results")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut has_answer = false;
        while let Some(key) = map.next_key::<Text<'de>>()? {
            match key.as_str() {
                "head" => self.0.variables(map.next_value::<Head>()?.vars),
                "results" => {
                    map.next_value_seed(Results(&mut *self.0))?;
                    has_answer = true;
                }
                "boolean" => {
                    self.0.boolean(map.next_value()?);
                    has_answer = true;
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        match has_answer {
            true => Ok(()),
            false => Err(A::Error::missing_field("results")),
        }
    }
}

impl<'de> Visitor<'de> for Results<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with bindings")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut has_bindings = false;
        while let Some(key) = map.next_key::<Text<'de>>()? {
            if key.as_str() == "bindings" {
                map.next_value_seed(Bindings(&mut *self.0))?;
                has_bindings = true;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        match has_bindings {
            true => Ok(()),
            false => Err(A::Error::missing_field("bindings")),
        }
    }
}

impl<'de> Visitor<'de> for Bindings<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of rows")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut rows: A) -> Result<(), A::Error> {
        while rows.next_element_seed(Row(&mut *self.0))?.is_some() {
            self.0.end_row();
        }
        Ok(())
    }
}

impl<'de> Visitor<'de> for Row<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a row: an object of terms")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut row: A) -> Result<(), A::Error> {
        while let Some(name) = row.next_key::<Text<'de>>()? {
            let term = row.next_value::<Term<'de>>()?;
            self.0.cell(name.as_str(), &term);
        }
        Ok(())
    }
}
