//! The type of a column, chosen from a sample, and the column filled with terms.

use super::lexical::{self, Style};
use arrow_array::ArrayRef;
use arrow_array::builder::{
    ArrayBuilder, BooleanBuilder, Date32Builder, Decimal128Builder, Float32Builder, Float64Builder,
    Int64Builder, StringBuilder, TimestampMicrosecondBuilder,
};
use arrow_schema::{DataType, Field, TimeUnit};
use basalt_rdf::term_view::{XSD, XSD_STRING};
use basalt_rdf::{LiteralKind, TermView};
use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;

/// Digits of all decimals of 128 bits.
const DECIMAL_PRECISION: u8 = 38;
/// Fraction digits of a column at most.
const SCALE_MAX: usize = 18;
/// `xsd:integer` and what is derived from it.
const INTEGERS: [&str; 13] = [
    "integer",
    "long",
    "int",
    "short",
    "byte",
    "nonNegativeInteger",
    "positiveInteger",
    "nonPositiveInteger",
    "negativeInteger",
    "unsignedLong",
    "unsignedInt",
    "unsignedShort",
    "unsignedByte",
];

/// What a term is, as far as it decides the type of a column.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Class {
    Iri,
    Blank,
    Language(String),
    Datatype(String),
}

impl Class {
    /// Whether a term is of this class.
    fn holds(&self, term: TermView<'_>) -> bool {
        match (self, term) {
            (Self::Iri, TermView::Iri(_)) | (Self::Blank, TermView::Blank(_)) => true,
            (Self::Language(known), TermView::Literal(literal)) => {
                matches!(literal.kind, LiteralKind::Language(tag) if tag == known)
            }
            (Self::Datatype(known), TermView::Literal(literal)) => {
                !matches!(literal.kind, LiteralKind::Language(_)) && literal.datatype() == known
            }
            _ => false,
        }
    }

    fn of(term: TermView<'_>) -> Self {
        match term {
            TermView::Iri(_) => Self::Iri,
            TermView::Blank(_) => Self::Blank,
            TermView::Literal(literal) => match literal.kind {
                LiteralKind::Language(tag) => Self::Language(tag.to_owned()),
                _ => Self::Datatype(literal.datatype().to_owned()),
            },
        }
    }
}

/// The text of a term: the IRI, the label or the lexical form.
fn text_of(term: TermView<'_>) -> &str {
    match term {
        TermView::Iri(text) | TermView::Blank(text) => text,
        TermView::Literal(literal) => literal.lexical,
    }
}

/// How values are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Physical {
    Text,
    Integer,
    Boolean,
    Double(Style),
    Single(Style),
    Decimal(usize, Style),
    Date,
    DateTime { is_utc: bool },
}

/// A value of one of the types.
#[derive(Clone, Copy, Debug)]
enum Value {
    Integer(i64),
    Boolean(bool),
    Double(f64),
    Single(f32),
    Decimal(i128),
    Date(i32),
    DateTime(i64),
}

impl Physical {
    /// The value of a literal in this type, whatever its exact form. Never for [`Physical::Text`].
    fn value(self, datatype: &str, text: &str) -> Option<Value> {
        let name = datatype.strip_prefix(XSD)?;
        let is_integer = INTEGERS.contains(&name);
        match self {
            Self::Integer if is_integer => lexical::integer(text).map(Value::Integer),
            Self::Boolean if name == "boolean" => lexical::boolean(text).map(Value::Boolean),
            Self::Double(_) if name == "double" => lexical::float(text).map(Value::Double),
            Self::Single(_) if name == "float" => lexical::float(text).map(Value::Single),
            Self::Decimal(scale, _) if name == "decimal" || is_integer => {
                lexical::decimal(text, scale).map(Value::Decimal)
            }
            Self::Date if name == "date" => lexical::date(text).map(Value::Date),
            Self::DateTime { is_utc }
                if name == "dateTime" && lexical::has_zone(text) == is_utc =>
            {
                lexical::date_time(text).map(Value::DateTime)
            }
            _ => None,
        }
    }

    /// Appends the form that a value stands for.
    fn push_form(self, out: &mut String, value: Value) {
        match (value, self) {
            (Value::Double(value), Self::Double(style)) => lexical::push_double(out, value, style),
            (Value::Single(value), Self::Single(style)) => lexical::push_single(out, value, style),
            (Value::Decimal(value), Self::Decimal(scale, style)) => {
                lexical::push_decimal(out, value, scale, style);
            }
            (Value::Date(value), _) => lexical::push_date(out, value),
            (Value::DateTime(value), _) => {
                lexical::push_date_time(
                    out,
                    value,
                    matches!(self, Self::DateTime { is_utc: true }),
                );
            }
            // Writing to a string cannot fail.
            (Value::Integer(value), _) => drop(write!(out, "{value}")),
            (Value::Boolean(value), _) => drop(write!(out, "{value}")),
            (Value::Double(_) | Value::Single(_) | Value::Decimal(_), _) => {
                unreachable!("a value is of the type that made it")
            }
        }
    }

    /// How many of these literals of one datatype the type gives back exactly, and how many have a value.
    fn fits(self, datatype: &str, texts: &[String]) -> (usize, usize) {
        let mut form = String::new();
        let (mut exact, mut valued) = (0, 0);
        for text in texts {
            if let Some(value) = self.value(datatype, text) {
                form.clear();
                self.push_form(&mut form, value);
                exact += usize::from(form == *text);
                valued += 1;
            }
        }
        (exact, valued)
    }

    /// The type of a datatype for these literals of it.
    fn of_datatype(datatype: &str, texts: &[String]) -> Self {
        let name = datatype.strip_prefix(XSD).unwrap_or_default();
        let digits = texts
            .iter()
            .filter_map(|text| lexical::fraction_digits(text));
        let scale = digits.max().unwrap_or(0).min(SCALE_MAX);
        let zones = texts.iter().filter(|text| lexical::has_zone(text)).count();
        let is_utc = zones * 2 > texts.len();
        let (canonical, plain) = (Style::Canonical, Style::Plain);
        let candidates: &[Self] = match name {
            "boolean" => &[Self::Boolean],
            "double" => &[Self::Double(canonical), Self::Double(plain)],
            "float" => &[Self::Single(canonical), Self::Single(plain)],
            "decimal" => &[
                Self::Decimal(scale, canonical),
                Self::Decimal(scale, Style::Fixed),
            ],
            "date" => &[Self::Date],
            "dateTime" => &[Self::DateTime { is_utc }],
            name if INTEGERS.contains(&name) => &[Self::Integer],
            _ => &[],
        };
        let counted = candidates
            .iter()
            .map(|kind| (kind.fits(datatype, texts), *kind));
        let best = counted.max_by_key(|((exact, _), _)| *exact);
        match best {
            Some(((_, valued), kind)) if valued * 2 >= texts.len() => kind,
            _ => Self::Text,
        }
    }

    fn data_type(self) -> DataType {
        match self {
            Self::Text => DataType::Utf8,
            Self::Integer => DataType::Int64,
            Self::Boolean => DataType::Boolean,
            Self::Double(_) => DataType::Float64,
            Self::Single(_) => DataType::Float32,
            Self::Decimal(scale, _) => DataType::Decimal128(DECIMAL_PRECISION, scale as i8),
            Self::Date => DataType::Date32,
            Self::DateTime { is_utc } => {
                let zone = is_utc.then(|| Arc::from("UTC"));
                DataType::Timestamp(TimeUnit::Microsecond, zone)
            }
        }
    }
}

/// The terms of a column at its beginning.
#[derive(Debug, Default)]
pub(super) struct TypeSample {
    /// The texts of each class; classes in the order of their first term.
    classes: Vec<(Class, Vec<String>)>,
    /// Where each class is.
    places: HashMap<Class, usize>,
}

impl TypeSample {
    /// Adds a term.
    pub(super) fn add(&mut self, term: TermView<'_>) {
        let last = self
            .classes
            .last_mut()
            .filter(|(class, _)| class.holds(term));
        if let Some((_, texts)) = last {
            return texts.push(sampled_text(term));
        }
        let class = Class::of(term);
        let place = *self.places.entry(class.clone()).or_insert_with(|| {
            self.classes.push((class, Vec::new()));
            self.classes.len() - 1
        });
        self.classes[place].1.push(sampled_text(term));
    }

    /// The type that most terms have; the earlier one among equals.
    pub(super) fn choose(self) -> ColumnType {
        let largest = self.classes.into_iter().rev();
        let largest = largest.max_by_key(|(_, texts)| texts.len());
        let (class, physical) = match largest {
            None => (Class::Datatype(XSD_STRING.to_owned()), Physical::Text),
            Some((class, texts)) => {
                let physical = match &class {
                    Class::Datatype(datatype) => Physical::of_datatype(datatype, &texts),
                    _ => Physical::Text,
                };
                (class, physical)
            }
        };
        ColumnType { class, physical }
    }
}

/// What choosing a type needs of a term: the text of literals that may become numbers and dates.
fn sampled_text(term: TermView<'_>) -> String {
    match term {
        TermView::Literal(literal) if matches!(literal.kind, LiteralKind::Typed(_)) => {
            literal.lexical.to_owned()
        }
        _ => String::new(),
    }
}

/// The type of a column.
#[derive(Debug)]
pub(super) struct ColumnType {
    class: Class,
    physical: Physical,
}

impl ColumnType {
    /// The fields of a variable: its values and its terms.
    pub(super) fn fields(&self, variable: &str) -> [Field; 2] {
        let mut metadata = HashMap::new();
        let mut note = |key: &str, value: &str| {
            metadata.insert(format!("rdf.{key}"), value.to_owned());
        };
        match &self.class {
            Class::Iri => note("kind", "iri"),
            Class::Blank => note("kind", "bnode"),
            Class::Language(tag) => {
                note("kind", "literal");
                note(
                    "datatype",
                    "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString",
                );
                note("language", tag);
            }
            Class::Datatype(datatype) => {
                note("kind", "literal");
                note("datatype", datatype);
            }
        }
        if let Physical::Double(style) | Physical::Single(style) | Physical::Decimal(_, style) =
            self.physical
        {
            note("lexical", style.name());
        }
        let value = Field::new(variable, self.physical.data_type(), true).with_metadata(metadata);
        [
            value,
            Field::new(format!("{variable}:term"), DataType::Utf8, true),
        ]
    }
}

/// The builder of the values.
enum Values {
    Text(StringBuilder),
    Integer(Int64Builder),
    Boolean(BooleanBuilder),
    Double(Float64Builder),
    Single(Float32Builder),
    Decimal(Decimal128Builder),
    Date(Date32Builder),
    DateTime(TimestampMicrosecondBuilder),
}

/// Fills the two columns of a variable.
pub(super) struct ColumnBuilder {
    column_type: ColumnType,
    values: Values,
    terms: StringBuilder,
    /// The form of the value at hand, or the term.
    form: String,
}

impl ColumnBuilder {
    /// Empty columns.
    pub(super) fn new(column_type: ColumnType) -> Self {
        let data_type = column_type.physical.data_type();
        let values = match column_type.physical {
            Physical::Text => Values::Text(StringBuilder::new()),
            Physical::Integer => Values::Integer(Int64Builder::new()),
            Physical::Boolean => Values::Boolean(BooleanBuilder::new()),
            Physical::Double(_) => Values::Double(Float64Builder::new()),
            Physical::Single(_) => Values::Single(Float32Builder::new()),
            Physical::Decimal(..) => {
                Values::Decimal(Decimal128Builder::new().with_data_type(data_type))
            }
            Physical::Date => Values::Date(Date32Builder::new()),
            Physical::DateTime { .. } => {
                Values::DateTime(TimestampMicrosecondBuilder::new().with_data_type(data_type))
            }
        };
        Self {
            column_type,
            values,
            terms: StringBuilder::new(),
            form: String::new(),
        }
    }

    /// Adds a row without a term.
    pub(super) fn push_unbound(&mut self) {
        self.push_value(None);
        self.terms.append_null();
    }

    /// Adds a term and returns the bytes of text that this took.
    pub(super) fn push(&mut self, term: TermView<'_>) -> usize {
        let is_of_class = self.column_type.class.holds(term);
        if let Values::Text(values) = &mut self.values
            && is_of_class
        {
            values.append_value(text_of(term));
            self.terms.append_null();
            return text_of(term).len();
        }
        let physical = self.column_type.physical;
        let value = match term {
            TermView::Literal(literal) => physical.value(literal.datatype(), literal.lexical),
            _ => None,
        };
        self.push_value(value);
        self.form.clear();
        if let Some(value) = value {
            physical.push_form(&mut self.form, value);
        }
        if value.is_some() && is_of_class && self.form == text_of(term) {
            self.terms.append_null();
            return 0;
        }
        self.form.clear();
        // Writing to a string cannot fail.
        let _ = write!(self.form, "{term}");
        self.terms.append_value(&self.form);
        self.form.len()
    }

    fn push_value(&mut self, value: Option<Value>) {
        match (&mut self.values, value) {
            (Values::Integer(builder), Some(Value::Integer(value))) => builder.append_value(value),
            (Values::Boolean(builder), Some(Value::Boolean(value))) => builder.append_value(value),
            (Values::Double(builder), Some(Value::Double(value))) => builder.append_value(value),
            (Values::Single(builder), Some(Value::Single(value))) => builder.append_value(value),
            (Values::Decimal(builder), Some(Value::Decimal(value))) => builder.append_value(value),
            (Values::Date(builder), Some(Value::Date(value))) => builder.append_value(value),
            (Values::DateTime(builder), Some(Value::DateTime(value))) => {
                builder.append_value(value)
            }
            (Values::Text(builder), _) => builder.append_null(),
            (Values::Integer(builder), _) => builder.append_null(),
            (Values::Boolean(builder), _) => builder.append_null(),
            (Values::Double(builder), _) => builder.append_null(),
            (Values::Single(builder), _) => builder.append_null(),
            (Values::Decimal(builder), _) => builder.append_null(),
            (Values::Date(builder), _) => builder.append_null(),
            (Values::DateTime(builder), _) => builder.append_null(),
        }
    }

    /// The two columns; empties the builder.
    pub(super) fn finish(&mut self) -> [ArrayRef; 2] {
        let values: &mut dyn ArrayBuilder = match &mut self.values {
            Values::Text(builder) => builder,
            Values::Integer(builder) => builder,
            Values::Boolean(builder) => builder,
            Values::Double(builder) => builder,
            Values::Single(builder) => builder,
            Values::Decimal(builder) => builder,
            Values::Date(builder) => builder,
            Values::DateTime(builder) => builder,
        };
        [values.finish(), Arc::new(self.terms.finish())]
    }
}
