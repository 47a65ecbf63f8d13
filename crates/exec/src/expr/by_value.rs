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
//! table gives what the kernel gives. Where hardly a value of a kind repeats, terms that have ordinals or others, these are looked up no more; the table is given up for good where a kernel above would read numbers that no
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
use super::value_table::Table;
use super::vector::{Item, Rows, Vector};
use crate::context::Context;
use crate::error::ExecError;
use crate::value::{Reader, Value};
use basalt_rdf::TermId;
use basalt_rdf::term_id::tag;
use spargebra::algebra::Function;
use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Rows of a batch from which on a table is looked at; it takes as long to make as evaluating some of them.
const ROWS_MIN: usize = 128;
/// A kernel of one column with tables of its values; see the [module documentation](self).
pub struct ByValue {
    key: Key,
    kernel: Box<Kernel>,
    /// Whether another kernel, or an aggregate, reads the numbers.
    is_operand: bool,
    /// Whether texts are made, which takes so long that it pays to remember many values.
    makes_texts: bool,
    /// Whether results by ordinal are of use: not of what computes numbers or lengths of time, one of which that no id holds would become a term to be
    /// remembered, nor of what is told by an id or its datatype.
    pays_terms: bool,
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
        if let Key::Column(column) = self.key
            && rows.numbers(column).is_some()
            && table.has_given_up()
        {
            // Computed numbers would have to be told by ids first.
            self.lock().push(table);
            return Ok(None);
        }
        let Some(values) = self.key.ids(rows, &mut table.combinations, cx)? else {
            self.give_up();
            return Ok(None);
        };
        if !table.may_find(&values) {
            match self.key {
                // Batches of other values may come.
                Key::Column(_) => self.lock().push(table),
                _ => self.give_up(),
            }
            return Ok(None);
        }
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
        table.judge(self.pays_terms, self.makes_texts);
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
            pays_terms: !computes(&kernel) && !asks_of_kinds(&kernel),
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

fn computes(kernel: &Kernel) -> bool {
    matches!(
        kernel,
        Kernel::Arithmetic(..) | Kernel::Sign { .. } | Kernel::CastNumber { .. }
    )
}

/// Whether a kernel reads nothing of its column but what kind of term it has, its language or its datatype.
fn asks_of_kinds(kernel: &Kernel) -> bool {
    match kernel {
        Kernel::Bound(_) | Kernel::Language { .. } => true,
        Kernel::Call(function, list)
            if Annotation::of(function).is_some() || KindTest::of(function).is_some() =>
        {
            matches!(list.as_slice(), [Kernel::Column(_)])
        }
        other => own_column(other) == Some(None) && other.operands().into_iter().all(asks_of_kinds),
    }
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
