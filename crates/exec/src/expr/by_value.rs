//! `ByValue`: an expression of one column, of its languages or datatypes, of [parts of its times](super::time_prefix) or of the text of what an operator gives for two, evaluated once for each
//! of its values; and texts made of two or three columns, once for each [combination](super::combinations).
//!
//! ```text
//! column  a b a a c b     table  a -> 7, b -> 0      evaluated for c, the first row that has it
//! values  7 0 7 7 . 0                                . filled in, c -> 5
//! ```
//!
//! Columns of dates, ratings, links and the like have some hundred values in millions of rows, and a function of one of
//! them takes tens to hundreds of nanoseconds. So the id of each value is looked up in a small table of those met last, and only rows whose value is
//! not there are evaluated; a value that comes several times in a batch once. Columns of texts have thousands: where the small table does not hold what
//! repeats, terms that have ordinals have their results by these ([`ByOrdinal`]), each value once for all rows.
//!
//! Invariants: the kernel reads no other columns, is the same for the same value throughout a query and asks for no solution; a
//! table gives what the kernel gives. Where hardly a value repeats the table is given up for good, and where a kernel above would read numbers that no
//! id holds, whose texts would be parsed for each row. Cost: a look-up per row, some 3 ns; 96 KiB for each
//! thread that evaluates, from the first batch of some rows on, 768 KiB where values are many; 8 bytes for each value of a text.

use super::annotation::Annotation;
use super::arithmetic::{self, Operator};
use super::calendar_comparison::CalendarComparison;
use super::call::is_deterministic;
use super::combinations::{COLUMNS_MAX, Columns, Combinations};
use super::comparison::CompareOp;
use super::evaluate;
use super::kernel::Kernel;
use super::kind_test::KindTest;
use super::time_prefix::TimePrefix;
use super::vector::{Item, Rows, Vector};
use crate::by_ordinal::{ByOrdinal, hardly_repeat, has_ordinal};
use crate::context::Context;
use crate::error::ExecError;
use crate::value::{Reader, Value};
use basalt_rdf::TermId;
use basalt_rdf::term_id::tag;
use spargebra::algebra::Function;
use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Values that a table remembers; the last ones that had their places.
const PLACES: usize = 1 << 12;
/// The same where values are more than these, but repeat.
const MANY_PLACES: usize = 1 << 15;
/// Rows of a batch from which on a table is looked at; it takes as long to make as evaluating some of them.
const ROWS_MIN: usize = 128;
/// Rows after which it is asked whether the table is of use.
const ROWS_TRIED: usize = 1 << 13;
/// The rows for each evaluated one, below which it is of none.
const ROWS_PER_VALUE_MIN: usize = 4;
/// Rows after which it is of none if fewer than a sixteenth were found: values that come in any order are then
/// several times as many as there are places.
const ROWS_TRIED_FIRST: usize = 1 << 11;
/// The id of a place that is free; no term has it.
pub const FREE: u64 = u64::MAX;
/// The tag of the number of a row that is evaluated now, in the place of its result; no term has it.
const EVALUATED_NOW: u8 = 0xFE;

/// A kernel of one column with tables of its values; see the [module documentation](self).
pub struct ByValue {
    key: Key,
    kernel: Box<Kernel>,
    /// Whether another kernel, or an aggregate, reads the numbers.
    is_operand: bool,
    /// Whether texts are made, which takes so long that it pays to remember many values.
    makes_texts: bool,
    /// Tables that no thread has now.
    tables: Mutex<Vec<Table>>,
    /// Whether values hardly repeat.
    is_given_up: AtomicBool,
}

/// What a kernel depends on.
#[derive(Clone, Copy, PartialEq)]
enum Key {
    /// A column.
    Column(usize),
    /// `LANG` or `DATATYPE` of a column.
    Annotation(Annotation, usize),
    /// A part of the times of a column.
    Prefix(TimePrefix, usize),
    /// What an operator gives for two columns, of which the text is read: a length of time mostly.
    Arithmetic(Operator, [usize; 2]),
    /// Several columns.
    Columns(Columns),
}

impl Key {
    /// Its values; `None` if they cannot be told, or there are too many.
    fn ids<'a>(
        self,
        rows: &Rows<'a>,
        combinations: &mut Combinations,
        cx: &Context,
    ) -> Result<Option<Cow<'a, [u64]>>, ExecError> {
        match self {
            Self::Column(column) => Ok(Some(rows.column(column))),
            Self::Prefix(prefix, column) => Ok(Some(prefix.keys(&rows.column(column)).into())),
            Self::Arithmetic(operator, [a, b]) => {
                let (a, b) = (rows.vector(a), rows.vector(b));
                let reader = &mut Reader::new(cx);
                let results = arithmetic::binary(operator, &a, &b, rows.len(), reader)?;
                let ids = results.into_ids(rows.len(), cx);
                let is_local = |id: &u64| TermId(*id).tag() == tag::LOCAL;
                Ok((!ids.iter().any(is_local)).then_some(ids.into()))
            }
            Self::Columns(columns) => Ok(combinations.of_rows(columns, rows).map(Cow::Owned)),
            Self::Annotation(annotation, column) => {
                let terms = Vector::Ids(rows.column(column));
                let answers = annotation.column(&terms, rows.len(), &mut Reader::new(cx))?;
                Ok(Some(answers.into()))
            }
        }
    }
}

/// Values that were met.
struct Table {
    places: Vec<Place>,
    /// Those of several columns, which are numbered.
    combinations: Combinations,
    /// The results of terms that have ordinals, once there are more of them than places.
    by_ordinal: Option<ByOrdinal<u64>>,
    /// Number of the batch, from 1.
    batch: u32,
    /// Rows looked up, how many of them were evaluated, and how many of these had terms with ordinals; from the beginning of this way to look
    /// them up.
    rows: usize,
    evaluated: usize,
    with_ordinal: usize,
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

impl ByValue {
    /// The kernel in use.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// Puts another kernel with the same results in its place.
    pub fn change_kernel(&mut self, change: impl FnOnce(Kernel) -> Kernel) {
        *self.kernel = change(std::mem::replace(&mut *self.kernel, Kernel::Error));
    }

    /// The results of rows, 0 for an error; `None` where it is better to evaluate each.
    pub fn ids(&self, rows: &Rows<'_>, cx: &Context) -> Result<Option<Vec<u64>>, ExecError> {
        if rows.len() < ROWS_MIN || self.is_given_up.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let table = self.lock().pop();
        let mut table = table.unwrap_or_else(Table::new);
        let mut is_given_up = false;
        let Some(values) = self.key.ids(rows, &mut table.combinations, cx)? else {
            self.give_up();
            return Ok(None);
        };
        let ids = table.results(&values, cx, |fresh| {
            let positions: Vec<u32> = fresh.iter().map(|&row| rows.position(row)).collect();
            let rows = rows.at(&positions);
            let results = evaluate::evaluate(&self.kernel, &rows, cx)?;
            let are_numbers = match &results {
                Vector::Numbers(_) => true,
                Vector::Items(items) => items.iter().any(is_number),
                _ => false,
            };
            let ids = results.into_ids(rows.len(), cx);
            let is_computed = |id: &u64| TermId(*id).tag() == tag::LOCAL;
            is_given_up = self.is_operand && are_numbers && ids.iter().any(is_computed);
            Ok(ids)
        })?;
        is_given_up |= table.is_of_no_use(self.makes_texts);
        match is_given_up {
            true => self.give_up(),
            false => self.lock().push(table),
        }
        Ok(Some(ids))
    }

    /// Evaluates each row from now on.
    fn give_up(&self) {
        self.is_given_up.store(true, Ordering::Relaxed);
        self.lock().clear();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Table>> {
        // It holds whole tables or none.
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    fn new() -> Self {
        Self {
            places: vec![Place::FREE; PLACES],
            combinations: Combinations::default(),
            by_ordinal: None,
            batch: 0,
            rows: 0,
            evaluated: 0,
            with_ordinal: 0,
        }
    }

    /// Whether values hardly repeat. Where the places do not hold them, results by ordinal are tried first of texts, more places of others if that pays.
    fn is_of_no_use(&mut self, pays_many: bool) -> bool {
        let (rows, evaluated) = (self.rows, self.evaluated);
        if self.by_ordinal.is_some() {
            return hardly_repeat(rows, rows - evaluated);
        }
        if self.places.len() == MANY_PLACES {
            return rows >= MANY_PLACES && evaluated * 2 > rows;
        }
        let is_of_no_use = rows >= ROWS_TRIED_FIRST && evaluated * 16 > rows * 15
            || rows >= ROWS_TRIED && evaluated * ROWS_PER_VALUE_MIN > rows;
        if !is_of_no_use {
            return false;
        }
        if self.with_ordinal * 2 > evaluated {
            self.by_ordinal = Some(ByOrdinal::new(FREE));
        } else if pays_many {
            self.places = vec![Place::FREE; MANY_PLACES];
        } else {
            return true;
        }
        (self.rows, self.evaluated, self.with_ordinal) = (0, 0, 0);
        false
    }

    /// The results of ids; `evaluate` gives those of the rows at the positions that it is given.
    fn results(
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
        self.rows += ids.len();
        self.evaluated += fresh.len();
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
        let by_ordinal = self.by_ordinal.as_mut();
        if let Some(result) = by_ordinal.and_then(|results| results.place(id, cx)) {
            let known = TermId(*result);
            if known.0 == FREE {
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
            self.with_ordinal += usize::from(has_ordinal(id));
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

/// The kernel with its parts of one column, as large as they are, evaluated by value.
pub fn by_value(kernel: Kernel) -> Kernel {
    part_by_value(kernel, false)
}

/// The same of a kernel whose numbers are read by somebody.
pub fn operand_by_value(kernel: Kernel) -> Kernel {
    part_by_value(kernel, true)
}

fn part_by_value(mut kernel: Kernel, is_operand: bool) -> Kernel {
    let by_key = |key: Key, kernel: Kernel| {
        Kernel::ByValue(ByValue {
            key,
            makes_texts: kernel.makes_texts(),
            kernel: Box::new(kernel),
            is_operand,
            tables: Mutex::default(),
            is_given_up: AtomicBool::new(false),
        })
    };
    if let (true, Some(key)) = (is_long(&kernel), key_of(&kernel)) {
        return by_key(key, kernel);
    }
    let several = several_columns(&kernel);
    for operand in kernel.operands_mut() {
        *operand = part_by_value(std::mem::replace(operand, Kernel::Error), true);
    }
    match several {
        Some(columns) => by_key(Key::Columns(columns), kernel),
        None => kernel,
    }
}

/// The two or three columns of which a kernel makes a text, if it reads no others and the same values give the same one.
fn several_columns(kernel: &Kernel) -> Option<Columns> {
    let makes_text = matches!(
        kernel,
        Kernel::Call(..) | Kernel::If(..) | Kernel::Coalesce(_)
    );
    if !makes_text || !kernel.makes_texts() {
        return None;
    }
    let mut read = Vec::new();
    add_columns(kernel, &mut read)?;
    read.sort_unstable();
    read.dedup();
    let mut columns = [None; COLUMNS_MAX];
    let fits = (2..=COLUMNS_MAX).contains(&read.len());
    for (place, column) in columns.iter_mut().zip(read) {
        *place = Some(column);
    }
    fits.then_some(columns)
}

/// Adds the columns that a kernel reads; `None` if the same values may have different results.
fn add_columns(kernel: &Kernel, columns: &mut Vec<usize>) -> Option<()> {
    columns.extend(own_column(kernel)?);
    let mut operands = kernel.operands().into_iter();
    operands.try_for_each(|operand| add_columns(operand, columns))
}

/// The column that a kernel reads by itself, if it does; `None` if the same values may have different results.
fn own_column(kernel: &Kernel) -> Option<Option<usize>> {
    Some(match kernel {
        Kernel::LabelledBlank(_) | Kernel::Exists(_) => return None,
        Kernel::Call(function, _) if !is_deterministic(function) => return None,
        Kernel::Column(column)
        | Kernel::Bound(column)
        | Kernel::CompareConstant { column, .. }
        | Kernel::Language { column, .. }
        | Kernel::CastNumber { column, .. } => Some(*column),
        _ => None,
    })
}

/// What the value of a kernel depends on, if that is one column, its languages or datatypes, a part of its times, or the text of what an operator gives.
fn key_of(kernel: &Kernel) -> Option<Key> {
    let part = |kernel: &Kernel| match kernel {
        Kernel::Call(Function::SubStr, _) => {
            let (prefix, column) = TimePrefix::of(kernel)?;
            Some(Key::Prefix(prefix, column))
        }
        Kernel::Call(Function::Str, list) => match list.as_slice() {
            [Kernel::Arithmetic(operator, a, b)] => match (&**a, &**b) {
                (Kernel::Column(a), Kernel::Column(b)) => {
                    Some(Key::Arithmetic(*operator, [*a, *b]))
                }
                _ => None,
            },
            _ => None,
        },
        Kernel::Call(function, list) => match (Annotation::of(function), list.as_slice()) {
            (Some(annotation), [Kernel::Column(column)]) => {
                Some(Key::Annotation(annotation, *column))
            }
            _ => None,
        },
        _ => None,
    };
    let key = sole_key(kernel, &part).or_else(|| sole_key(kernel, &|_| None));
    key.flatten()
}

fn is_number(item: &Item) -> bool {
    matches!(item, Item::Value(Value::Number(_)))
}

/// Whether a kernel takes longer than a look-up.
fn is_long(kernel: &Kernel) -> bool {
    match kernel {
        // Evaluated by language and datatype already, or by the tag of an id.
        Kernel::Call(function, _) => {
            Annotation::of(function).is_none() && KindTest::of(function).is_none()
        }
        // A look-up of its own.
        Kernel::InConstants(needle, set) => {
            !matches!(**needle, Kernel::Column(_)) || !set.is_quick()
        }
        Kernel::Compare(..) if CalendarComparison::of(kernel).is_some() => false,
        // The beginnings of texts are read.
        Kernel::CompareConstant { op, constant, .. } => {
            *op != CompareOp::Equal && matches!(constant.value, Value::String(_))
        }
        Kernel::Compare(..)
        | Kernel::In(..)
        | Kernel::Arithmetic(..)
        | Kernel::Sign { .. }
        | Kernel::If(..)
        | Kernel::Coalesce(_)
        | Kernel::Text { .. } => true,
        _ => false,
    }
}

/// The only key that a kernel reads, `None` inside if it reads none; `None` if there are several, or the same value may have
/// different results. `part` tells which kernels are read as a whole.
fn sole_key(kernel: &Kernel, part: &impl Fn(&Kernel) -> Option<Key>) -> Option<Option<Key>> {
    if let Some(key) = part(kernel) {
        return Some(Some(key));
    }
    let own = own_column(kernel)?.map(Key::Column);
    kernel
        .operands()
        .into_iter()
        .try_fold(own, |known, operand| {
            match (known, sole_key(operand, part)?) {
                (Some(a), Some(b)) if a != b => None,
                (a, b) => Some(a.or(b)),
            }
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::ExecOptions;
    use basalt_rdf::term_id::LITERAL_ORDINAL_MASK;
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
            if table.is_of_no_use(true) {
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
