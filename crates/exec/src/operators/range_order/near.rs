//! The words near those of what bounds a range: within them a value may lie either way, beyond them it lies as words do.

use super::{MovedWords, NO_WORDS, Words};
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::value::{
    RangeWord, Told, around_float, around_number, around_time, comparable, is_totally_ordered,
    number_of_word,
};
use basalt_plan::Bound;
use std::ops::RangeInclusive;

impl Words {
    /// Those that a value may have besides, if it lies like this to one near which these are.
    pub(super) fn within(self, bound: Bound, near: &Near) -> Self {
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

    /// Those of which it is certain besides that their values lie like this.
    pub(super) fn certain(self, bound: Bound, near: &Near) -> Self {
        let (true, Some((least, most))) = (near.are_ordered, near.comparable) else {
            return NO_WORDS;
        };
        let Self {
            least: first,
            most: last,
        } = near.words;
        match bound {
            Bound::AtLeast => self.and(if near.is_told { first } else { last + 1 }, most),
            Bound::Above => self.and(last + 1, most),
            Bound::AtMost => self.and(least, if near.is_told { last } else { first - 1 }),
            Bound::Below => self.and(least, first - 1),
            Bound::Equal => NO_WORDS,
        }
    }
}

/// What words of both sides tell of a comparison between them.
pub(super) fn both_told(a: Option<Told>, b: Option<Told>) -> Told {
    match (a, b) {
        (Some(a), Some(b)) => a.and(b),
        // Without words on a side nothing is in range.
        (a, b) => a.or(b).unwrap_or(Told::Number),
    }
}

/// The words near a value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Near {
    /// From the least to the most that may be equal to it.
    words: Words,
    /// Those of its kind; `None` if values of any kind may lie in any way to it.
    comparable: Option<(u64, u64)>,
    /// Whether words tell which values are equal to it.
    pub(super) is_told: bool,
    /// Whether of two that are apart words tell the order.
    are_ordered: bool,
}

impl Near {
    const ANYTHING: Self = Self {
        words: Words::ALL,
        comparable: None,
        is_told: false,
        are_ordered: false,
    };
    /// Of what no comparison is true of.
    const NOTHING: Self = Self {
        words: NO_WORDS,
        comparable: Some((NO_WORDS.least, NO_WORDS.most)),
        is_told: true,
        are_ordered: false,
    };

    /// Of the value with this word.
    pub(super) fn of(word: u64, told: Told) -> Self {
        if word == RangeWord::NOTHING {
            return Self::NOTHING;
        }
        let words = match told {
            Told::Float => around_float(word),
            _ => word..=word,
        };
        Self::within(word, words, told)
    }

    fn within(word: u64, words: RangeInclusive<u64>, told: Told) -> Self {
        let (least, most) = words.into_inner();
        Self {
            words: Words { least, most },
            comparable: Some(comparable(word).into_inner()),
            is_told: told.is_all(),
            are_ordered: told.is_all() || is_totally_ordered(word),
        }
    }
}

impl MovedWords {
    /// What is near the sums of moved terms, which have these words.
    pub(super) fn near(
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
            Some(words) => Self::within(word, words, Told::Nearly),
            None => Self::ANYTHING,
        }
    }

    /// Of the sum of a time and a duration; a date has no time of day.
    fn of_time(word: u64, told: Told) -> Self {
        match around_time(word) {
            Some(words) => {
                let is_told = words.start() == words.end();
                let near = Self::within(word, words, told);
                Self {
                    is_told: near.is_told && is_told,
                    ..near
                }
            }
            None => Self::ANYTHING,
        }
    }
}
