//! `Table`: the results of values that were met last, by id; see [`by_value`](super::by_value).
//!
//! Two kinds of values are judged by themselves: terms that have ordinals, whose results are kept [by these](ByOrdinal) where places do not hold
//! them, and others (inline numbers, dates, numbers of combinations). Cost and memory: see there.

use super::combinations::Combinations;
use crate::by_ordinal::{ByOrdinal, hardly_repeat, has_ordinal};
use crate::context::Context;
use crate::error::ExecError;
use basalt_rdf::TermId;

/// Values that a table remembers; the last ones that had their places.
const PLACES: usize = 1 << 12;
/// The same where values are more than these, but repeat.
const MANY_PLACES: usize = 1 << 15;
/// Rows after which it is asked whether the table is of use.
const ROWS_TRIED: usize = 1 << 13;
/// The rows for each evaluated one, below which it is of none.
const ROWS_PER_VALUE_MIN: usize = 4;
/// Rows after which it is of none if [hardly any](Tried::are_hardly_found) were found: values that come in any order are then
/// several times as many as there are places.
const ROWS_TRIED_FIRST: usize = 1 << 11;
/// The id of a place that is free; no term has it.
pub const FREE: u64 = u64::MAX;
/// The tag of the number of a row that is evaluated now, in the place of its result; no term has it.
const EVALUATED_NOW: u8 = 0xFE;

/// Values that were met.
pub struct Table {
    places: Vec<Place>,
    /// Those of several columns, which are numbered.
    pub combinations: Combinations,
    /// The results of terms that have ordinals, once there are more of them than places.
    by_ordinal: Option<ByOrdinal<u64>>,
    /// Number of the batch, from 1.
    batch: u32,
    /// Of terms that have ordinals.
    terms: Tried,
    /// Of other values.
    others: Tried,
}

/// What it has been good for to look values of a kind up: a column may have numbers that are all different beside texts that are not.
#[derive(Default)]
struct Tried {
    /// Rows looked up, and how many of them were evaluated; from the beginning of this way to look them up.
    rows: usize,
    evaluated: usize,
    /// Whether they hardly repeat.
    is_given_up: bool,
}

impl Tried {
    /// Whether the places do not hold the values.
    fn need_more(&self) -> bool {
        self.rows >= ROWS_TRIED_FIRST && self.are_hardly_found()
            || self.rows >= ROWS_TRIED && self.evaluated * ROWS_PER_VALUE_MIN > self.rows
    }

    /// Whether fewer than a sixteenth of the rows were found.
    fn are_hardly_found(&self) -> bool {
        self.evaluated * 16 > self.rows * 15
    }
}

#[derive(Clone, Copy)]
struct Place {
    id: u64,
    /// The id of the result or, if it was not known before this batch, its number among those evaluated.
    result: u64,
    /// The batch that is to bring the result; 0 if it is known.
    batch: u32,
}

impl Place {
    const FREE: Self = Self {
        id: FREE,
        result: 0,
        batch: 0,
    };
}

impl Table {
    /// Of no values.
    pub fn new() -> Self {
        Self {
            places: vec![Place::FREE; PLACES],
            combinations: Combinations::default(),
            by_ordinal: None,
            batch: 0,
            terms: Tried::default(),
            others: Tried::default(),
        }
    }

    /// Finds out which values hardly repeat. Where the places do not hold them, results by ordinal are tried first of terms if that pays,
    /// more places of others likewise.
    pub fn judge(&mut self, pays_terms: bool, pays_many: bool) {
        match &self.by_ordinal {
            Some(_) if hardly_repeat(self.terms.rows, self.terms.rows - self.terms.evaluated) => {
                self.terms.is_given_up = true;
                self.by_ordinal = None;
            }
            None if !self.terms.is_given_up && self.terms.need_more() => match pays_terms {
                true => {
                    self.by_ordinal = Some(ByOrdinal::new(FREE));
                    self.terms = Tried::default();
                }
                false => self.terms.is_given_up = self.terms.are_hardly_found(),
            },
            _ => {}
        }
        let others = &mut self.others;
        if self.places.len() == MANY_PLACES {
            others.is_given_up |= others.rows >= MANY_PLACES && others.evaluated * 2 > others.rows;
        } else if others.need_more() {
            match pays_many {
                true => {
                    self.places = vec![Place::FREE; MANY_PLACES];
                    *others = Tried::default();
                }
                false => others.is_given_up = true,
            }
        }
    }

    /// Whether some kind of values hardly repeats.
    pub fn has_given_up(&self) -> bool {
        self.terms.is_given_up || self.others.is_given_up
    }

    /// Whether some of these values may be found.
    pub fn may_find(&self, ids: &[u64]) -> bool {
        match (self.terms.is_given_up, self.others.is_given_up) {
            (false, false) => true,
            (true, true) => false,
            (of_terms, _) => ids.iter().any(|&id| has_ordinal(id) != of_terms),
        }
    }

    /// The results of ids; `evaluate` gives those of the rows at the positions that it is given.
    pub fn results(
        &mut self,
        ids: &[u64],
        cx: &Context,
        evaluate: impl FnOnce(&[usize]) -> Result<Vec<u64>, ExecError>,
    ) -> Result<Vec<u64>, ExecError> {
        self.batch += 1;
        let mut results = Vec::with_capacity(ids.len());
        // Rows whose results are evaluated now: the first of each value, and all.
        let (mut fresh, mut waiting) = (Vec::new(), Vec::new());
        for (row, &id) in ids.iter().enumerate() {
            match self.find(id, fresh.len(), cx) {
                Found::Result(result) => results.push(result),
                Found::EvaluatedNow(number) => {
                    if number == fresh.len() {
                        fresh.push(row);
                    }
                    waiting.push((row, number));
                    results.push(0);
                }
            }
        }
        if fresh.is_empty() {
            return Ok(results);
        }
        let evaluated = evaluate(&fresh)?;
        for (row, number) in waiting {
            results[row] = evaluated[number];
        }
        for (number, row) in fresh.into_iter().enumerate() {
            self.put(ids[row], number, evaluated[number], cx);
        }
        Ok(results)
    }

    /// The result of an id, or its number among those that are evaluated now, which is `next` if it is not yet one of them.
    #[inline]
    fn find(&mut self, id: u64, next: usize, cx: &Context) -> Found {
        let tried = match has_ordinal(id) {
            true => &mut self.terms,
            false => &mut self.others,
        };
        if tried.is_given_up {
            return Found::EvaluatedNow(next);
        }
        tried.rows += 1;
        let by_ordinal = self.by_ordinal.as_mut();
        if let Some(result) = by_ordinal.and_then(|results| results.place(id, cx)) {
            let known = TermId(*result);
            if known.0 == FREE {
                tried.evaluated += 1;
                *result = TermId::new(EVALUATED_NOW, next as u64).0;
                return Found::EvaluatedNow(next);
            }
            return match known.tag() {
                EVALUATED_NOW => Found::EvaluatedNow(known.payload() as usize),
                _ => Found::Result(known.0),
            };
        }
        let at = place_among(self.places.len(), id);
        let place = &mut self.places[at];
        if place.id != id {
            let (result, batch) = (next as u64, self.batch);
            *place = Place { id, result, batch };
            tried.evaluated += 1;
        }
        match place.batch == self.batch {
            true => Found::EvaluatedNow(place.result as usize),
            false => Found::Result(place.result),
        }
    }

    /// Remembers the result of an id that had this number.
    fn put(&mut self, id: u64, number: usize, result: u64, cx: &Context) {
        let by_ordinal = self.by_ordinal.as_mut();
        if let Some(place) = by_ordinal.and_then(|results| results.place(id, cx)) {
            *place = result;
            return;
        }
        let at = place_among(self.places.len(), id);
        let place = &mut self.places[at];
        // Another value may have taken the place since.
        if place.id == id && place.batch == self.batch && place.result == number as u64 {
            (place.result, place.batch) = (result, 0);
        }
    }
}

/// What a table tells of an id.
enum Found {
    /// Its result.
    Result(u64),
    /// Its number among those evaluated now.
    EvaluatedNow(usize),
}

/// The place of an id among so many, a power of two and more than one: the upper bits of its product with 2^64 over the golden ratio.
#[inline]
pub fn place_among(places: usize, id: u64) -> usize {
    (id.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - places.trailing_zeros())) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::ExecOptions;
    use basalt_rdf::term_id::{LITERAL_ORDINAL_MASK, tag};
    use basalt_store::Snapshot;
    use proptest::prelude::*;

    fn context() -> std::sync::Arc<Context> {
        Context::new(Snapshot::empty(), ExecOptions::default(), 0)
    }

    proptest! {
        #[test]
        fn results_are_those_of_each_value(
            batches in prop::collection::vec(prop::collection::vec(0_u64..9000, 0..300), 1..9),
            spread in prop::sample::select(vec![1_u64, 1 << 20, 1 << 42]),
            tags in prop::sample::select(vec![[tag::DATE; 2], [tag::LOCAL; 2], [tag::STRING, tag::RESOURCE], [tag::TYPED, tag::DATE]]),
            is_by_ordinal: bool,
        ) {
            let cx = context();
            let mut table = Table::new();
            table.by_ordinal = is_by_ordinal.then(|| ByOrdinal::new(FREE));
            let of = |id: u64| (id.wrapping_mul(3) ^ 1) >> 8;
            for ids in batches {
                let id = |value: u64| TermId::new(tags[value as usize % 2], value.wrapping_mul(spread) & LITERAL_ORDINAL_MASK).0;
                let ids: Vec<u64> = ids.into_iter().map(id).collect();
                let mut asked = Vec::new();
                let results = table.results(&ids, &cx, |rows| {
                    asked = rows.to_vec();
                    Ok(rows.iter().map(|&row| of(ids[row])).collect())
                });
                let expected: Vec<u64> = ids.iter().map(|&id| of(id)).collect();
                prop_assert_eq!(results.expect("it evaluates"), expected);
                prop_assert!(asked.is_sorted(), "{:?}", asked);
            }
        }
    }

    /// How many rows are evaluated of batches of 1,000, in which a value comes from `value` of the row.
    fn evaluated(table: &mut Table, rows: u64, value: impl Fn(u64) -> u64) -> usize {
        let (cx, mut evaluated) = (context(), 0);
        for first in (0..rows).step_by(1000) {
            let ids: Vec<u64> = (first..first + 1000).map(&value).collect();
            let results = table.results(&ids, &cx, |rows| {
                evaluated += rows.len();
                Ok(rows.iter().map(|&row| ids[row] + 100).collect())
            });
            let results = results.expect("it evaluates");
            assert!(results.iter().zip(&ids).all(|(r, id)| *r == id + 100));
            table.judge(true, true);
            if !table.may_find(&ids) {
                break;
            }
        }
        evaluated
    }

    #[test]
    fn a_value_is_evaluated_once() {
        assert_eq!(evaluated(&mut Table::new(), 5000, |row| row % 10), 10);
    }

    #[test]
    fn many_texts_are_evaluated_once_by_ordinal() {
        let text = |row: u64| TermId::new(tag::STRING, row * 7919 % 20_000).0;
        let mut table = Table::new();
        // The first three batches tell that places do not do.
        assert_eq!(evaluated(&mut table, 200_000, text), 3000 + 20_000);
        assert!(table.by_ordinal.is_some());
    }

    #[test]
    fn many_values_are_evaluated_once_where_they_repeat() {
        // Dates are no terms of the dictionary. Few of them take each other's places.
        let date = |row: u64| TermId::new(tag::DATE, row * 7919 % 10_000).0;
        let count = evaluated(&mut Table::new(), 200_000, date);
        assert!((13_000..40_000).contains(&count), "{count}");
        let date = |row: u64| TermId::new(tag::DATE, row).0;
        assert_eq!(evaluated(&mut Table::new(), 200_000, date), 3000 + 33_000);
        // Texts that are all different are not looked up for long.
        let title = |row: u64| TermId::new(tag::STRING, row).0;
        assert_eq!(evaluated(&mut Table::new(), 200_000, title), 3000 + 66_000);
    }
}
