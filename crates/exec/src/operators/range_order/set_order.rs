//! `SetOrder`: what is known of sets of rows that lie side by side in a range order.

use super::RangeWord;
use super::extremes::RangeExtremes;
use crate::context::Context;
use crate::error::ExecError;
use crate::expr::RangeWords;
use crate::operators::fallible_sort::sort_fallibly;
use crate::operators::join_table::JoinTable;
use crate::operators::pairing::SetFunction;
use crate::value::{INTEGER, ShortNumber, compare_for_order};
use basalt_rdf::TermId;
use basalt_rdf::qualifiers::DECIMAL;
use std::collections::HashSet;
use std::ops::Range;

/// What is to be known of sets; columns of the table.
pub struct SetsWanted {
    /// The column of the value by which rows are in order, if the least or greatest of sets are asked for.
    pub extremes_of: Option<usize>,
    /// Columns that are summed up.
    pub sums_of: Vec<usize>,
    /// Other columns whose least or, if it says so, greatest values are asked for.
    pub others_of: Vec<(usize, bool)>,
}

impl SetsWanted {
    /// What these functions need.
    pub fn of(functions: &[SetFunction]) -> Self {
        let mut wanted = Self {
            extremes_of: None,
            sums_of: Vec::new(),
            others_of: Vec::new(),
        };
        for function in functions {
            match *function {
                SetFunction::Count | SetFunction::Rows => {}
                SetFunction::Least(column) | SetFunction::Greatest(column) => {
                    wanted.extremes_of = Some(column);
                }
                SetFunction::Sum(column, _) => wanted.sums_of.push(column),
                SetFunction::LeastOther(column, _) => wanted.others_of.push((column, false)),
                SetFunction::GreatestOther(column, _) => wanted.others_of.push((column, true)),
            }
        }
        wanted
    }

    /// Bytes that they take for each row.
    pub fn bytes_for_row(&self) -> usize {
        self.sums_of.len() * size_of::<i64>() + self.others_of.len() * RangeExtremes::BYTES_FOR_ROW
    }
}

/// See the [module documentation](self).
pub struct SetOrder {
    /// Where stretches of rows with several keys begin.
    pub(super) mixed: HashSet<usize>,
    /// The sums of columns.
    pub(super) sums: Vec<Sums>,
    /// The extremes of columns.
    pub(super) extremes: Vec<RangeExtremes>,
}

/// The sums of a column.
pub struct Sums {
    /// Of all before each place, and of all.
    before: Vec<i64>,
    datatype: u8,
    scale: u8,
}

impl SetOrder {
    /// What is known of the rows of a table in this order, whose rows with equal words it puts in order; `None` if a column has no exact sums, or its order is not told by words.
    pub(super) fn build(
        table: &JoinTable,
        (rows, words, is_turned): (&mut [u32], &RangeWords, bool),
        wanted: &SetsWanted,
        cx: &Context,
    ) -> Result<Option<Self>, ExecError> {
        if let Some(column) = wanted.extremes_of
            && words.told.is_none_or(|told| !told.is_all())
        {
            order_equal_words(table, (rows, &words.words, is_turned), column, cx)?;
        }
        let mut sums = Vec::new();
        for &column in &wanted.sums_of {
            cx.check()?;
            let ids = table.column(column);
            match Sums::of(rows.iter().map(|&row| ids[row as usize])) {
                Some(of_column) => sums.push(of_column),
                None => return Ok(None),
            }
        }
        let mut extremes = Vec::new();
        for &(column, greatest) in &wanted.others_of {
            cx.check()?;
            let ids = table.column(column);
            let ids = rows.iter().map(|&row| ids[row as usize]);
            match RangeExtremes::of(ids, greatest) {
                Some(of_column) => extremes.push(of_column),
                None => return Ok(None),
            }
        }
        let mut mixed = HashSet::new();
        if !table.key_columns().is_empty() && !table.directory().is_exact() {
            table.each_stretch_of_rows(&mut |stretch| {
                let is_mixed = table.key_columns().iter().any(|&column| {
                    let keys = &table.column(column)[stretch.clone()];
                    keys.iter().any(|&key| key != keys[0])
                });
                if is_mixed {
                    mixed.insert(stretch.start);
                }
                Ok(())
            })?;
        }
        Ok(Some(Self {
            mixed,
            sums,
            extremes,
        }))
    }
}

/// Puts rows of a key whose words are equal in the order of their values.
fn order_equal_words(
    table: &JoinTable,
    (rows, words, is_turned): (&mut [u32], &[u64], bool),
    column: usize,
    cx: &Context,
) -> Result<(), ExecError> {
    let ids = table.column(column);
    table.each_stretch_of_rows(&mut |stretch| {
        let of_word = |a: &u32, b: &u32| words[*a as usize] == words[*b as usize];
        for equal in rows[stretch].chunk_by_mut(of_word) {
            let id = |row: u32| ids[row as usize];
            let is_one_term = equal.iter().all(|&row| id(row) == id(equal[0]));
            if is_one_term || words[equal[0] as usize] == RangeWord::NOTHING {
                continue;
            }
            sort_fallibly(equal, cx, |a, b| {
                let order = compare_for_order(id(a), id(b), cx)?;
                Ok(if is_turned { order.reverse() } else { order })
            })?;
        }
        Ok(())
    })
}

impl Sums {
    /// Of ids that are integers all, or decimals all, and have sums that fit an id.
    fn of(ids: impl Iterator<Item = u64> + Clone) -> Option<Self> {
        let mut parts = ids.clone().map(|id| match ShortNumber::of_id(id) {
            Some(ShortNumber::Exact {
                mantissa,
                scale,
                is_decimal,
            }) => Some((mantissa, scale, is_decimal)),
            _ => None,
        });
        let first = parts.clone().next().flatten();
        let are_decimals = first.is_some_and(|(.., is_decimal)| is_decimal);
        let scale = parts.try_fold(0, |most, part| {
            let (_, scale, is_decimal) = part?;
            (is_decimal == are_decimals).then_some(scale.max(most))
        })?;
        let datatype = if are_decimals { DECIMAL } else { INTEGER };
        let (mut sum, mut sizes) = (0_i64, 0_i64);
        let mut before = vec![0];
        for id in ids {
            let id = TermId(id);
            let power = 10_i64.checked_pow(u32::from(scale - id.scale()))?;
            let part = id.mantissa().checked_mul(power)?;
            sum = sum.checked_add(part)?;
            sizes = sizes.checked_add(part.checked_abs()?)?;
            before.push(sum);
        }
        TermId::numeric(datatype, sizes, scale)?;
        Some(Self {
            before,
            datatype,
            scale,
        })
    }

    /// Of the rows at some places, as an id.
    pub(super) fn of_places(&self, set: Range<usize>) -> u64 {
        let sum = self.before[set.end] - self.before[set.start];
        TermId::numeric(self.datatype, sum, self.scale).map_or(0, |id| id.0)
    }
}
