//! `ByKind`: an expression evaluated apart for rows whose columns are of one kind each, where it computes with columns of several.
//!
//! Columns of numbers of one type are computed with as words ([`Numbers`]); one row of another type would send the whole batch to a call for
//! each row. Apart, each kind has its column, and the results are put together again.
//!
//! Invariant: the results are those of each row. Cost: some 5 ns a row where kinds are mixed, and a look at the ids where they are not.

use super::chosen::Chosen;
use super::comparison::compare_columns;
use super::evaluate::{operand, summands, truths};
use super::kernel::Kernel;
use super::number_operators::Change;
use super::numbers::Numbers;
use super::numeric_cast::NumericCast;
use super::products::{Products, Summed};
use super::vector::{Rows, Truth, Vector};
use crate::context::Context;
use crate::error::ExecError;
use crate::row_kinds::Kinds;
use basalt_rdf::TermId;
use std::borrow::Cow;

/// A kernel that computes with columns; see the [module documentation](self).
pub struct ByKind {
    /// The columns, ascending.
    columns: Vec<usize>,
    kernel: Box<Kernel>,
}

impl ByKind {
    /// The kernel in use.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// The values for whoever adds them up.
    pub fn summands<'a>(&'a self, rows: &Rows<'a>, cx: &Context) -> Result<Summed<'a>, ExecError> {
        let Some(parts) = self.parts(rows) else {
            return summands(&self.kernel, rows, cx);
        };
        let positions: Vec<_> = parts.iter().map(|part| rows.positions(part)).collect();
        let values = positions
            .iter()
            .map(|positions| summands(&self.kernel, &rows.at(positions), cx))
            .collect::<Result<Vec<_>, _>>()?;
        if let Some(products) = Products::together(rows.len(), &parts, &values) {
            return Ok(Summed::Products(products));
        }
        let values: Vec<Vector<'_>> = values.into_iter().map(Summed::into_vector).collect();
        Ok(Summed::Vector(together(rows.len(), &parts, &values)))
    }

    /// The values, one for each row.
    pub fn values<'a>(&'a self, rows: &Rows<'a>, cx: &Context) -> Result<Vector<'a>, ExecError> {
        let Some(parts) = self.parts(rows) else {
            return operand(&self.kernel, rows, cx);
        };
        let positions: Vec<_> = parts.iter().map(|part| rows.positions(part)).collect();
        let values = positions
            .iter()
            .map(|positions| operand(&self.kernel, &rows.at(positions), cx))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(together(rows.len(), &parts, &values))
    }

    /// The effective boolean values, one for each row.
    pub fn truths(&self, rows: &Rows<'_>, cx: &Context) -> Result<Vec<Truth>, ExecError> {
        if let Some(truths) = self.dates_compared(rows) {
            return Ok(truths);
        }
        let Some(parts) = self.parts(rows) else {
            return truths(&self.kernel, rows, cx);
        };
        let mut all = vec![Truth::Error; rows.len()];
        for part in &parts {
            let positions = rows.positions(part);
            let truths = truths(&self.kernel, &rows.at(&positions), cx)?;
            for (&row, truth) in part.iter().zip(truths) {
                all[row as usize] = truth;
            }
        }
        Ok(all)
    }

    /// Two columns of dates compared, of which the zones are no kinds of their own.
    fn dates_compared(&self, rows: &Rows<'_>) -> Option<Vec<Truth>> {
        let Kernel::Compare(op, a, b) = &*self.kernel else {
            return None;
        };
        let (Kernel::Column(a), Kernel::Column(b)) = (&**a, &**b) else {
            return None;
        };
        if rows.numbers(*a).is_some() || rows.numbers(*b).is_some() {
            return None;
        }
        let a = rows.column(*a);
        let is_date = a.first().is_some_and(|&id| TermId(id).is_temporal());
        is_date.then(|| compare_columns(&a, &rows.column(*b), *op))?
    }

    /// The rows of each kind; `None` if all are of one.
    fn parts(&self, rows: &Rows<'_>) -> Option<Vec<Vec<u32>>> {
        let mut all: Option<Kinds> = None;
        for &column in &self.columns {
            let kinds = match rows.numbers(column) {
                Some(numbers) => numbers.kinds(),
                None => Kinds::of_ids(&rows.column(column)),
            };
            all = match (all, kinds) {
                (Some(all), Some(kinds)) => Some(all.and(&kinds)?),
                (all, kinds) => all.or(kinds),
            };
        }
        all?.rows()
    }
}

/// The values of some parts of so many rows as one vector.
fn together<'v>(rows: usize, parts: &[Vec<u32>], values: &[Vector<'_>]) -> Vector<'v> {
    let numbers: Option<Vec<_>> = values
        .iter()
        .map(|values| match values {
            Vector::Numbers(numbers) => Some(&**numbers),
            _ => None,
        })
        .collect();
    if let Some(numbers) = numbers
        && let Some(together) = Numbers::together(rows, parts, &numbers)
    {
        return Vector::Numbers(Cow::Owned(together));
    }
    let mut chosen = Chosen::errors(rows);
    for (part, values) in parts.iter().zip(values) {
        chosen.put(part, values);
    }
    chosen.into_vector()
}

/// The kernel, with the parts of it that compute with columns, as large as they are, evaluated by kind.
pub fn by_kind(mut kernel: Kernel) -> Kernel {
    let mut columns = Vec::new();
    if computes(&kernel) {
        add_operands(&kernel, &mut columns);
    }
    if !columns.is_empty() {
        columns.sort_unstable();
        columns.dedup();
        return Kernel::ByKind(ByKind {
            columns,
            kernel: Box::new(kernel),
        });
    }
    if let Kernel::ByValue(by_value) = &mut kernel {
        by_value.change_kernel(by_kind);
        return kernel;
    }
    for operand in kernel.operands_mut() {
        *operand = by_kind(std::mem::replace(operand, Kernel::Error));
    }
    kernel
}

/// Whether a kernel computes with numbers or dates, as columns where they are of one kind.
fn computes(kernel: &Kernel) -> bool {
    match kernel {
        Kernel::Arithmetic(..) | Kernel::Sign { .. } => true,
        Kernel::Compare(_, a, b) => {
            let is_operand =
                |kernel: &Kernel| matches!(kernel, Kernel::Column(_)) || computes(kernel);
            // A column alone is compared with a constant by ids.
            is_operand(a) && is_operand(b) || computes(a) || computes(b)
        }
        Kernel::Call(function, _) => {
            Change::of(function).is_some() || NumericCast::of(function).is_some()
        }
        _ => false,
    }
}

/// Adds the columns that a kernel computes with.
fn add_operands(kernel: &Kernel, columns: &mut Vec<usize>) {
    for operand in kernel.operands() {
        match operand {
            Kernel::Column(column) => columns.push(*column),
            Kernel::If(..) | Kernel::Coalesce(_) => add_operands(operand, columns),
            other if computes(other) => add_operands(other, columns),
            _ => {}
        }
    }
}
