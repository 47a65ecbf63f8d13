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

use super::join_table::JoinTable;
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::expr::{CompiledExpr, RangeWords};
use crate::held_memory::HeldMemory;
use crate::operators::fallible_sort::sort_totally;
use crate::value::{
    RangeWord, Told, around_float, around_number, around_time, comparable, number_of_word,
};
use basalt_plan::Bound;
use std::ops::{Range, RangeInclusive};

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

    fn has(self, word: u64) -> bool {
        (self.least..=self.most).contains(&word)
    }

    fn and(self, least: u64, most: u64) -> Self {
        Self {
            least: self.least.max(least),
            most: self.most.min(most),
        }
    }

    /// Those that a value may have besides, if it lies like this to one near which these are.
    fn within(self, bound: Bound, near: Near) -> Self {
        let Some((least, most)) = near.comparable else {
            return self;
        };
        let Self {
            least: first,
            most: last,
        } = near.words;
        match bound {
            Bound::AtLeast => self.and(first, most),
            Bound::Above => self.and(if near.is_told { last + 1 } else { first }, most),
            Bound::AtMost => self.and(least, last),
            Bound::Below => self.and(least, if near.is_told { first - 1 } else { last }),
            Bound::Equal => self.and(first, last),
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
pub struct RangeExprs(pub Vec<RangeExpr>);

/// An expression of the build side, and what bounds it.
pub struct RangeExpr {
    /// The build columns that it reads, and the expression over them.
    pub of: (Vec<usize>, CompiledExpr),
    /// Its bounds.
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
    fn is_equality(&self) -> bool {
        matches!(&self.bounds[..], [only] if only.bound == Bound::Equal)
    }

    /// Whether partners are those from some value on upwards, so that the greatest is the likeliest.
    fn is_open_above(&self) -> bool {
        let is_lower = |own: &RangeBound| matches!(own.bound, Bound::AtLeast | Bound::Above);
        self.bounds.iter().all(is_lower)
    }

    /// The words of all rows of a table.
    fn words_of(&self, table: &JoinTable, cx: &Context) -> Result<RangeWords, ExecError> {
        let (columns, of) = &self.of;
        let mut words = RangeWords::default();
        let step = cx.options().batch_rows.max(1);
        for start in (0..table.rows()).step_by(step) {
            cx.check()?;
            let batch = table.some_rows(columns, start..table.rows().min(start + step));
            words.append(of.range_words(&batch, self.is_equality(), cx)?);
        }
        Ok(words)
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
    /// Whether the greatest words come first.
    is_turned: bool,
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
        let partners_min = cx.options().ordered_partners_min;
        let mut pairs = 0_usize;
        table.each_stretch_of_rows(&mut |stretch| {
            pairs = pairs.saturating_add(stretch.len() * stretch.len());
            Ok(())
        })?;
        let are_few = pairs < table.rows().saturating_mul(partners_min);
        if partners_min == usize::MAX || are_few && !table.key_columns().is_empty() {
            return Ok(None);
        }
        let mut held = HeldMemory::default();
        let bytes = table.rows() * (ROW_BYTES + exprs.0.len() * WORD_BYTES);
        if !held.grow_cache_to(bytes, "HashJoin", cx) {
            return Ok(None);
        }
        let [first, others @ ..] = exprs.0.as_slice() else {
            return Ok(None);
        };
        let is_turned = first.is_open_above();
        let words = first.words_of(table, cx)?;
        let mut told = vec![words.told];
        let rows = in_order(table, &words.words, is_turned, cx)?;
        let by_place = |words: &[u64]| {
            let mut by_place = Vec::with_capacity(rows.len());
            for rows in rows.chunks(ROWS_CHECKED) {
                cx.check()?;
                by_place.extend(rows.iter().map(|&row| words[row as usize]));
            }
            Ok::<Vec<u64>, ExecError>(by_place)
        };
        let mut first = by_place(&words.words)?;
        if is_turned {
            first.iter_mut().for_each(|word| *word = turned(*word));
        }
        let second = match others {
            [] => None,
            [second, ..] => {
                let words = second.words_of(table, cx)?;
                told.push(words.told);
                Some(Blocks::of(by_place(&words.words)?))
            }
        };
        Ok(Some(Self {
            rows,
            first,
            second,
            told,
            is_turned,
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
        for (range, told) in exprs.0.iter().zip(&self.told) {
            let mut words = vec![Words::ALL; batch.rows()];
            for own in &range.bounds {
                let bounds = own.by.range_words(batch, range.is_equality(), cx)?;
                let told = both_told(*told, bounds.told);
                are_all &= told.is_all();
                if let Some(moved) = &own.moved {
                    let near = moved.near(&bounds.words, told, batch, cx)?;
                    for (words, near) in words.iter_mut().zip(near) {
                        are_all &= near.is_told;
                        *words = words.within(own.bound, near);
                    }
                    continue;
                }
                for (words, &bound_word) in words.iter_mut().zip(&bounds.words) {
                    *words = narrowed(*words, own.bound, bound_word, told);
                }
            }
            all.push(words);
        }
        let mut all = all.into_iter();
        let mut first = all.next().unwrap_or_default();
        if self.is_turned {
            first.iter_mut().for_each(|words| *words = words.turned());
        }
        Ok(Bounds {
            first,
            second: all.next(),
            are_all,
        })
    }

    /// The places of a key that are in the range of a row by its first value.
    #[inline]
    pub fn places(&self, key: Range<usize>, bounds: &Bounds, row: usize) -> Range<usize> {
        let most = bounds.first[row].most;
        let start = self.first_place(key.clone(), bounds, row);
        let words = &self.first[start..key.end];
        // Most ranges are bounded at one end.
        let len = match words.last() {
            Some(&last) if last > most => words.partition_point(|&word| word <= most),
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
        let words = &self.first[key.clone()];
        key.start
            + match words.first() {
                Some(&first) if first < least => words.partition_point(|&word| word < least),
                _ => 0,
            }
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

/// The rows of a table, those of each key in the order of these words.
fn in_order(
    table: &JoinTable,
    words: &[u64],
    is_turned: bool,
    cx: &Context,
) -> Result<Vec<u32>, ExecError> {
    let mut rows = Vec::with_capacity(table.rows());
    let mut keyed = Vec::new();
    table.each_stretch_of_rows(&mut |stretch| {
        keyed.clear();
        keyed.extend(stretch.map(|row| match is_turned {
            true => (turned(words[row]), row as u32),
            false => (words[row], row as u32),
        }));
        match keyed.len() {
            0..KEY_ROWS_MANY => keyed.sort_unstable(),
            _ => sort_totally(&mut keyed, cx, |a, b| a.cmp(b))?,
        }
        rows.extend(keyed.iter().map(|(_, row)| *row));
        Ok(())
    })?;
    Ok(rows)
}

/// What words of both sides tell of a comparison between them.
fn both_told(a: Option<Told>, b: Option<Told>) -> Told {
    match (a, b) {
        (Some(a), Some(b)) => a.and(b),
        // Without words on a side nothing is in range.
        (a, b) => a.or(b).unwrap_or(Told::Number),
    }
}

/// The words that a value may have besides, if it lies like this to one with that word.
fn narrowed(words: Words, bound: Bound, word: u64, told: Told) -> Words {
    match word {
        RangeWord::NOTHING => NO_WORDS,
        word => words.within(bound, Near::of(word, told)),
    }
}

/// The words near a value.
#[derive(Clone, Copy, Debug)]
struct Near {
    /// From the least to the most that may be equal to it.
    words: Words,
    /// Those of its kind; `None` if values of any kind may lie in any way to it.
    comparable: Option<(u64, u64)>,
    /// Whether words tell which values are equal to it.
    is_told: bool,
}

impl Near {
    const ANYTHING: Self = Self {
        words: Words::ALL,
        comparable: None,
        is_told: false,
    };

    fn of(word: u64, told: Told) -> Self {
        let words = match told {
            Told::Float => around_float(word),
            _ => word..=word,
        };
        Self::within(word, words, told.is_all())
    }

    fn within(word: u64, words: RangeInclusive<u64>, is_told: bool) -> Self {
        let (least, most) = words.into_inner();
        Self {
            words: Words { least, most },
            comparable: Some(comparable(word).into_inner()),
            is_told,
        }
    }
}

impl MovedWords {
    /// What is near the sums of moved terms, which have these words.
    fn near(
        &self,
        words: &[u64],
        told: Told,
        batch: &Batch,
        cx: &Context,
    ) -> Result<Vec<Near>, ExecError> {
        let each =
            |near: fn(u64, Told) -> Near| words.iter().map(|&word| near(word, told)).collect();
        let sizes = match self {
            Self::Times => return Ok(each(Near::of_time)),
            // Nothing is rounded.
            Self::Numbers(_) if told == Told::Number => return Ok(each(Near::of_exact)),
            Self::Numbers(sizes) => sizes.range_words(batch, false, cx)?.words,
        };
        let share = match told {
            Told::Float => FLOAT_SHARE,
            _ => DOUBLE_SHARE,
        };
        let of_size = |(&word, &size): (&u64, &u64)| match number_of_word(size) {
            Some(size) => Near::of_number(word, size * share),
            None => Near::ANYTHING,
        };
        Ok(words.iter().zip(&sizes).map(of_size).collect())
    }
}

/// What rounding takes from a sum of numbers, as a share of their sizes, at most: some dozen times half a unit of the last digit.
const DOUBLE_SHARE: f64 = 1.0 / (1_u64 << 46) as f64;
/// The same where one of them may be a float.
const FLOAT_SHARE: f64 = 1.0 / (1_u64 << 18) as f64;

impl Near {
    /// Of the sum of numbers with this word, which their words tell.
    fn of_exact(word: u64, told: Told) -> Self {
        match number_of_word(word) {
            Some(_) => Self::of(word, told),
            None => Self::ANYTHING,
        }
    }

    /// Of the sum of numbers with this word, off by so much at most.
    fn of_number(word: u64, off: f64) -> Self {
        match around_number(word, off) {
            Some(words) => Self::within(word, words, false),
            None => Self::ANYTHING,
        }
    }

    /// Of the sum of a time and a duration; a date has no time of day.
    fn of_time(word: u64, told: Told) -> Self {
        match around_time(word) {
            Some(words) => Self::within(
                word,
                words.clone(),
                told.is_all() && words.start() == words.end(),
            ),
            None => Self::ANYTHING,
        }
    }
}
