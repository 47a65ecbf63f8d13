//! `ConstantSet`: whether a value is one of a list of constants (`IN`), by its id for most values.
//!
//! ```text
//! id among the constants' ids       true
//! IRI, blank node, stored string    the ids tell: it is none of them
//! number or date                    the ids tell, if all constants of its kind have its type and scale, or zone
//! computed string                   its text tells, if it has no language
//! another number                    compared with those of the same nearest double, unless a float is among them
//! others                            compared with each literal
//! ```
//!
//! Invariant: what comparing with each constant gives: true if some `=` is true, else an error if some `=` is an error, else false.
//! Cost: one probe of a hash table for each row.

use super::comparison::CompareOp;
use super::kernel::Constant;
use super::value_table::{FREE, place_among};
use super::vector::{Argument, Truth, Vector, each_row};
use crate::error::ExecError;
use crate::value::{InlineKind, Number, Reader, Value, inline_kind, order_within, ordered_as_ids};
use basalt_rdf::term_id::tag;
use basalt_rdf::{LiteralKind, TermId};
use std::borrow::Cow;
use std::collections::HashSet;

/// Kinds of inline values: numbers, and all up to durations by their tags.
const KINDS: usize = 2 + (tag::DURATION - tag::BOOLEAN) as usize;

/// Constants up to which each is compared with all ids, some of those at once, rather than looked up.
const FEW: usize = 8;

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
    /// Texts of the strings without a language.
    strings: HashSet<Box<str>>,
    /// Whether a literal that is none of them is an error, since the value of one is not known.
    has_unknown: bool,
    kinds: [OfKind; KINDS],
    /// The numbers among them with their nearest doubles, ascending; `None` if one is a float, which others are rounded to.
    numbers: Option<Vec<(f64, usize)>>,
}

impl ConstantSet {
    /// The set of a list.
    pub fn new(constants: Vec<Constant>) -> Self {
        let mut set = Self {
            places: vec![FREE; (constants.len() * 4).next_power_of_two().max(2)],
            literals: Vec::new(),
            tagged: Vec::new(),
            strings: HashSet::new(),
            has_unknown: false,
            kinds: [OfKind::None; KINDS],
            numbers: numbers_of(&constants),
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
        match value {
            Value::LangString(_) => self.tagged.push(idx),
            Value::String(text) => {
                self.strings.insert(text.as_str().into());
            }
            _ => {}
        }
        self.has_unknown |= value.is_unknown();
        if let Some(kind) = place_of_value(value) {
            self.kinds[kind] = match self.kinds[kind] {
                OfKind::None if ordered_as_ids(id, id) => OfKind::Alike(id),
                OfKind::Alike(first) if ordered_as_ids(first, id) => OfKind::Alike(first),
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
        let count = self.places.len();
        let mut place = place_among(count, id);
        while self.places[place] != id && self.places[place] != FREE {
            place = (place + 1) & (count - 1);
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
        let ids = match values {
            Vector::Ids(ids) => Cow::Borrowed(&**ids),
            Vector::Numbers(numbers) => Cow::Owned(numbers.ids(reader.context())),
            _ => return each_row(count, |row| self.holds(values.get(row), reader)),
        };
        if self.ids_tell(&ids) {
            return Ok(self.contain(&ids));
        }
        each_row(count, |row| match ids[row] {
            0 => Ok(Truth::Error),
            id => self.holds_id(id, Argument::Id(id), reader),
        })
    }

    /// Whether ids alone tell of all values whether they are among these: resources, or numbers or dates that have the order of their ids
    /// with the constants of their kind.
    fn ids_tell(&self, ids: &[u64]) -> bool {
        let Some(&first) = ids.first() else {
            return false;
        };
        let differing = || ids.iter().fold(0, |bits, id| bits | (id ^ first));
        if TermId(first).is_resource() {
            return ids.iter().all(|&id| TermId(id).is_resource());
        }
        let of_kind = inline_kind(first).map(|kind| self.kinds[place_of(kind)]);
        match of_kind {
            Some(OfKind::Alike(constant)) if !self.has_unknown => {
                let mask =
                    order_within(TermId(constant)).filter(|_| ordered_as_ids(constant, first));
                mask.is_some_and(|mask| differing() & mask == 0)
            }
            _ => false,
        }
    }

    /// Whether each id is that of a constant.
    fn contain(&self, ids: &[u64]) -> Vec<Truth> {
        let mut are_there = vec![false; ids.len()];
        let known = self.places.iter().filter(|&&id| id != FREE);
        if self.constants.len() <= FEW {
            for known in known {
                let rows = are_there.iter_mut().zip(ids);
                rows.for_each(|(is_there, id)| *is_there |= id == known);
            }
        } else {
            let rows = are_there.iter_mut().zip(ids);
            rows.for_each(|(is_there, &id)| *is_there = self.places[self.place(id)] == id);
        }
        let truths = are_there.into_iter().map(|is_there| Some(is_there).into());
        truths.collect()
    }

    /// Whether a value is one of them.
    fn holds(&self, value: Argument<'_>, reader: &mut Reader<'_>) -> Result<Truth, ExecError> {
        if let Some(string) = value.known_string()
            && string.kind == LiteralKind::Simple
        {
            return Ok(match self.strings.contains(string.lexical) {
                true => Truth::True,
                false => self.of_none(),
            });
        }
        match value {
            Argument::Error => Ok(Truth::Error),
            value => self.holds_id(value.known_id(), value, reader),
        }
    }

    /// The same of a value with this id, 0 if it has none yet.
    #[inline]
    fn holds_id(
        &self,
        id: u64,
        value: Argument<'_>,
        reader: &mut Reader<'_>,
    ) -> Result<Truth, ExecError> {
        match self.places[self.place(id)] == id {
            true => Ok(Truth::True),
            false => self.holds_other(id, value, reader),
        }
    }

    /// What a literal is told that equals none of them, if its value is known.
    fn of_none(&self) -> Truth {
        match self.has_unknown {
            true => Truth::Error,
            false => Truth::False,
        }
    }

    /// The same where the id is none of theirs.
    fn holds_other(
        &self,
        id: u64,
        value: Argument<'_>,
        reader: &mut Reader<'_>,
    ) -> Result<Truth, ExecError> {
        let none = self.of_none();
        match TermId(id).tag() {
            tag::RESOURCE => return Ok(Truth::False),
            tag::STRING => return Ok(none),
            tag::LANGUAGE => return self.compare(&self.tagged, value, reader),
            // An equal string would have the same id.
            tag::LOCAL if is_simple_string(id, reader)? => return Ok(none),
            _ => {}
        }
        let of_kind = inline_kind(id).map(|kind| self.kinds[place_of(kind)]);
        match of_kind {
            Some(OfKind::None) => Ok(none),
            Some(OfKind::Alike(first)) if ordered_as_ids(first, id) => Ok(none),
            _ => match self.candidates(value, reader)? {
                Some([]) => Ok(none),
                Some(candidates) => {
                    let places: Vec<usize> = candidates.iter().map(|(_, idx)| *idx).collect();
                    let truth = self.compare(&places, value, reader)?;
                    Ok(if truth == Truth::True { truth } else { none })
                }
                None => self.compare(&self.literals, value, reader),
            },
        }
    }

    /// The constants that a number could be equal to; `None` if it is none, or that takes comparing.
    fn candidates(
        &self,
        value: Argument<'_>,
        reader: &mut Reader<'_>,
    ) -> Result<Option<&[(f64, usize)]>, ExecError> {
        let Some(numbers) = &self.numbers else {
            return Ok(None);
        };
        let number = value.number(reader)?;
        let number = number.filter(|number| !matches!(number, Number::Float(_)));
        Ok(number.map(|number| {
            // NaN is equal to nothing.
            let nearest = number
                .nearest_double()
                .map_or(f64::NAN, |double| double + 0.0);
            let start = numbers.partition_point(|(known, _)| *known < nearest);
            let rest = &numbers[start..];
            &rest[..rest.partition_point(|(known, _)| *known == nearest)]
        }))
    }

    /// Compares with each of some.
    fn compare(
        &self,
        places: &[usize],
        value: Argument<'_>,
        reader: &mut Reader<'_>,
    ) -> Result<Truth, ExecError> {
        // To compare with a long list takes as long as reading some terms.
        reader.context().check_for_term()?;
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

/// The numbers of some constants, by their nearest doubles; `None` if there is a float.
fn numbers_of(constants: &[Constant]) -> Option<Vec<(f64, usize)>> {
    let mut numbers = Vec::new();
    for (idx, constant) in constants.iter().enumerate() {
        match &constant.value {
            Value::Number(Number::Float(_)) => return None,
            Value::Number(number) => {
                let nearest = number.nearest_double();
                numbers.extend(nearest.map(|nearest| (nearest + 0.0, idx)));
            }
            _ => {}
        }
    }
    numbers.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    Some(numbers)
}

/// Whether an id is that of a string without a language.
fn is_simple_string(id: u64, reader: &mut Reader<'_>) -> Result<bool, ExecError> {
    Ok(reader.literal_kind(id)? == Some(LiteralKind::Simple))
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
        Value::Time(_) => InlineKind::Of(tag::TIME),
        Value::Duration(..) => InlineKind::Of(tag::DURATION),
        Value::Year(_) => InlineKind::Of(tag::G_YEAR),
        Value::YearMonth(_) => InlineKind::Of(tag::G_YEAR_MONTH),
        _ => return None,
    };
    Some(place_of(kind))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{context, id_of};
    use super::*;
    use proptest::prelude::*;

    fn number(value: u8, datatype: u8) -> String {
        let xsd = "http://www.w3.org/2001/XMLSchema#";
        match datatype {
            0 => format!("\"{value}\"^^<{xsd}integer>"),
            1 => format!("\"{}.{}\"^^<{xsd}decimal>", value / 2, value % 2 * 5),
            2 => format!("\"{value}.0E0\"^^<{xsd}double>"),
            3 => format!("\"{value}.1E0\"^^<{xsd}double>"),
            4 => format!("\"{value}.1\"^^<{xsd}decimal>"),
            5 => ["NaN", "-0.0E0", "INF"].map(|text| format!("\"{text}\"^^<{xsd}double>"))
                [usize::from(value % 3)]
            .clone(),
            6 => format!("\"9007199254740992{value}\"^^<{xsd}integer>"),
            7 => format!("\"{value}.1\"^^<{xsd}float>"),
            _ => format!("\"{value}\""),
        }
    }

    proptest! {
        #[test]
        fn values_are_among_constants_that_they_equal(
            list in prop::collection::vec((0..8_u8, 0..9_u8), 1..30),
            has_floats in any::<bool>(),
            rows in prop::collection::vec((0..8_u8, 0..9_u8), 1..20),
        ) {
            let cx = context();
            let reader = &mut Reader::new(&cx);
            let mut constants = Vec::new();
            for (value, datatype) in list.into_iter().filter(|(_, datatype)| has_floats || *datatype != 7) {
                let id = id_of(&number(value, datatype), &cx);
                let value = reader.value(id).expect("it can be read").expect("a value");
                constants.push(Constant { id, value });
            }
            let set = ConstantSet::new(constants.clone());
            for (value, datatype) in rows {
                let id = id_of(&number(value, datatype), &cx);
                let read = reader.value(id).expect("it can be read").expect("a value");
                let mut expected = Truth::False;
                for constant in &constants {
                    let constant = Argument::Constant(constant);
                    match CompareOp::Equal.apply(Argument::Id(id), constant, reader).expect("terms") {
                        Truth::True => expected = Truth::True,
                        Truth::Error if expected == Truth::False => expected = Truth::Error,
                        _ => {}
                    }
                }
                let held = set.holds(Argument::Id(id), reader).expect("terms");
                prop_assert_eq!(held, expected, "{}", number(value, datatype));
                if matches!(read, Value::Number(_)) {
                    let held = set.holds(Argument::Value(&read), reader).expect("terms");
                    prop_assert_eq!(held, expected, "computed {}", number(value, datatype));
                }
            }
        }
    }
}
