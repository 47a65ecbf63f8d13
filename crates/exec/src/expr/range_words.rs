//! The words of the values of a column, in whose order comparisons are true.

use super::vector::Argument;
use super::{CompiledExpr, equality_key, evaluate};
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::value::{EqualityKey, RangeWord, Reader, ShortNumber, Told, Value};
use basalt_rdf::TermId;

/// Words of some values.
#[derive(Default)]
pub struct RangeWords {
    /// One for each value, [`RangeWord::NOTHING`] of one that no comparison is true of.
    pub words: Vec<u64>,
    /// What all words tell; `None` if there are none.
    pub told: Option<Told>,
}

impl RangeWords {
    /// Adds one more.
    fn push(&mut self, word: Option<RangeWord>) {
        let Some(RangeWord { word, told }) = word else {
            self.words.push(RangeWord::NOTHING);
            return;
        };
        self.words.push(word);
        self.told = Some(self.told.map_or(told, |all| all.and(told)));
    }

    /// Adds others behind these.
    pub fn append(&mut self, mut others: Self) {
        self.words.append(&mut others.words);
        self.told = match (self.told, others.told) {
            (Some(a), Some(b)) => Some(a.and(b)),
            (a, b) => a.or(b),
        };
    }
}

impl CompiledExpr {
    /// The word of the value in each row, for `=` or for `<` and `<=`.
    pub fn range_words(
        &self,
        batch: &Batch,
        for_equality: bool,
        cx: &Context,
    ) -> Result<RangeWords, ExecError> {
        let batch = self.numbered(batch, cx);
        let words = self.in_slices(&batch, |rows| {
            let mut reader = Reader::new(cx);
            let values = evaluate::operand(&self.root, rows, cx)?;
            let mut words = Vec::with_capacity(rows.len());
            for row in 0..rows.len() {
                let value = values.get(row);
                words.push(match for_equality {
                    true => word_of_equal(value, &mut reader)?,
                    false => word(value, &mut reader)?,
                });
            }
            Ok(words)
        })?;
        let mut all = RangeWords::default();
        words.into_iter().for_each(|word| all.push(word));
        Ok(all)
    }
}

/// The word of a value for `<` and `<=`.
fn word(value: Argument<'_>, reader: &mut Reader<'_>) -> Result<Option<RangeWord>, ExecError> {
    let known = match value {
        Argument::Error => return Ok(None),
        Argument::Number(number) => return Ok(RangeWord::of_short(number)),
        other => RangeWord::of_inline(TermId(other.known_id())),
    };
    match known {
        Some(word) => Ok(word),
        None => Ok(value
            .value(reader)?
            .as_deref()
            .and_then(RangeWord::of_value)),
    }
}

/// The word of a value for `=`: numbers as they are compared, all else by keys of what is equal.
fn word_of_equal(
    value: Argument<'_>,
    reader: &mut Reader<'_>,
) -> Result<Option<RangeWord>, ExecError> {
    let number = match value {
        Argument::Number(number) => Some(RangeWord::of_short(number)),
        other => ShortNumber::of_id(other.known_id()).map(RangeWord::of_short),
    };
    if let Some(word) = number {
        return Ok(word);
    }
    let key = match EqualityKey::of_inline(TermId(value.known_id())) {
        Some(key) => key,
        None => match value.value(reader)?.as_deref() {
            None => return Ok(None),
            Some(number @ Value::Number(_)) => return Ok(RangeWord::of_value(number)),
            Some(other) => EqualityKey::of_value(other),
        },
    };
    let key = equality_key::id(key, value, reader);
    Ok((key != 0).then(|| RangeWord::of_equality_key(key)))
}
