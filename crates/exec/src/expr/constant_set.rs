//! `ConstantSet`: whether a value is one of a list of constants (`IN`), by its id for most values.
//!
//! ```text
//! id among the constants' ids       true
//! IRI, blank node, stored string    the ids tell: it is none of them
//! number or date                    the ids tell, if all constants of its kind have its type and scale, or zone
//! others                            compared with each literal
//! ```
//!
//! Invariant: what comparing with each constant gives: true if some `=` is true, else an error if some `=` is an error, else false.
//! Cost: one probe of a hash table for each row.

use super::comparison::CompareOp;
use super::kernel::Constant;
use super::vector::{Argument, Truth, Vector, each_row};
use crate::error::ExecError;
use crate::value::{InlineKind, Reader, Value, inline_kind, order_within};
use basalt_rdf::TermId;
use basalt_rdf::term_id::tag;

/// A place without an id; no term has it.
const FREE: u64 = u64::MAX;
/// Kinds of inline values: numbers, booleans and four of dates.
const KINDS: usize = 6;

/// The constants of one kind of inline values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OfKind {
    /// There are none.
    None,
    /// All are inline and ordered as this one is.
    Alike(u64),
    /// Others.
    Mixed,
}

/// The constants; see the [module documentation](self).
pub struct ConstantSet {
    constants: Vec<Constant>,
    /// Ids of the constants that are equal to themselves, each at its place or the next free one.
    places: Vec<u64>,
    /// Places of those that are literals, and of those with a language.
    literals: Vec<usize>,
    tagged: Vec<usize>,
    /// Whether a literal that is none of them is an error, since the value of one is not known.
    has_unknown: bool,
    kinds: [OfKind; KINDS],
}

impl ConstantSet {
    /// The set of a list.
    pub fn new(constants: Vec<Constant>) -> Self {
        let mut set = Self {
            places: vec![FREE; (constants.len() * 4).next_power_of_two()],
            literals: Vec::new(),
            tagged: Vec::new(),
            has_unknown: false,
            kinds: [OfKind::None; KINDS],
            constants: Vec::new(),
        };
        for (idx, constant) in constants.iter().enumerate() {
            set.add(idx, constant);
        }
        set.constants = constants;
        set
    }

    fn add(&mut self, idx: usize, constant: &Constant) {
        let (id, value) = (constant.id, &constant.value);
        let is_nan = matches!(value, Value::Number(number) if number.compare(number).is_none());
        if !is_nan {
            let place = self.place(id);
            self.places[place] = id;
        }
        if value.is_literal() {
            self.literals.push(idx);
        }
        if matches!(value, Value::LangString(_)) {
            self.tagged.push(idx);
        }
        self.has_unknown |= value.is_unknown();
        if let Some(kind) = place_of_value(value) {
            self.kinds[kind] = match self.kinds[kind] {
                OfKind::None if is_alike(id, id) => OfKind::Alike(id),
                OfKind::Alike(first) if is_alike(first, id) => OfKind::Alike(first),
                _ => OfKind::Mixed,
            };
        }
    }

    /// Whether the ids of most values tell.
    pub fn is_quick(&self) -> bool {
        !self.has_unknown && self.tagged.is_empty() && !self.kinds.contains(&OfKind::Mixed)
    }

    /// Where an id is or would be. Most places are free.
    #[inline]
    fn place(&self, id: u64) -> usize {
        let mask = self.places.len() - 1;
        let mut place = mixed(id) & mask;
        while self.places[place] != id && self.places[place] != FREE {
            place = (place + 1) & mask;
        }
        place
    }

    /// Whether each of `count` values is one of them.
    pub fn column(
        &self,
        values: &Vector<'_>,
        count: usize,
        reader: &mut Reader<'_>,
    ) -> Result<Vec<Truth>, ExecError> {
        let Vector::Ids(ids) = values else {
            return each_row(count, |row| self.holds(values.get(row), reader));
        };
        each_row(count, |row| match ids[row] {
            0 => Ok(Truth::Error),
            id if self.places[self.place(id)] == id => Ok(Truth::True),
            id => self.of_no_id(id, Argument::Id(id), reader),
        })
    }

    /// Whether a value is one of them.
    fn holds(&self, value: Argument<'_>, reader: &mut Reader<'_>) -> Result<Truth, ExecError> {
        let id = match value {
            Argument::Error => return Ok(Truth::Error),
            value => value.known_id(),
        };
        if id != 0 && self.places[self.place(id)] == id {
            return Ok(Truth::True);
        }
        self.of_no_id(id, value, reader)
    }

    /// Whether a value, with an id that is none of theirs, is one of them.
    fn of_no_id(
        &self,
        id: u64,
        value: Argument<'_>,
        reader: &mut Reader<'_>,
    ) -> Result<Truth, ExecError> {
        let none = match self.has_unknown {
            true => Truth::Error,
            false => Truth::False,
        };
        match TermId(id).tag() {
            tag::RESOURCE => return Ok(Truth::False),
            tag::STRING => return Ok(none),
            tag::LANGUAGE => return self.compare(&self.tagged, value, reader),
            _ => {}
        }
        let of_kind = inline_kind(id).map(|kind| self.kinds[place_of(kind)]);
        match of_kind {
            Some(OfKind::None) => Ok(none),
            Some(OfKind::Alike(first)) if is_alike(first, id) => Ok(none),
            _ => self.compare(&self.literals, value, reader),
        }
    }

    /// Compares with each of some.
    fn compare(
        &self,
        places: &[usize],
        value: Argument<'_>,
        reader: &mut Reader<'_>,
    ) -> Result<Truth, ExecError> {
        let mut result = Truth::False;
        for &idx in places {
            let constant = Argument::Constant(&self.constants[idx]);
            match CompareOp::Equal.apply(value, constant, reader)? {
                Truth::True => return Ok(Truth::True),
                Truth::Error => result = Truth::Error,
                Truth::False => {}
            }
        }
        Ok(result)
    }
}

/// Bits that depend on all bits of an id: the upper half of its product with 2^64 over the golden ratio.
#[inline]
fn mixed(id: u64) -> usize {
    (id.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize
}

/// Whether two inline ids are equal exactly if their values are.
fn is_alike(first: u64, other: u64) -> bool {
    order_within(TermId(first)).is_some_and(|shared| (first ^ other) & shared == 0)
}

/// The place of a kind.
fn place_of(kind: InlineKind) -> usize {
    match kind {
        InlineKind::Number => 0,
        InlineKind::Of(tag) => 1 + usize::from(tag - tag::BOOLEAN),
    }
}

/// The place of the kind that a value has, if inline ones may be equal to it.
fn place_of_value(value: &Value) -> Option<usize> {
    let kind = match value {
        Value::Number(_) => InlineKind::Number,
        Value::Boolean(_) => InlineKind::Of(tag::BOOLEAN),
        Value::Date(_) => InlineKind::Of(tag::DATE),
        Value::DateTime(_) => InlineKind::Of(tag::DATE_TIME),
        Value::Year(_) => InlineKind::Of(tag::G_YEAR),
        Value::YearMonth(_) => InlineKind::Of(tag::G_YEAR_MONTH),
        _ => return None,
    };
    Some(place_of(kind))
}
