//! `ComputedNumbers`: a column of a batch that an expression has computed, whose ids are made when somebody asks for them.
//!
//! ```text
//! cast of ids  ->  numbers      when an aggregate, a condition or a further expression reads them
//!              ->  ids          when a key, a sort, a join or the answer asks for them
//! ```
//!
//! Rows that a condition leaves out before never have an id. Rows that a join repeats have the ids of the rows that they repeat, which are
//! made once. Invariant: of a cast whose ids tell all results, numbers or ids can be made. Cost: the id of a decimal or of a whole double takes some 3 ns, that of another double, whose shortest text has to be found,
//! 30; a cast of a decimal knows that text (3 ns).

use crate::context::Context;
use crate::expr::{ColumnCast, Numbers};
use crate::selection::taken;
use arrow_array::UInt64Array;
use std::sync::{Arc, OnceLock, Weak};

/// The numbers; see the head of this module.
#[derive(Debug)]
pub struct ComputedNumbers {
    rows: usize,
    source: Source,
    /// The numbers; `None` where they have no column.
    numbers: OnceLock<Option<Numbers>>,
    /// The ids, 0 for an error.
    ids: OnceLock<UInt64Array>,
    /// The query, which makes the ids. It may hold this column itself.
    cx: Weak<Context>,
}

/// Where they come from.
#[derive(Debug)]
enum Source {
    /// They were computed.
    Numbers,
    /// The cast that makes them, and the ids that it is of.
    Cast(ColumnCast, UInt64Array),
    /// They are those of another column at these positions, which may repeat.
    Others(Arc<ComputedNumbers>, Vec<u32>),
}

impl ComputedNumbers {
    /// These numbers.
    pub fn new(numbers: Numbers, cx: &Context) -> Self {
        Self {
            rows: numbers.rows(),
            source: Source::Numbers,
            numbers: Some(numbers).into(),
            ids: OnceLock::new(),
            cx: cx.handle(),
        }
    }

    /// The numbers that a cast makes of ids, if those tell all of them.
    pub fn of_cast(cast: ColumnCast, ids: &UInt64Array, cx: &Context) -> Option<Self> {
        cast.is_told(ids.values()).then(|| Self {
            rows: ids.values().len(),
            source: Source::Cast(cast, ids.clone()),
            numbers: OnceLock::new(),
            ids: OnceLock::new(),
            cx: cx.handle(),
        })
    }

    /// Those of another column at these positions, in this order, repeats allowed.
    pub fn of_others(others: &Arc<Self>, positions: &[u32]) -> Self {
        Self {
            rows: positions.len(),
            source: Source::Others(Arc::clone(others), positions.to_vec()),
            numbers: OnceLock::new(),
            ids: OnceLock::new(),
            cx: others.cx.clone(),
        }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The ids, 0 for an error.
    pub fn ids(&self) -> &UInt64Array {
        self.ids.get_or_init(|| {
            match &self.source {
                Source::Numbers => {}
                Source::Cast(cast, of) => {
                    if let Some(ids) = cast.ids(of.values()) {
                        return ids.into();
                    }
                }
                Source::Others(of, positions) => {
                    let ids = taken(of.ids().values(), positions);
                    return UInt64Array::from_iter_values(ids);
                }
            }
            let cx = self.cx.upgrade();
            let cx = cx.expect("a batch does not outlive its query");
            let numbers = self.numbers();
            let ids = numbers
                .expect("of numbers without ids there is a column")
                .ids(&cx);
            ids.into()
        })
    }

    fn numbers(&self) -> Option<&Numbers> {
        let make = || match &self.source {
            Source::Numbers => None,
            Source::Cast(cast, of) => cast.numbers(of.values()),
            Source::Others(of, positions) => Some(of.numbers()?.take(positions)),
        };
        self.numbers.get_or_init(make).as_ref()
    }

    /// The numbers, if they have a column and nobody has asked for ids.
    pub fn without_ids(&self) -> Option<&Numbers> {
        match self.ids.get() {
            Some(_) => None,
            None => self.numbers(),
        }
    }

    /// The same for whoever writes them as texts; of a cast ids are better, which come from what it is of, and where rows repeat.
    pub fn to_write(&self) -> Option<&Numbers> {
        match self.source {
            Source::Numbers => self.without_ids(),
            Source::Cast(..) | Source::Others(..) => None,
        }
    }

    /// Bytes that they take once they have ids; of numbers that are not computed yet, a word each.
    pub fn bytes(&self) -> usize {
        const ID: usize = size_of::<u64>();
        match &self.source {
            Source::Numbers => self.rows * ID + self.numbers().map_or(0, Numbers::bytes),
            Source::Cast(..) => self.rows * 3 * ID,
            Source::Others(_, positions) => self.rows * 2 * ID + size_of_val(positions.as_slice()),
        }
    }

    /// The rows at these positions, if nobody has asked for ids.
    pub fn take(&self, positions: &[u32]) -> Option<Self> {
        if self.ids.get().is_some() {
            return None;
        }
        let numbers = self.numbers.get().map(|numbers| {
            let numbers = numbers.as_ref().map(|numbers| numbers.take(positions));
            OnceLock::from(numbers)
        });
        let source = match &self.source {
            Source::Numbers => Source::Numbers,
            Source::Cast(cast, of) => {
                let of = taken(of.values(), positions);
                Source::Cast(*cast, UInt64Array::from_iter_values(of))
            }
            Source::Others(of, own) => {
                Source::Others(Arc::clone(of), taken(own, positions).collect())
            }
        };
        Some(Self {
            rows: positions.len(),
            source,
            numbers: numbers.unwrap_or_default(),
            ids: OnceLock::new(),
            cx: self.cx.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::Batch;
    use crate::context::ExecOptions;
    use crate::expr::{CompiledExpr, Evaluated};
    use basalt_plan::physical::{Expr, Slot};
    use basalt_rdf::TermView;
    use basalt_store::Snapshot;
    use oxrdf::NamedNode;
    use proptest::prelude::*;
    use spargebra::algebra::Function;

    const XSD: &str = "http://www.w3.org/2001/XMLSchema#";

    proptest! {
        #[test]
        fn they_are_the_ids_of_the_expression(
            rows in prop::collection::vec((any::<i64>(), 0..64_u32, 0..7_u32, 0..9_u8), 1..40),
            name in prop::sample::select(vec!["float", "double", "decimal", "integer"]),
            few_digits: bool,
            is_sum: bool,
            step in 1..4_usize,
        ) {
            let cx = Context::new(Snapshot::empty(), ExecOptions::default(), 0);
            let id = |(mantissa, shift, scale, kind): (i64, u32, u32, u8)| {
                let units = mantissa >> shift.max(if few_digits { 40 } else { 0 });
                let power = 10_i64.pow(scale);
                let text = format!("{}.{:0>3}", units / power, units.unsigned_abs() % power.unsigned_abs() % 1000);
                match kind {
                    0 => 0,
                    1 => cx.terms().intern(TermView::typed(&units.to_string(), "http://www.w3.org/2001/XMLSchema#integer")).0,
                    _ => cx.terms().intern(TermView::typed(&text, "http://e/currency")).0,
                }
            };
            let ids: Vec<u64> = rows.iter().copied().map(id).collect();
            let slot = Slot(0);
            let function = |iri: &str| Function::Custom(NamedNode::new_unchecked(iri));
            let text = Expr::Call(Function::Str, vec![Expr::Slot(slot)]);
            let cast = Expr::Call(function(&format!("{XSD}{name}")), vec![text]);
            let expr = match is_sum {
                false => cast,
                true => Expr::Call(Function::Abs, vec![cast]),
            };
            let compiled = CompiledExpr::compile(&expr, &[slot], &cx).expect("compiles");
            let batch = Batch::from_vectors(vec![ids.clone()], ids.len());
            let expected = compiled.evaluate(&batch, &cx).expect("runs");
            let computed = match compiled.column_cast() {
                Some(cast) => ComputedNumbers::of_cast(cast, batch.column(0), &cx),
                None => match compiled.evaluate_numbers(&batch, &cx).expect("runs") {
                    Evaluated::Numbers(numbers) => Some(ComputedNumbers::new(numbers.into_owned(), &cx)),
                    Evaluated::Ids(_) | Evaluated::Items(_) => None,
                },
            };
            let Some(computed) = computed else {
                return Ok(());
            };
            let kept: Vec<u32> = (0..ids.len() as u32).step_by(step).collect();
            let some: Vec<u64> = kept.iter().map(|&row| expected[row as usize]).collect();
            let before = computed.take(&kept).expect("nobody has asked for ids");
            prop_assert_eq!(&before.ids().values()[..], &some[..]);
            if let Some(numbers) = computed.without_ids() {
                prop_assert_eq!(numbers.ids(&cx), &expected[..]);
            }
            let after = computed.take(&kept).expect("nobody has asked for ids");
            prop_assert_eq!(after.rows(), kept.len());
            prop_assert_eq!(&after.ids().values()[..], &some[..]);
            prop_assert_eq!(&computed.ids().values()[..], &expected[..]);
            prop_assert!(computed.without_ids().is_none() && computed.take(&kept).is_none());
            let repeated: Vec<u32> = kept.iter().rev().chain(&kept).copied().collect();
            let some: Vec<u64> = repeated.iter().map(|&row| expected[row as usize]).collect();
            let others = ComputedNumbers::of_others(&Arc::new(computed), &repeated);
            let few = others.take(&[0]).expect("nobody has asked for ids");
            prop_assert_eq!(&few.ids().values()[..], &some[..1]);
            if let Some(numbers) = others.without_ids() {
                prop_assert_eq!(numbers.ids(&cx), &some[..]);
            }
            prop_assert_eq!(&others.ids().values()[..], &some[..]);
        }
    }
}
