//! `Accumulator`: the states of one aggregate, one per group, as plain vectors.
//!
//! ```text
//! group number      0      1      2
//! Count          [  3  ][  0  ][ 12  ]
//! ```
//!
//! The function is dispatched once per batch. An argument with id 0 is an error: COUNT and SAMPLE leave
//! it out, the others become errors themselves (unbound). GROUP_CONCAT joins what STR gives, of literals
//! of any type and of IRIs; a blank node, which has no text, is an error.

use super::argument::Values;
use super::concat::ConcatStates;
use super::extremes::Extremes;
use super::sum_states::{Results, SumStates};
use crate::context::Context;
use crate::error::ExecError;
use crate::value::{Number, Reader};
use basalt_plan::physical::AggregateFunction;
use std::cmp::Ordering;

/// The states; see the [module documentation](self).
pub enum Accumulator {
    /// COUNT.
    Count(Vec<u64>),
    /// SUM and AVG.
    Sum(SumStates),
    /// MIN or MAX.
    Extreme(Extremes),
    /// SAMPLE: the first value; 0 if there is none.
    Sample(Vec<u64>),
    /// GROUP_CONCAT.
    Concat(ConcatStates),
}

impl Accumulator {
    /// No groups.
    pub fn new(function: &AggregateFunction) -> Self {
        match function {
            AggregateFunction::Count => Self::Count(Vec::new()),
            AggregateFunction::Sum | AggregateFunction::Avg => Self::Sum(SumStates::default()),
            AggregateFunction::Min => Self::Extreme(Extremes::new(Ordering::Less)),
            AggregateFunction::Max => Self::Extreme(Extremes::new(Ordering::Greater)),
            AggregateFunction::Sample => Self::Sample(Vec::new()),
            AggregateFunction::GroupConcat { separator } => {
                Self::Concat(ConcatStates::new(separator))
            }
        }
    }

    /// No groups, for the same function.
    pub fn empty(&self) -> Self {
        match self {
            Self::Count(_) => Self::Count(Vec::new()),
            Self::Sum(_) => Self::Sum(SumStates::default()),
            Self::Extreme(states) => Self::Extreme(states.empty()),
            Self::Sample(_) => Self::Sample(Vec::new()),
            Self::Concat(states) => Self::Concat(states.empty()),
        }
    }

    /// Makes empty states up to this number of groups.
    pub fn resize(&mut self, count: usize) {
        match self {
            Self::Count(states) | Self::Sample(states) => states.resize(count, 0),
            Self::Sum(states) => states.resize(count),
            Self::Extreme(states) => states.resize(count),
            Self::Concat(states) => states.resize(count),
        }
    }

    /// Makes room for so many groups, of which there are none, where that saves moving their states.
    pub fn reserve(&mut self, groups: usize) {
        match self {
            Self::Count(states) | Self::Sample(states) => states.reserve_exact(groups),
            Self::Sum(states) => states.reserve(groups),
            Self::Extreme(_) | Self::Concat(_) => {}
        }
    }

    /// Counts rows, for `COUNT(*)`.
    pub fn count_rows(&mut self, groups: &[u32]) {
        if let Self::Count(counts) = self {
            count_where(counts, groups, groups, |_| true);
        }
    }

    /// Adds the values of rows.
    pub fn update(&mut self, groups: &[u32], ids: &[u64], cx: &Context) -> Result<(), ExecError> {
        let reader = &mut Reader::new(cx);
        match self {
            Self::Count(counts) => count_where(counts, groups, ids, |id| id != 0),
            Self::Sample(samples) => sample(samples, groups, |row| ids[row]),
            Self::Sum(states) => states.update(groups, ids, reader)?,
            Self::Extreme(states) => match groups.first() {
                Some(&first) if groups.iter().all(|&group| group == first) => {
                    states.update_group(first as usize, ids, reader)?;
                }
                _ => {
                    let groups = groups.iter().map(|&group| group as usize);
                    states.update(groups.zip(ids.iter().copied()), reader)?;
                }
            },
            Self::Concat(states) => states.update(groups, ids, cx)?,
        }
        Ok(())
    }

    /// Whether it reads numbers, and makes ids of few.
    pub fn reads_numbers(&self) -> bool {
        matches!(self, Self::Sum(_) | Self::Extreme(_))
    }

    /// Adds the values of an argument.
    pub fn update_values(
        &mut self,
        groups: &[u32],
        values: &Values<'_>,
        cx: &Context,
    ) -> Result<(), ExecError> {
        let is_done = match self {
            Self::Count(counts) => values.numbers().is_some_and(|numbers| {
                match numbers.errors() {
                    [] => count_where(counts, groups, groups, |_| true),
                    errors => count_where(counts, groups, errors, |is_error| !is_error),
                }
                true
            }),
            Self::Sample(samples) => {
                sample(samples, groups, |row| values.id(row, cx));
                true
            }
            Self::Sum(states) => states.update_values(groups, values, cx)?,
            Self::Extreme(states) => match (values.numbers(), values.nearest()) {
                (Some(numbers), Some(nearest)) => {
                    states.update_numbers(groups, numbers, nearest, values, cx)?;
                    true
                }
                _ => match values.items() {
                    Some(items) => {
                        states.update_items(groups, items, cx)?;
                        true
                    }
                    None => false,
                },
            },
            Self::Concat(_) => false,
        };
        match is_done {
            true => Ok(()),
            false => self.update(groups, values.ids(cx), cx),
        }
    }

    /// Adds another's states, whose group `g` is `numbers[g]` here.
    pub fn merge(&mut self, other: Self, numbers: &[u32], cx: &Context) -> Result<(), ExecError> {
        match (self, other) {
            (Self::Concat(states), Self::Concat(more)) => states.merge(more, numbers, cx),
            (own, other) => {
                let at = numbers.iter().map(|&group| group as usize);
                own.add_pairs(&other, at.enumerate(), cx)
            }
        }
    }

    /// Adds states of another, which stays as it is: state `from` to group `to`, for each pair. Not of texts.
    pub fn add_states(
        &mut self,
        other: &Self,
        pairs: &[(u32, u32)],
        cx: &Context,
    ) -> Result<(), ExecError> {
        let pairs = pairs.iter().map(|&(from, to)| (from as usize, to as usize));
        self.add_pairs(other, pairs, cx)
    }

    fn add_pairs(
        &mut self,
        other: &Self,
        pairs: impl Iterator<Item = (usize, usize)> + Clone,
        cx: &Context,
    ) -> Result<(), ExecError> {
        match (self, other) {
            (Self::Count(counts), Self::Count(more)) => {
                pairs.for_each(|(from, to)| counts[to] += more[from]);
            }
            (Self::Sample(samples), Self::Sample(more)) => {
                for (from, to) in pairs {
                    if samples[to] == 0 {
                        samples[to] = more[from];
                    }
                }
            }
            (Self::Sum(states), Self::Sum(more)) => states.merge(more, pairs),
            (Self::Extreme(states), Self::Extreme(more)) => states.merge(more, pairs, cx)?,
            _ => return Err(no_states()),
        }
        Ok(())
    }

    /// Whether [`Self::add_states`] has the states of another, as it has but those of texts.
    pub fn may_stay(&self) -> bool {
        !matches!(self, Self::Concat(_))
    }

    /// `count` copies of the only state, of counts, sums and averages.
    pub fn repeated(&self, count: usize) -> Result<Self, ExecError> {
        match self {
            Self::Count(counts) => Ok(Self::Count(vec![
                counts.first().copied().unwrap_or_default();
                count
            ])),
            Self::Sum(states) => Ok(Self::Sum(states.repeated(count))),
            _ => Err(no_states()),
        }
    }

    /// Takes states of another away: state `from` from group `to`, for each pair. Only counts, sums and averages can
    /// be taken away.
    pub fn subtract_states(&mut self, other: &Self, pairs: &[(u32, u32)]) -> Result<(), ExecError> {
        let pairs = pairs.iter().map(|&(from, to)| (from as usize, to as usize));
        match (self, other) {
            (Self::Count(counts), Self::Count(less)) => {
                pairs.for_each(|(from, to)| counts[to] -= less[from]);
            }
            (Self::Sum(states), Self::Sum(less)) => {
                states.subtract(less, pairs);
            }
            _ => return Err(no_states()),
        }
        Ok(())
    }

    /// The states, for counts.
    pub fn counts(&self) -> &[u64] {
        match self {
            Self::Count(counts) => counts,
            _ => &[],
        }
    }

    /// The results of aggregates by group, each with its place: of one that is not SUM or AVG there is one.
    pub fn finish(
        self,
        aggregates: &[(usize, AggregateFunction)],
        cx: &Context,
    ) -> Result<Vec<(usize, Results)>, ExecError> {
        let number = |number: Option<Number>| number.map_or(0, |number| number.to_id(cx));
        let ids = match self {
            Self::Sum(states) => {
                let of = |(place, function): &(usize, AggregateFunction)| {
                    Ok((*place, states.results(function, cx)?))
                };
                return aggregates.iter().map(of).collect();
            }
            Self::Count(counts) => counts
                .into_iter()
                .map(|count| number(i64::try_from(count).ok().map(|n| Number::Integer(n.into()))))
                .collect(),
            Self::Extreme(states) => states.finish(),
            Self::Sample(samples) => samples,
            Self::Concat(states) => states.finish(cx)?,
        };
        let place = aggregates.first().map_or(0, |(place, _)| *place);
        Ok(vec![(place, Results::Ids(ids))])
    }

    /// Whether states of groups that are there go to files from [`Self::spill`] on.
    pub fn may_spill(&self) -> bool {
        matches!(self, Self::Concat(_))
    }

    /// Lets what grows without new groups go to files from now on.
    pub fn spill(&mut self, cx: &Context) {
        if let Self::Concat(states) = self {
            states.spill(cx);
        }
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Count(states) | Self::Sample(states) => states.capacity() * size_of::<u64>(),
            Self::Sum(states) => states.bytes(),
            Self::Extreme(states) => states.bytes(),
            Self::Concat(states) => states.bytes(),
        }
    }
}

/// Gives groups without a value that of their first row with one.
fn sample(samples: &mut [u64], groups: &[u32], id: impl Fn(usize) -> u64) {
    for (row, &group) in groups.iter().enumerate() {
        if samples[group as usize] == 0 {
            samples[group as usize] = id(row);
        }
    }
}

/// Counts the rows of which a value says that they count.
fn count_where<T: Copy>(
    counts: &mut [u64],
    groups: &[u32],
    values: &[T],
    counts_too: impl Fn(T) -> bool,
) {
    if let [only] = counts {
        *only += values.iter().filter(|&&value| counts_too(value)).count() as u64;
        return;
    }
    for (&group, &value) in groups.iter().zip(values) {
        counts[group as usize] += u64::from(counts_too(value));
    }
}

fn no_states() -> ExecError {
    ExecError::Internal("partial aggregates that do not go together".to_owned())
}
