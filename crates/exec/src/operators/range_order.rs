//! `RangeOrder`: the rows of each key of a hash join in the order of a value, by which the join's condition bounds its partners.
//!
//! ```text
//! FILTER(?at >= ?start && ?at < ?end), build side (?start ?end), probe side ?at, rows of one key:
//! words of ?start   | 3 | 5 | 5 | 8 | 9 |        those <= ?at are found by binary search,
//! words of ?end     | 4 | 9 | 7 | 9 | 12 |       those > ?at by passing over blocks whose bounds tell that they have none
//! rows of the table | 2 | 0 | 4 | 1 | 3 |
//! ```
//!
//! What is in range is a superset of the partners, which the condition is asked of, unless words tell all ([`Told`]): then only the rest of the
//! condition is. Where a bound has terms that the condition has on the other side, what rounding may have made of them is in range, too. The partners of a row come in the order of the first value, from the end that is not bounded: a semi or anti join
//! finds one with its first try if there is any.
//!
//! Cost: a word of each row of either side, a sort, and a binary search for each probe row. Memory: 12 bytes a build row, 20 with a second range. There is no
//! order where it has no room, or where keys have too few rows for it to pay.

mod equal_words;
mod extremes;
mod near;
mod set_order;

pub use set_order::SetsWanted;

use self::equal_words::Parts;
use self::near::{Near, both_told};
use self::set_order::SetOrder;
use super::join_table::JoinTable;
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::expr::{CompiledExpr, RangeWords};
use crate::held_memory::HeldMemory;
use crate::operators::fallible_sort::sort_totally;
use crate::value::{RangeWord, Told};
use basalt_plan::Bound;
use basalt_plan::physical::RangeEnd;
use std::ops::Range;

/// Rows whose bounds of the second value are kept together.
const BLOCK: usize = 64;
/// Bytes of a row's number, and of a word and what it takes while words are put in order.
const ROW_BYTES: usize = size_of::<u32>();
const WORD_BYTES: usize = 2 * size_of::<u64>();
/// Rows whose words are put in place between two looks at whether the query goes on.
const ROWS_CHECKED: usize = 1 << 16;
/// Rows of a key from which on sorting them takes long enough to be left in the middle.
const KEY_ROWS_MANY: usize = 1 << 14;
/// A range that no word is in.
const NO_WORDS: Words = Words { least: 1, most: 0 };

/// Words from the least to the most, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Words {
    least: u64,
    most: u64,
}

impl Words {
    const ALL: Self = Self {
        least: 0,
        most: RangeWord::NOTHING - 1,
    };

    /// This one, and none if it is of what is in no range.
    fn equal_to(word: u64) -> Self {
        match word {
            RangeWord::NOTHING => NO_WORDS,
            word => Self {
                least: word,
                most: word,
            },
        }
    }

    fn has(self, word: u64) -> bool {
        (self.least..=self.most).contains(&word)
    }

    fn and(self, least: u64, most: u64) -> Self {
        Self {
            least: self.least.max(least),
            most: self.most.min(most),
        }
    }

    /// The same of words in descending order.
    fn turned(self) -> Self {
        match self.least > self.most {
            true => NO_WORDS,
            false => Self {
                least: turned(self.most),
                most: turned(self.least),
            },
        }
    }
}

/// A word of the descending order.
fn turned(word: u64) -> u64 {
    match word {
        RangeWord::NOTHING => word,
        word => RangeWord::NOTHING - 1 - word,
    }
}

/// The ranges of a join, ready to be evaluated.
pub struct RangeExprs {
    /// One or two.
    pub exprs: Vec<RangeExpr>,
    /// What is to be known of sets of partners in the first, if the condition says no more.
    pub sets: Option<SetsWanted>,
}

/// An expression of the build side, and what bounds it; or several, each of which is equal to something.
pub struct RangeExpr {
    /// The build columns that each reads, and the expression over them.
    pub of: Vec<(Vec<usize>, CompiledExpr)>,
    /// The bounds of the only one, or of each that it is equal to something.
    pub bounds: Vec<RangeBound>,
}

/// A bound of it.
pub struct RangeBound {
    /// How a value of the build side lies.
    pub bound: Bound,
    /// By what, over the probe side.
    pub by: CompiledExpr,
    /// What of that the condition has on the other side of its operator.
    pub moved: Option<MovedWords>,
}

/// Terms that the condition has on the other side.
pub enum MovedWords {
    /// Numbers, and the sum of their sizes.
    Numbers(Box<CompiledExpr>),
    /// A time, and a duration of seconds.
    Times,
}

impl RangeExpr {
    pub fn is_equality(&self) -> bool {
        self.bounds.iter().all(|own| own.bound == Bound::Equal)
    }

    /// Whether partners are those from some value on upwards, so that the greatest is the likeliest.
    fn is_open_above(&self) -> bool {
        let is_lower = |own: &RangeBound| matches!(own.bound, Bound::AtLeast | Bound::Above);
        self.bounds.iter().all(is_lower)
    }

    /// The words of one of its expressions in all rows of a table.
    fn words_of(
        &self,
        place: usize,
        table: &JoinTable,
        cx: &Context,
    ) -> Result<RangeWords, ExecError> {
        let (columns, of) = &self.of[place];
        let mut words = RangeWords::default();
        let step = cx.options().batch_rows.max(1);
        for start in (0..table.rows()).step_by(step) {
            cx.check()?;
            let batch = table.some_rows(columns, start..table.rows().min(start + step));
            words.append(of.range_words(&batch, self.is_equality(), cx)?);
        }
        Ok(words)
    }

    /// Its words in all rows of a table, and what they tell.
    fn made_of(
        &self,
        table: &JoinTable,
        cx: &Context,
    ) -> Result<(RangeWords, Option<Parts>), ExecError> {
        if self.of.len() == 1 {
            return Ok((self.words_of(0, table, cx)?, None));
        }
        let (words, parts) = Parts::of_table(self, table, cx)?;
        let told = Some(Told::Nearly);
        Ok((RangeWords { words, told }, Some(parts)))
    }
}

/// The rows of a table in order; see the [module documentation](self). A *place* is a position in this order; the places of a key are
/// the positions of its rows in the table.
pub struct RangeOrder {
    /// The row at each place.
    rows: Vec<u32>,
    /// The words of the first range, by place.
    first: Vec<u64>,
    second: Option<Blocks>,
    /// What the words of each range tell.
    told: Vec<Option<Told>>,
    /// What those of several equalities are made of.
    parts: Option<Parts>,
    /// Whether the greatest words come first.
    is_turned: bool,
    /// What is known of sets of rows, where that is wanted and can be.
    sets: Option<SetOrder>,
    _held: HeldMemory,
}

/// The words of the second range, by place.
struct Blocks {
    words: Vec<u64>,
    /// The least and the greatest of each block.
    bounds: Vec<Words>,
}

/// The ranges of the rows of a batch.
pub struct Bounds {
    first: Vec<Words>,
    second: Option<Vec<Words>>,
    /// Those words of which it is certain that the comparisons are true, where sets of rows are known.
    certain: Option<Vec<Words>>,
    /// Whether all that is in range fulfils the comparisons.
    pub are_all: bool,
}

impl RangeOrder {
    /// Orders the rows of a table, if that pays and there is room.
    pub fn build(
        table: &JoinTable,
        exprs: &RangeExprs,
        cx: &Context,
    ) -> Result<Option<Self>, ExecError> {
        if !pays(table, cx.options().ordered_partners_min)? {
            return Ok(None);
        }
        let mut held = HeldMemory::default();
        let words: usize = exprs.exprs.iter().map(|range| range.of.len()).sum();
        // A directory of words has a number for two rows at most.
        let bytes = table.rows() * (2 * ROW_BYTES + words * WORD_BYTES);
        if !held.grow_index_to(bytes, "HashJoin", cx) {
            return Ok(None);
        }
        let [first, others @ ..] = exprs.exprs.as_slice() else {
            return Ok(None);
        };
        let is_turned = first.is_open_above();
        let (words, parts) = first.made_of(table, cx)?;
        let second = match others {
            [second, ..] => Some(second.words_of(0, table, cx)?),
            [] => None,
        };
        let second = second.as_ref();
        let told = [Some(&words), second].into_iter().flatten();
        let told = told.map(|words| words.told).collect();
        let mut rows = match second.filter(|_| first.is_equality()) {
            // Rows with equal words lie in the order of the second range.
            Some(second) => in_order(table, |row| (words.words[row], second.words[row]), cx)?,
            None if is_turned => in_order(table, |row| turned(words.words[row]), cx)?,
            None => in_order(table, |row| words.words[row], cx)?,
        };
        let sets = match &exprs.sets {
            Some(wanted) => {
                let bytes = bytes + table.rows() * wanted.bytes_for_row();
                if !held.grow_index_to(bytes, "HashJoin", cx) {
                    return Ok(None);
                }
                let order = (rows.as_mut_slice(), &words, is_turned);
                SetOrder::build(table, order, wanted, cx)?
            }
            None => None,
        };
        let mut first = by_place(&rows, &words.words, cx)?;
        if is_turned {
            first.iter_mut().for_each(|word| *word = turned(*word));
        }
        let second = second.map(|second| by_place(&rows, &second.words, cx));
        let is_of_all_rows = table.key_columns().is_empty();
        Ok(Some(Self {
            second: second.transpose()?.map(Blocks::of),
            parts: parts.map(|parts| match is_of_all_rows {
                true => parts.with_directory(&first),
                false => parts,
            }),
            rows,
            first,
            told,
            is_turned,
            sets,
            _held: held,
        }))
    }

    /// The ranges of the rows of a batch.
    pub fn bounds(
        &self,
        exprs: &RangeExprs,
        batch: &Batch,
        cx: &Context,
    ) -> Result<Bounds, ExecError> {
        let mut are_all = true;
        let mut all = Vec::new();
        // Of the first range, which is the only one where they are wanted.
        let mut certain = self.sets.as_ref().map(|_| vec![Words::ALL; batch.rows()]);
        for (range, told) in exprs.exprs.iter().zip(&self.told) {
            if let Some(parts) = self.parts.as_ref().filter(|_| range.of.len() > 1) {
                all.push(parts.of_batch(range, batch, cx)?);
                are_all = false;
                continue;
            }
            let mut words = vec![Words::ALL; batch.rows()];
            for own in &range.bounds {
                let bounds = own.by.range_words(batch, range.is_equality(), cx)?;
                let told = both_told(*told, bounds.told);
                are_all &= told.is_all();
                let near = match &own.moved {
                    Some(moved) => moved.near(&bounds.words, told, batch, cx)?,
                    None => {
                        let words = bounds.words.iter();
                        words.map(|&word| Near::of(word, told)).collect()
                    }
                };
                for (words, near) in words.iter_mut().zip(&near) {
                    are_all &= near.is_told || own.moved.is_none();
                    *words = words.within(own.bound, near);
                }
                if let Some(certain) = &mut certain {
                    for (words, near) in certain.iter_mut().zip(&near) {
                        *words = words.certain(own.bound, near);
                    }
                }
            }
            all.push(words);
        }
        let mut all = all.into_iter();
        let mut first = all.next().unwrap_or_default();
        if self.is_turned {
            let words = first.iter_mut().chain(certain.iter_mut().flatten());
            words.for_each(|words| *words = words.turned());
        }
        Ok(Bounds {
            first,
            second: all.next(),
            certain,
            are_all,
        })
    }

    /// The places of a key that are in the range of a row by its first value.
    #[inline]
    pub fn places(&self, key: Range<usize>, bounds: &Bounds, row: usize) -> Range<usize> {
        let most = bounds.first[row].most;
        let start = self.first_place(key.clone(), bounds, row);
        let words = &self.first[start..key.end];
        // Most ranges are bounded at one end, and others are short.
        let len = match words.last() {
            Some(&last) if last > most => {
                let mut known = 0;
                let mut step = 1;
                while words[known + step - 1] <= most {
                    known += step;
                    step = (2 * step).min(words.len() - known);
                }
                let unknown = &words[known..known + step - 1];
                known + unknown.partition_point(|&word| word <= most)
            }
            _ => words.len(),
        };
        start..start + len
    }

    /// The same, of which only the first is wanted.
    #[inline]
    pub fn place(&self, key: Range<usize>, bounds: &Bounds, row: usize) -> Range<usize> {
        let start = self.first_place(key.clone(), bounds, row);
        let is_there = start < key.end && self.first[start] <= bounds.first[row].most;
        start..start + usize::from(is_there)
    }

    /// The first place of a key whose word is not less than the range of a row, the end of the key if there is none.
    #[inline]
    fn first_place(&self, key: Range<usize>, bounds: &Bounds, row: usize) -> usize {
        let least = bounds.first[row].least;
        if let Some(places) = self.parts.as_ref().and_then(|parts| parts.places(least)) {
            let words = &self.first[places.clone()];
            return places.start + words.partition_point(|&word| word < least);
        }
        let words = &self.first[key.clone()];
        key.start
            + match words.first() {
                Some(&first) if first < least => words.partition_point(|&word| word < least),
                _ => 0,
            }
    }

    /// Of the places in the range of a row those of which it is certain that the condition is true.
    #[inline]
    pub fn certain_places(
        &self,
        places: Range<usize>,
        bounds: &Bounds,
        row: usize,
    ) -> Range<usize> {
        let Some(certain) = &bounds.certain else {
            return places.start..places.start;
        };
        if bounds.are_all {
            return places;
        }
        let Words { least, most } = certain[row];
        let words = &self.first[places.clone()];
        let start = words.partition_point(|&word| word < least);
        let len = words[start..].partition_point(|&word| word <= most);
        let start = places.start + start;
        start..start + len
    }

    /// Of some places in range those with the words at an end; `None` if these do not tell all of the comparisons.
    pub fn nearest(
        &self,
        places: Range<usize>,
        bounds: &Bounds,
        end: RangeEnd,
    ) -> Option<Range<usize>> {
        if !self.is_decided_by_first(bounds) {
            return None;
        }
        let is_first = (end == RangeEnd::Greatest) == self.is_turned;
        let words = self.first[places.clone()].iter();
        let (first, last) = (*words.clone().next()?, *words.clone().next_back()?);
        Some(match is_first {
            true => places.start..places.start + words.take_while(|word| **word == first).count(),
            false => places.end - words.rev().take_while(|word| **word == last).count()..places.end,
        })
    }

    /// The build row at a place.
    #[inline]
    pub fn row_at(&self, place: usize) -> u32 {
        self.rows[place]
    }

    /// Whether rows that lie with the one at a place, where those of a key begin, all have its key, as sets need.
    pub fn is_of_one_key(&self, start: usize) -> bool {
        let sets = self.sets.as_ref();
        sets.is_none_or(|sets| !sets.mixed.contains(&start))
    }

    /// The place of a set with the least value.
    pub fn least_place(&self, set: Range<usize>) -> usize {
        if self.is_turned {
            set.end - 1
        } else {
            set.start
        }
    }

    /// The place of a set with the greatest value.
    pub fn greatest_place(&self, set: Range<usize>) -> usize {
        if self.is_turned {
            set.start
        } else {
            set.end - 1
        }
    }

    /// Where the least or greatest value of another column stands in a set, which is not empty.
    pub fn extreme_place(&self, number: usize, set: Range<usize>) -> usize {
        let extremes = self.sets.as_ref().map(|sets| &sets.extremes);
        let extremes = extremes.and_then(|extremes| extremes.get(number));
        extremes.map_or(set.start, |extremes| extremes.place(set))
    }

    /// One of the sums of a set, as an id.
    pub fn sum(&self, sum: usize, set: Range<usize>) -> u64 {
        let sums = self.sets.as_ref().and_then(|sets| sets.sums.get(sum));
        sums.map_or(0, |sums| sums.of_places(set))
    }

    /// Passes over some places, and appends the rows there that are also in the second range of a row, until there are so many of them; says where it
    /// ended. What it looks at is taken from `looks`, and it ends where there are none left.
    pub fn rows_into(
        &self,
        places: Range<usize>,
        (bounds, row): (&Bounds, usize),
        rows_max: usize,
        looks: &mut usize,
        out: &mut Vec<u32>,
    ) -> usize {
        let (Some(blocks), Some(second)) = (&self.second, &bounds.second) else {
            let end = places.end.min(places.start.saturating_add(rows_max));
            out.extend_from_slice(&self.rows[places.start..end]);
            return end;
        };
        let wanted = second[row];
        let rows_max = out.len().saturating_add(rows_max);
        let mut place = places.start;
        while place < places.end && *looks > 0 && out.len() < rows_max {
            *looks -= 1;
            let block = place / BLOCK;
            let end = places.end.min((block + 1) * BLOCK);
            let Words { least, most } = blocks.bounds[block];
            if least <= wanted.most && most >= wanted.least {
                *looks = looks.saturating_sub(end - place);
                let is_in = |place: &usize| wanted.has(blocks.words[*place]);
                out.extend((place..end).filter(is_in).map(|place| self.rows[place]));
            }
            place = end;
        }
        place
    }

    /// Whether one row in range is a partner and the first is as good as any, where the condition has no rest.
    pub fn is_decided_by_first(&self, bounds: &Bounds) -> bool {
        bounds.are_all && self.second.is_none()
    }
}

impl Bounds {
    /// Whether it is known of which words the comparisons are true for certain.
    pub fn has_certain(&self) -> bool {
        self.certain.is_some()
    }
}

impl Blocks {
    fn of(words: Vec<u64>) -> Self {
        let bounds = words.chunks(BLOCK).map(|block| Words {
            least: block.iter().copied().min().unwrap_or(RangeWord::NOTHING),
            most: block.iter().copied().max().unwrap_or(0),
        });
        Self {
            bounds: bounds.collect(),
            words,
        }
    }
}

/// Whether an order of the rows of each key pays: where a row has at least so many others on average, and always without keys.
fn pays(table: &JoinTable, partners_min: usize) -> Result<bool, ExecError> {
    let mut pairs = 0_usize;
    table.each_stretch_of_rows(&mut |stretch| {
        pairs = pairs.saturating_add(stretch.len() * stretch.len());
        Ok(())
    })?;
    let are_few = pairs < table.rows().saturating_mul(partners_min);
    Ok(partners_min != usize::MAX && (!are_few || table.key_columns().is_empty()))
}

/// The words of rows in this order.
fn by_place(rows: &[u32], words: &[u64], cx: &Context) -> Result<Vec<u64>, ExecError> {
    let mut by_place = Vec::with_capacity(rows.len());
    for rows in rows.chunks(ROWS_CHECKED) {
        cx.check()?;
        by_place.extend(rows.iter().map(|&row| words[row as usize]));
    }
    Ok(by_place)
}

/// The rows of a table, those of each key in the order of these words.
fn in_order<W: Copy + Ord>(
    table: &JoinTable,
    words: impl Fn(usize) -> W,
    cx: &Context,
) -> Result<Vec<u32>, ExecError> {
    let mut rows = Vec::with_capacity(table.rows());
    let mut keyed = Vec::new();
    table.each_stretch_of_rows(&mut |stretch| {
        keyed.clear();
        keyed.extend(stretch.map(|row| (words(row), row as u32)));
        match keyed.len() {
            0..KEY_ROWS_MANY => keyed.sort_unstable(),
            _ => sort_totally(&mut keyed, cx, |a, b| a.cmp(b))?,
        }
        rows.extend(keyed.iter().map(|(_, row)| *row));
        Ok(())
    })?;
    Ok(rows)
}
