//! `Argument`: what aggregates read of each row, evaluated once for a batch however many they are.
//!
//! `SUM(?x)`, `AVG(?x)` and `MIN(?x)` have one argument. Numbers of one type are a column of machine words ([`Numbers`]), from which sums,
//! averages and extremes are taken; sums take longer numbers as they are; whoever needs terms has their ids.

use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::expr::{self, CompiledExpr, Evaluated, Item, Numbers, Products, Summands};
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
            expr: match reads_numbers {
                true => CompiledExpr::compile_operand(source, schema, cx)?,
                false => CompiledExpr::compile(source, schema, cx)?,
            },
            reads_numbers,
        });
        Ok(arguments.len() - 1)
    }

    /// The values in the rows of a batch.
    pub fn values<'b>(&'b self, batch: &'b Batch, cx: &Context) -> Result<Values<'b>, ExecError> {
        let mut values = Values::default();
        let evaluated = match self.reads_numbers {
            true => match self.expr.evaluate_summands(batch, cx)? {
                Summands::Evaluated(evaluated) => evaluated,
                Summands::Products(products) => {
                    values.products = Some(products);
                    return Ok(values);
                }
            },
            false => self.expr.evaluate_numbers(batch, cx)?,
        };
        match evaluated {
            Evaluated::Numbers(numbers) => values.numbers = Some(numbers),
            Evaluated::Items(items) => values.items = items,
            Evaluated::Ids(ids) => {
                // Of a column with errors each row is looked at anyway.
                if self.reads_numbers && !ids.contains(&0) {
                    values.numbers = Numbers::of_one_datatype(&ids).map(Cow::Owned);
                }
                values.ids = OnceCell::from(ids);
            }
        }
        Ok(values)
    }
}

/// The values of an argument in some rows.
#[derive(Default)]
pub struct Values<'b> {
    /// Ids, 0 for an error; made when they are asked for where numbers were computed.
    ids: OnceCell<Cow<'b, [u64]>>,
    numbers: Option<Cow<'b, Numbers>>,
    /// Computed values that have no column; empty if there are ids or numbers.
    items: Vec<Item>,
    /// Long products, of which there is nothing else until ids are asked for.
    products: Option<Products>,
    /// The doubles nearest to integers or decimals, once they were asked for.
    nearest: OnceCell<Option<Vec<f64>>>,
}

impl Values<'_> {
    /// The ids, 0 for an error.
    pub fn ids(&self, cx: &Context) -> &[u64] {
        let make = || match (self.numbers(), self.products()) {
            (Some(numbers), _) => numbers.ids(cx),
            (None, Some(products)) => {
                let rows = 0..products.rows();
                rows.map(|row| products.item(row).id(cx)).collect()
            }
            (None, None) => self.items.iter().map(|item| item.id(cx)).collect(),
        };
        self.ids.get_or_init(|| make().into())
    }

    /// The id of a row, 0 for an error.
    pub fn id(&self, row: usize, cx: &Context) -> u64 {
        match (self.ids.get(), self.numbers()) {
            (Some(ids), _) => ids[row],
            (None, Some(numbers)) => numbers.get(row).map_or(0, |number| number.to_id(cx)),
            (None, None) => match self.products() {
                Some(products) => products.item(row).id(cx),
                None => self.items.get(row).map_or(0, |item| item.id(cx)),
            },
        }
    }

    /// The numbers, if they have a column and somebody reads it.
    pub fn numbers(&self) -> Option<&Numbers> {
        self.numbers.as_deref()
    }

    /// The values, if they are long products.
    pub fn products(&self) -> Option<&Products> {
        self.products.as_ref()
    }

    /// The values, if some were computed and they have no column.
    pub fn items(&self) -> Option<&[Item]> {
        (!self.items.is_empty()).then_some(&self.items)
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
