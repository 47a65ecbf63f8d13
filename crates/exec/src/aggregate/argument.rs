//! `Argument`: what aggregates read of each row, evaluated once for a batch however many they are.
//!
//! `SUM(?x)`, `AVG(?x)` and `MIN(?x)` have one argument. Numbers of one type are a column of machine words ([`Numbers`]), from which sums,
//! averages and extremes are taken; whoever needs terms has their ids.

use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::expr::{self, CompiledExpr, Evaluated, Numbers};
use basalt_plan::physical::{Expr, Slot};
use std::borrow::Cow;
use std::cell::OnceCell;

/// An argument; see the head of this module.
pub struct Argument {
    source: Expr,
    expr: CompiledExpr,
    /// Whether some aggregate reads numbers.
    reads_numbers: bool,
}

impl Argument {
    /// The place of an argument among others, where it is put if it is not there.
    pub fn place(
        arguments: &mut Vec<Self>,
        source: &Expr,
        reads_numbers: bool,
        schema: &[Slot],
        cx: &Context,
    ) -> Result<usize, ExecError> {
        if let Some(place) = arguments.iter().position(|known| known.source == *source) {
            arguments[place].reads_numbers |= reads_numbers;
            return Ok(place);
        }
        arguments.push(Self {
            source: source.clone(),
            expr: CompiledExpr::compile(source, schema, cx)?,
            reads_numbers,
        });
        Ok(arguments.len() - 1)
    }

    /// The values in the rows of a batch.
    pub fn values<'b>(&'b self, batch: &'b Batch, cx: &Context) -> Result<Values<'b>, ExecError> {
        let values = self.expr.evaluate_numbers(batch, cx)?;
        let (ids, numbers) = match values {
            Evaluated::Numbers(numbers) => (None, Some(numbers)),
            Evaluated::Ids(ids) => {
                // Of a column with errors each row is looked at anyway.
                let numbers = match self.reads_numbers && !ids.contains(&0) {
                    true => Numbers::of_one_datatype(&ids).map(Cow::Owned),
                    false => None,
                };
                (Some(ids), numbers)
            }
        };
        Ok(Values {
            ids: ids.map(OnceCell::from).unwrap_or_default(),
            numbers,
            nearest: OnceCell::new(),
        })
    }
}

/// The values of an argument in some rows.
pub struct Values<'b> {
    /// Ids, 0 for an error; made when they are asked for where numbers were computed.
    ids: OnceCell<Cow<'b, [u64]>>,
    numbers: Option<Cow<'b, Numbers>>,
    /// The doubles nearest to integers or decimals, once they were asked for.
    nearest: OnceCell<Option<Vec<f64>>>,
}

impl Values<'_> {
    /// The ids, 0 for an error.
    pub fn ids(&self, cx: &Context) -> &[u64] {
        let make = || self.numbers().map_or(Vec::new(), |numbers| numbers.ids(cx));
        self.ids.get_or_init(|| make().into())
    }

    /// The id of a row, 0 for an error.
    pub fn id(&self, row: usize, cx: &Context) -> u64 {
        match (self.ids.get(), self.numbers()) {
            (Some(ids), _) => ids[row],
            (None, Some(numbers)) => numbers.get(row).map_or(0, |number| number.to_id(cx)),
            (None, None) => 0,
        }
    }

    /// The numbers, if they have a column and somebody reads it.
    pub fn numbers(&self) -> Option<&Numbers> {
        self.numbers.as_deref()
    }

    /// The double nearest to each number, anything for an error; `None` where one is not found quickly.
    pub fn nearest(&self) -> Option<&[f64]> {
        let numbers = self.numbers()?;
        if let expr::Values::Floating { values, .. } = numbers.values() {
            return Some(values);
        }
        let make = || numbers.nearest_doubles().map(Cow::into_owned);
        self.nearest.get_or_init(make).as_deref()
    }
}
