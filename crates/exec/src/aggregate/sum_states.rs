//! `SumStates`: the states of SUM or AVG of all groups, and their results.

use super::CHECK_GROUPS;
use super::argument::Values;
use super::sum::{Rare, SumState};
use crate::context::Context;
use crate::error::ExecError;
use crate::expr::{self, Item, Numbers, Products};
use crate::row_kinds::Kinds;
use crate::selection::taken;
use crate::value::{Number, Reader, Value, units};
use basalt_columns::{PREFETCH_ROWS, prefetch};
use basalt_plan::physical::AggregateFunction;
use std::convert::Infallible;

/// What adding gives that cannot fail.
const ALWAYS: Result<(), Infallible> = Ok(());

/// States that lie in the nearer caches, where there is nothing to wait for.
const NEAR_STATES: usize = 1 << 11;

/// The results of an aggregate by group.
pub enum Results {
    /// Ids, 0 for unbound.
    Ids(Vec<u64>),
    /// Numbers, of which some may be errors.
    Numbers(Numbers),
}

impl Results {
    /// The ids, 0 for unbound.
    pub fn into_ids(self, cx: &Context) -> Vec<u64> {
        match self {
            Self::Ids(ids) => ids,
            Self::Numbers(numbers) => numbers.ids(cx),
        }
    }
}

/// The states of SUM or AVG of all groups.
#[derive(Clone, Default)]
pub struct SumStates {
    states: Vec<SumState>,
    /// Whether some state may have a [`Rare`].
    any_rare: bool,
}

impl SumStates {
    /// Makes empty states up to this number of groups.
    pub fn resize(&mut self, count: usize) {
        self.states.resize(count, SumState::default());
    }

    /// Makes room for so many groups.
    pub fn reserve(&mut self, groups: usize) {
        self.states.reserve_exact(groups);
    }

    /// Adds the values of rows: an id for each. Those of each type apart, if there are several.
    pub fn update(
        &mut self,
        groups: &[u32],
        ids: &[u64],
        reader: &mut Reader<'_>,
    ) -> Result<(), ExecError> {
        let Some(parts) = Kinds::of_ids(ids).and_then(|kinds| kinds.rows()) else {
            return self.each(groups, ids, |state, id| state.add(id, reader));
        };
        for rows in parts {
            let groups: Vec<u32> = taken(groups, &rows).collect();
            let ids: Vec<u64> = taken(ids, &rows).collect();
            match Numbers::of_one_datatype(&ids) {
                Some(numbers) => self.update_numbers(&groups, &numbers),
                None => self.each(&groups, &ids, |state, id| state.add(id, reader))?,
            }
        }
        Ok(())
    }

    /// The same of an argument that has more than ids; false, and nothing, if it has not.
    pub fn update_values(
        &mut self,
        groups: &[u32],
        values: &Values<'_>,
        cx: &Context,
    ) -> Result<bool, ExecError> {
        if let Some(numbers) = values.numbers() {
            self.update_numbers(groups, numbers);
        } else if let Some(products) = values.products() {
            self.update_products(groups, products);
        } else if let Some(items) = values.items() {
            self.update_items(groups, items, &mut Reader::new(cx))?;
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// Adds long products, one for each row.
    fn update_products(&mut self, groups: &[u32], products: &Products) {
        let rows: Vec<usize> = (0..groups.len()).collect();
        let Ok(()) = self.each(groups, &rows, |state, row| {
            match products.get(row) {
                Some(product) => state.add_products(product, 1),
                None => state.add_error(),
            }
            ALWAYS
        });
    }

    /// The same of values of which some were computed.
    fn update_items(
        &mut self,
        groups: &[u32],
        items: &[Item],
        reader: &mut Reader<'_>,
    ) -> Result<(), ExecError> {
        let rows: Vec<usize> = (0..groups.len()).collect();
        self.each(groups, &rows, |state, row| {
            match &items[row] {
                Item::Id(id) => state.add(*id, reader)?,
                Item::Value(Value::Number(number)) => state.add_any(number),
                Item::Value(_) | Item::Error => state.add_error(),
            }
            Ok(())
        })
    }

    /// Adds numbers, one for each row.
    pub fn update_numbers(&mut self, groups: &[u32], numbers: &Numbers) {
        let has_errors = !numbers.errors().is_empty();
        if let [only] = self.states.as_mut_slice()
            && !has_errors
            && only.add_all(numbers)
        {
            self.any_rare |= only.has_rare();
            return;
        }
        let Ok(()) = match numbers.values() {
            _ if has_errors => {
                let rows: Vec<usize> = (0..groups.len()).collect();
                self.each(groups, &rows, |state, row| {
                    match numbers.get(row) {
                        Some(number) => state.add_number(number),
                        None => state.add_error(),
                    }
                    ALWAYS
                })
            }
            expr::Values::Exact {
                mantissas,
                is_decimal: false,
                ..
            } => self.each(groups, mantissas, |state, integer| {
                state.add_integers(integer, 1);
                ALWAYS
            }),
            expr::Values::Exact {
                mantissas, scale, ..
            } => self.each(groups, mantissas, |state, mantissa| {
                state.add_units(units(mantissa, *scale), 1);
                ALWAYS
            }),
            expr::Values::Mixed {
                mantissas,
                scale,
                are_decimals,
            } => {
                let values = mantissas.iter().copied().zip(are_decimals.iter().copied());
                let values: Vec<(i64, bool)> = values.collect();
                self.each(groups, &values, |state, (mantissa, is_decimal)| {
                    state.add_mixed(units(mantissa, *scale), is_decimal);
                    ALWAYS
                })
            }
            expr::Values::Units(all) => self.each(groups, all, |state, units| {
                state.add_units(units, 1);
                ALWAYS
            }),
            expr::Values::Various(numbers) => self.each(groups, numbers, |state, number| {
                state.add_number(number);
                ALWAYS
            }),
            expr::Values::Floating { values, is_float } => {
                self.each(groups, values, |state, value| {
                    state.add_floating(value, *is_float);
                    ALWAYS
                })
            }
        };
    }

    /// Adds a value of each row to the state of its group; where there are many states, they are asked for ahead.
    #[inline]
    fn each<T: Copy, E>(
        &mut self,
        groups: &[u32],
        values: &[T],
        mut add: impl FnMut(&mut SumState, T) -> Result<(), E>,
    ) -> Result<(), E> {
        let are_near = self.states.len() <= NEAR_STATES;
        let ahead_rows = if are_near {
            groups.len()
        } else {
            PREFETCH_ROWS
        };
        let mut ahead = groups.iter().skip(ahead_rows);
        let (mut outcome, mut any_rare) = (Ok(()), false);
        for (&group, &value) in groups.iter().zip(values) {
            if let Some(&group) = ahead.next() {
                prefetch(&self.states, group as usize);
            }
            let state = &mut self.states[group as usize];
            outcome = add(state, value);
            any_rare |= state.has_rare();
            if outcome.is_err() {
                break;
            }
        }
        self.any_rare |= any_rare;
        outcome
    }

    /// SUM or AVG by group.
    pub fn results(
        &self,
        function: &AggregateFunction,
        cx: &Context,
    ) -> Result<Results, ExecError> {
        let is_average = *function == AggregateFunction::Avg;
        if is_average && let Some(units) = self.averages_in_units(cx)? {
            let errors = Vec::new();
            return Ok(Results::Numbers(Numbers::new(
                expr::Values::Units(units),
                errors,
            )));
        }
        let result = |state: &SumState| match is_average {
            true => state.average(),
            false => state.sum(),
        };
        let mut results: Vec<Option<Number>> = Vec::with_capacity(self.states.len());
        for states in self.states.chunks(CHECK_GROUPS) {
            cx.check()?;
            results.extend(states.iter().map(result));
        }
        Ok(match Numbers::of_numbers(&results) {
            Some(numbers) => Results::Numbers(numbers),
            None => {
                let id = |number: Option<Number>| number.map_or(0, |number| number.to_id(cx));
                Results::Ids(results.into_iter().map(id).collect())
            }
        })
    }

    /// The averages of all groups, if each has some integers or decimals, and nothing else.
    fn averages_in_units(&self, cx: &Context) -> Result<Option<Vec<i128>>, ExecError> {
        let mut averages = Vec::with_capacity(self.states.len());
        for states in self.states.chunks(CHECK_GROUPS) {
            cx.check()?;
            for state in states {
                match state.average_in_units() {
                    Some(average) => averages.push(average),
                    None => return Ok(None),
                }
            }
        }
        Ok(Some(averages))
    }

    /// Adds states of others: state `from` to group `to`, for each pair.
    pub fn merge(&mut self, other: &Self, pairs: impl Iterator<Item = (usize, usize)> + Clone) {
        self.any_rare |= other.any_rare;
        let mut ahead = pairs.clone().skip(PREFETCH_ROWS);
        for (from, to) in pairs {
            if let Some((from, to)) = ahead.next() {
                prefetch(&other.states, from);
                prefetch(&self.states, to);
            }
            self.states[to].merge(&other.states[from]);
        }
    }

    /// `count` copies of the only state.
    pub fn repeated(&self, count: usize) -> Self {
        let first = self.states.first().cloned().unwrap_or_default();
        Self {
            states: vec![first; count],
            any_rare: self.any_rare,
        }
    }

    /// Takes away states of others: state `from` from group `to`, for each pair.
    pub fn subtract(&mut self, other: &Self, pairs: impl Iterator<Item = (usize, usize)>) {
        self.any_rare |= other.any_rare;
        for (from, to) in pairs {
            self.states[to].subtract(&other.states[from]);
        }
    }

    /// Bytes held; if some state has a [`Rare`], as if all had.
    pub fn bytes(&self) -> usize {
        let rare = usize::from(self.any_rare) * size_of::<Rare>();
        self.states.capacity() * (size_of::<SumState>() + rare)
    }
}
