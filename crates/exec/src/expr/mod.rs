//! Compiled expressions: conditions, BIND, sort keys and arguments of aggregates, a column at a time.
//!
//! [`CompiledExpr::compile`] turns the planner's [`Expr`] into a tree of kernels: constants are folded
//! and decoded, regular expressions compiled, and the forms that occur in every benchmark (a column
//! compared with a constant, `langMatches(lang(?x), ..)`, casts of `str(?x)`) get kernels of
//! their own that work on ids. Evaluation goes down the tree once per batch.
//!
//! Invariants: an error of SPARQL is a value here (id 0, [`Truth::Error`]); `Err` ends the query. A fast
//! kernel answers exactly as the general one. A compiled expression is shared between threads.
//!
//! Cost: a comparison with a constant is one integer comparison per row where tag and scale agree;
//! functions on text decode it once per row, functions of one column once per value where values repeat (`by_value.rs`).

mod annotation;
mod arithmetic;
mod blended;
mod by_kind;
mod by_value;
mod calendar_comparison;
mod call;
mod cast;
mod chosen;
mod combinations;
mod comparison;
mod compile;
mod constant_set;
mod date_arithmetic;
mod date_columns;
mod date_comparison;
mod date_function;
mod equality_key;
mod estimated_comparison;
mod evaluate;
mod exact_operators;
mod id_ranges;
mod kernel;
mod kind_test;
mod known_texts;
mod language_test;
mod nearest_comparison;
mod number_casts;
mod number_comparison;
mod number_operators;
mod number_values;
mod numbers;
mod numeric_cast;
mod operand;
mod pattern;
mod patterns;
mod products;
mod range_words;
mod string_function;
mod text_test;
mod texts;
mod time_prefix;
mod value_table;
mod vector;

pub use comparison::CompareOp;
use comparison::select_column;
pub use exact_operators::quotient;
pub use known_texts::KnownTexts;
pub use numbers::{Numbers, Values};
pub use numeric_cast::ColumnCast;
pub use patterns::Patterns;
pub use products::Products;
pub use range_words::RangeWords;
pub use vector::{Item, Truth};

use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::selection::positions;
use basalt_plan::physical::{Expr, Slot};
use basalt_rdf::TermId;
use calendar_comparison::CalendarComparison;
use kernel::Kernel;
use number_comparison::NumberComparison;
use products::Summed;
use std::borrow::Cow;
use vector::{Rows, Vector};

/// Rows whose strings are made at a time: those of most texts stay in the nearer caches until they are looked at. Tests
/// have fewer rows.
const SLICE_ROWS: usize = if cfg!(test) { 64 } else { 512 };

/// The values of an expression, one for each row.
pub enum Evaluated<'b> {
    /// Ids, 0 for an error.
    Ids(Cow<'b, [u64]>),
    /// Computed numbers.
    Numbers(Cow<'b, Numbers>),
    /// Values of which some were computed, and have no column.
    Items(Vec<Item>),
}

/// The values of an expression for whoever adds them up.
pub enum Summands<'b> {
    /// As anybody has them.
    Evaluated(Evaluated<'b>),
    /// Products of decimals that are too long for a column.
    Products(Products),
}

impl<'b> Evaluated<'b> {
    fn of(vector: Vector<'b>, rows: usize, cx: &Context) -> Self {
        match vector {
            Vector::Numbers(numbers) => Self::Numbers(numbers),
            Vector::Ids(ids) => Self::Ids(ids),
            Vector::Items(items) => Self::Items(items),
            other => Self::Ids(other.into_ids(rows, cx).into()),
        }
    }
}

/// An expression ready to run over batches of one schema; see the [module documentation](self).
pub struct CompiledExpr {
    root: Kernel,
    /// Whether rows must say which solution they are.
    needs_solutions: bool,
    /// Whether strings are made on the way.
    makes_texts: bool,
    /// The slots of the batches, in column order.
    schema: Vec<Slot>,
}

impl CompiledExpr {
    /// Makes an expression ready for batches whose columns are `schema`.
    ///
    /// A slot outside the schema is unbound. An unknown function is an error here, not a value.
    pub fn compile(expr: &Expr, schema: &[Slot], cx: &Context) -> Result<Self, ExecError> {
        let root = by_value::by_value(compile::compile(expr, schema, cx)?);
        Ok(Self::of(root, schema))
    }

    /// The same for whoever reads numbers, whose texts and ids need not be made.
    pub fn compile_operand(expr: &Expr, schema: &[Slot], cx: &Context) -> Result<Self, ExecError> {
        let root = by_value::operand_by_value(compile::compile(expr, schema, cx)?);
        Ok(Self::of(root, schema))
    }

    fn of(root: Kernel, schema: &[Slot]) -> Self {
        let root = by_kind::by_kind(root);
        Self {
            needs_solutions: root.needs_solutions(),
            makes_texts: root.makes_texts(),
            root,
            schema: schema.to_vec(),
        }
    }

    /// About how long a row takes beside others; conditions of which all must hold are asked the lightest first.
    pub fn weight(&self) -> u8 {
        self.root.weight()
    }

    /// The batch, with numbers that say which solution each row is if the expression needs them and
    /// there are none. An operator that hands the rows on evaluates over what this gives, so that the
    /// next expression over the same solution finds the same number.
    pub fn with_solutions(&self, batch: Batch, cx: &Context) -> Batch {
        if !self.needs_solutions || batch.solutions().is_some() {
            return batch;
        }
        let first = cx.number_solutions(batch.rows());
        batch.with_solutions_from(first)
    }

    /// The same for whoever does not hand the rows on.
    fn numbered<'b>(&self, batch: &'b Batch, cx: &Context) -> Cow<'b, Batch> {
        if self.needs_solutions {
            Cow::Owned(self.with_solutions(batch.clone(), cx))
        } else {
            Cow::Borrowed(batch)
        }
    }

    /// The value in each row, 0 for an error.
    pub fn evaluate(&self, batch: &Batch, cx: &Context) -> Result<Vec<u64>, ExecError> {
        let batch = self.numbered(batch, cx);
        self.in_slices(&batch, |rows| {
            let vector = evaluate::evaluate(&self.root, rows, cx)?;
            Ok(vector.into_ids(rows.len(), cx))
        })
    }

    /// The same, of computed numbers as such and without a copy of a column.
    pub fn evaluate_numbers<'b>(
        &'b self,
        batch: &'b Batch,
        cx: &Context,
    ) -> Result<Evaluated<'b>, ExecError> {
        if self.needs_solutions || self.makes_texts && batch.rows() > SLICE_ROWS {
            return Ok(Evaluated::Ids(self.evaluate(batch, cx)?.into()));
        }
        let rows = Rows::all(batch);
        let values = evaluate::operand(&self.root, &rows, cx)?;
        Ok(Evaluated::of(values, rows.len(), cx))
    }

    /// The same for sums.
    pub fn evaluate_summands<'b>(
        &'b self,
        batch: &'b Batch,
        cx: &Context,
    ) -> Result<Summands<'b>, ExecError> {
        if self.needs_solutions || self.makes_texts {
            return self.evaluate_numbers(batch, cx).map(Summands::Evaluated);
        }
        let rows = Rows::all(batch);
        Ok(match evaluate::summands(&self.root, &rows, cx)? {
            Summed::Products(products) => Summands::Products(products),
            Summed::Vector(values) => Summands::Evaluated(Evaluated::of(values, rows.len(), cx)),
        })
    }

    /// What `of` gives for the rows of a batch, some of them at a time where strings are made.
    fn in_slices<T>(
        &self,
        batch: &Batch,
        of: impl Fn(&Rows<'_>) -> Result<Vec<T>, ExecError>,
    ) -> Result<Vec<T>, ExecError> {
        let rows = Rows::all(batch);
        if !self.makes_texts || rows.len() <= SLICE_ROWS {
            return of(&rows);
        }
        let mut all = Vec::with_capacity(rows.len());
        let positions: Vec<u32> = (0..rows.len() as u32).collect();
        for slice in positions.chunks(SLICE_ROWS) {
            all.extend(of(&rows.at(slice))?);
        }
        Ok(all)
    }

    /// The rows in which the effective boolean value is true, ascending.
    pub fn select(&self, batch: &Batch, cx: &Context) -> Result<Vec<u32>, ExecError> {
        let selected = self.select_ids(|column| match batch.numbers(column) {
            None => batch.ids(column),
            Some(_) => &[],
        });
        if let Some(selected) = selected {
            return Ok(selected);
        }
        let batch = self.numbered(batch, cx);
        let truths = self.in_slices(&batch, |rows| evaluate::condition(&self.root, rows, cx))?;
        Ok(positions(&truths, |truth| truth == Truth::True))
    }

    /// The same where the condition compares one column with a constant and ids tell for all rows, of which there is one at least;
    /// `None` otherwise.
    pub fn select_ids<'b>(&self, ids: impl Fn(usize) -> &'b [u64]) -> Option<Vec<u32>> {
        if let Kernel::CompareConstant {
            column,
            op,
            constant,
        } = &self.root
        {
            return match ids(*column) {
                [] => None,
                ids => select_column(ids, *op, constant),
            };
        }
        if let Some(comparison) = CalendarComparison::of(&self.root) {
            return comparison.select(ids(comparison.column));
        }
        let comparison = NumberComparison::of(&self.root)?;
        comparison.select(ids(comparison.column))
    }

    /// Whether the condition can be true for some row in which the id of `slot` lies between `min`
    /// and `max` (inclusive); `false` is a proof that it cannot.
    ///
    /// Proofs exist only where all ids between the bounds have one tag and one scale.
    pub fn zone_may_match(&self, slot: Slot, min: u64, max: u64) -> bool {
        let column = self.schema.iter().position(|s| *s == slot);
        column.is_none_or(|column| self.root.zone_may_match(column, min, max))
    }

    /// The column, if that is the whole expression.
    pub fn plain_column(&self) -> Option<usize> {
        match self.root {
            Kernel::Column(column) => Some(column),
            _ => None,
        }
    }

    /// The cast, if the whole expression is one of a column.
    pub fn column_cast(&self) -> Option<ColumnCast> {
        match self.root {
            Kernel::CastNumber { column, cast, of } => Some(ColumnCast::new(column, cast, of)),
            _ => None,
        }
    }

    /// The slot, operator and constant, if the whole condition is `slot operator constant`.
    pub fn simple_comparison(&self) -> Option<(Slot, CompareOp, TermId)> {
        match &self.root {
            Kernel::CompareConstant {
                column,
                op,
                constant,
            } => Some((self.schema[*column], *op, TermId(constant.id))),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
