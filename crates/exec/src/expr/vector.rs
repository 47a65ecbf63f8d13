//! `Vector`: the values of one kernel for the rows under evaluation, and `Rows`: which rows those are.
//!
//! Columns stay ids as long as possible; computed values stay values until somebody needs the term, so
//! a chain of functions interns nothing in between. Logical kernels narrow the rows for their later
//! arguments instead of copying columns.

use super::kernel::Constant;
use super::numbers::Numbers;
use super::texts::Texts;
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::selection::taken;
use crate::value::{Number, Reader, ShortNumber, Value};
use basalt_rdf::inline::encode_boolean;
use basalt_rdf::{LiteralKind, LiteralView, TermView};
use std::borrow::Cow;

/// A truth value of SPARQL's three-valued logic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truth {
    /// False.
    False,
    /// True.
    True,
    /// A type error or an unbound variable.
    Error,
}

impl From<Option<bool>> for Truth {
    fn from(value: Option<bool>) -> Self {
        match value {
            Some(true) => Self::True,
            Some(false) => Self::False,
            None => Self::Error,
        }
    }
}

impl Truth {
    /// The id of the boolean; 0 for an error.
    pub fn to_id(self) -> u64 {
        match self {
            Self::False => encode_boolean(false).0,
            Self::True => encode_boolean(true).0,
            Self::Error => 0,
        }
    }

    /// What [`Self::to_id`] has made an id of; `None` of other ids.
    pub fn of_id(id: u64) -> Option<Self> {
        let known = [Self::False, Self::True, Self::Error];
        known.into_iter().find(|truth| truth.to_id() == id)
    }

    /// The negation; an error stays one.
    pub fn negated(self) -> Self {
        match self {
            Self::False => Self::True,
            Self::True => Self::False,
            Self::Error => Self::Error,
        }
    }
}

/// The rows under evaluation: a batch, or some positions of it.
#[derive(Clone, Copy)]
pub struct Rows<'a> {
    batch: &'a Batch,
    /// Ascending positions; `None` is every row.
    positions: Option<&'a [u32]>,
}

impl<'a> Rows<'a> {
    /// Every row of a batch.
    pub fn all(batch: &'a Batch) -> Self {
        Self {
            batch,
            positions: None,
        }
    }

    /// These rows of the batch; positions count in the batch, not in other [`Rows`].
    pub fn at(self, positions: &'a [u32]) -> Self {
        Self {
            positions: Some(positions),
            ..self
        }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.positions.map_or(self.batch.rows(), <[u32]>::len)
    }

    /// The position in the batch of a row.
    pub fn position(&self, row: usize) -> u32 {
        self.positions
            .map_or(row as u32, |positions| positions[row])
    }

    /// The positions in the batch of some of these rows.
    pub fn positions(&self, rows: &[u32]) -> Vec<u32> {
        rows.iter()
            .map(|&row| self.position(row as usize))
            .collect()
    }

    /// The number of the solution that a row is; 0 where nobody gave numbers.
    pub fn solution(&self, row: usize) -> u64 {
        let numbers = self.batch.solutions();
        numbers.map_or(0, |numbers| numbers[self.position(row) as usize])
    }

    /// The computed numbers of a column, if that is what it has.
    pub fn numbers(&self, column_idx: usize) -> Option<Cow<'a, Numbers>> {
        let numbers = self.batch.numbers(column_idx)?;
        Some(match self.positions {
            None => Cow::Borrowed(numbers),
            Some(positions) => Cow::Owned(numbers.take(positions)),
        })
    }

    /// A column, as numbers where it has some.
    pub fn vector(&self, column_idx: usize) -> Vector<'a> {
        match self.numbers(column_idx) {
            Some(numbers) => Vector::Numbers(numbers),
            None => Vector::Ids(self.column(column_idx)),
        }
    }

    /// The ids of a column.
    pub fn column(&self, column_idx: usize) -> Cow<'a, [u64]> {
        let ids = self.batch.ids(column_idx);
        match self.positions {
            None => Cow::Borrowed(ids),
            Some(positions) => taken(ids, positions).collect(),
        }
    }
}

/// A value of one row that was computed.
#[derive(Clone, Debug)]
pub enum Item {
    /// A SPARQL error.
    Error,
    /// A term that has an id.
    Id(u64),
    /// A value in its canonical form, never an IRI, blank node or unknown literal.
    Value(Value),
}

impl Item {
    /// The id; 0 for an error.
    pub fn id(&self, cx: &Context) -> u64 {
        match self {
            Self::Error => 0,
            Self::Id(id) => *id,
            Self::Value(value) => value.to_id(cx),
        }
    }
}

/// A value of one row, borrowed.
#[derive(Clone, Copy, Debug)]
pub enum Argument<'a> {
    /// A SPARQL error.
    Error,
    /// A term that has an id.
    Id(u64),
    /// A constant.
    Constant(&'a Constant),
    /// A computed value.
    Value(&'a Value),
    /// A computed string, with or without a language.
    Text(LiteralView<'a>),
    /// A computed boolean.
    Boolean(bool),
    /// A computed number.
    Number(ShortNumber),
}

impl<'a> Argument<'a> {
    /// The value; `None` for an error.
    pub fn value(self, reader: &mut Reader<'_>) -> Result<Option<Cow<'a, Value>>, ExecError> {
        Ok(match self {
            Self::Error => None,
            Self::Id(id) => reader.value(id)?.map(Cow::Owned),
            Self::Constant(constant) => Some(Cow::Borrowed(&constant.value)),
            Self::Value(value) => Some(Cow::Borrowed(value)),
            Self::Text(string) => Some(Cow::Owned(Value::of_literal(string))),
            Self::Boolean(value) => Some(Cow::Owned(Value::Boolean(value))),
            Self::Number(number) => Some(Cow::Owned(Value::Number(number.to_number()))),
        })
    }

    /// The number, if it is one. Values of ids are not made for their numbers.
    pub fn number(self, reader: &mut Reader<'_>) -> Result<Option<Number>, ExecError> {
        Ok(match self {
            Self::Id(id) => reader.number(id)?,
            Self::Constant(constant) => constant.value.number(),
            Self::Value(value) => value.number(),
            Self::Number(number) => Some(number.to_number()),
            Self::Error | Self::Text(_) | Self::Boolean(_) => None,
        })
    }

    /// The id without interning anything; 0 if there is none yet.
    pub fn known_id(self) -> u64 {
        match self {
            Self::Id(id) => id,
            Self::Constant(constant) => constant.id,
            Self::Boolean(value) => encode_boolean(value).0,
            Self::Error | Self::Value(_) | Self::Text(_) | Self::Number(_) => 0,
        }
    }

    /// The id; 0 for an error.
    pub fn id(self, cx: &Context) -> u64 {
        match self {
            Self::Value(value) => value.to_id(cx),
            Self::Number(number) => number.to_id(cx),
            Self::Text(string) => cx.terms().intern(TermView::Literal(string)).0,
            other => other.known_id(),
        }
    }

    /// The string, if it is one; read by `reader` if it has to be.
    #[inline]
    pub fn string<'r>(
        self,
        reader: &'r mut Reader<'_>,
    ) -> Result<Option<LiteralView<'r>>, ExecError>
    where
        'a: 'r,
    {
        match self {
            Self::Id(id) => reader.string(id),
            other => Ok(other.known_string()),
        }
    }

    /// The string, if it is one that need not be read.
    pub fn known_string(self) -> Option<LiteralView<'a>> {
        match self {
            Self::Text(string) => Some(string),
            Self::Constant(constant) => constant.value.as_string(),
            Self::Value(value) => value.as_string(),
            Self::Error | Self::Boolean(_) | Self::Number(_) | Self::Id(_) => None,
        }
    }

    /// What `STR` gives; `None` for an error or a blank node.
    pub fn text<'r>(self, reader: &'r mut Reader<'_>) -> Result<Option<Cow<'r, str>>, ExecError>
    where
        'a: 'r,
    {
        if let Some(string) = self.known_string() {
            return Ok(Some(Cow::Borrowed(string.lexical)));
        }
        Ok(match self {
            Self::Value(value) => value.to_text().map(Cow::Owned),
            Self::Number(number) => Some(Cow::Owned(number.to_number().to_text().0)),
            Self::Boolean(value) => Some(Cow::Borrowed(if value { "true" } else { "false" })),
            other => reader.text(other.known_id())?.map(Cow::Borrowed),
        })
    }

    /// An owned copy.
    pub fn to_item(self) -> Item {
        match self {
            Self::Error => Item::Error,
            Self::Value(value) => Item::Value(value.clone()),
            Self::Text(string) => Item::Value(Value::of_literal(string)),
            Self::Number(number) => Item::Value(Value::Number(number.to_number())),
            other => match other.known_id() {
                0 => Item::Error,
                id => Item::Id(id),
            },
        }
    }
}

/// The values of a kernel, one for each row.
pub enum Vector<'a> {
    /// Ids, 0 for an error.
    Ids(Cow<'a, [u64]>),
    /// Truth values.
    Truths(Vec<Truth>),
    /// Computed strings.
    Texts(Texts),
    /// Computed numbers.
    Numbers(Cow<'a, Numbers>),
    /// Other computed values.
    Items(Vec<Item>),
    /// The same constant in every row.
    Constant(&'a Constant),
    /// An error in every row.
    Error,
}

/// What `of` gives for each of `count` rows. Collecting results has no room for all rows from the beginning.
pub fn each_row<T>(
    count: usize,
    mut of: impl FnMut(usize) -> Result<T, ExecError>,
) -> Result<Vec<T>, ExecError> {
    let mut values = Vec::with_capacity(count);
    for row in 0..count {
        values.push(of(row)?);
    }
    Ok(values)
}

impl Vector<'_> {
    /// The value of a row.
    pub fn get(&self, row: usize) -> Argument<'_> {
        match self {
            Self::Ids(ids) if ids[row] == 0 => Argument::Error,
            Self::Ids(ids) => Argument::Id(ids[row]),
            Self::Truths(truths) => match truths[row] {
                Truth::Error => Argument::Error,
                truth => Argument::Boolean(truth == Truth::True),
            },
            Self::Texts(texts) => texts.get(row).map_or(Argument::Error, Argument::Text),
            Self::Numbers(numbers) => numbers.get(row).map_or(Argument::Error, Argument::Number),
            Self::Items(items) => match &items[row] {
                Item::Error | Item::Id(0) => Argument::Error,
                Item::Id(id) => Argument::Id(*id),
                Item::Value(value) => Argument::Value(value),
            },
            Self::Constant(constant) => Argument::Constant(constant),
            Self::Error => Argument::Error,
        }
    }

    /// The ids of `count` rows, 0 for an error; computed values are interned.
    pub fn into_ids(self, count: usize, cx: &Context) -> Vec<u64> {
        match self {
            Self::Ids(ids) => ids.into_owned(),
            Self::Truths(truths) => truths.into_iter().map(Truth::to_id).collect(),
            Self::Texts(texts) => texts.ids(cx),
            Self::Numbers(numbers) => numbers.ids(cx),
            Self::Items(items) => items.iter().map(|item| item.id(cx)).collect(),
            Self::Constant(constant) => vec![constant.id; count],
            Self::Error => vec![0; count],
        }
    }

    /// The effective boolean values of `count` rows.
    pub fn into_truths(self, count: usize, cx: &Context) -> Result<Vec<Truth>, ExecError> {
        if let Self::Truths(truths) = self {
            return Ok(truths);
        }
        let mut reader = Reader::new(cx);
        each_row(count, |row| {
            if let Self::Ids(ids) = &self
                && let Some(truth) = Truth::of_id(ids[row])
            {
                return Ok(truth);
            }
            let argument = self.get(row);
            if let Argument::Number(number) = argument {
                return Ok(Some(number.to_boolean()).into());
            }
            if let Some(string) = argument.known_string() {
                // Only of one without a language there is such a value.
                let is_simple = string.kind == LiteralKind::Simple;
                return Ok(is_simple.then_some(!string.lexical.is_empty()).into());
            }
            let value = argument.value(&mut reader)?;
            Ok(value.and_then(|value| value.effective_boolean()).into())
        })
    }
}
