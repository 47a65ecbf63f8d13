//! `KnownWords`: the first bytes of texts that were compared, by ordinal.
//!
//! MIN, MAX and the first rows of a sort compare each row's text with one that is kept, and sixteen bytes mostly tell. To find them in the dictionary takes
//! some hundred nanoseconds where texts follow each other in no order; columns have each of them many times.
//!
//! Invariant: a word is that which was read of the same id. Memory: 16 bytes for each text, see [`Remembered`]; given up where texts hardly repeat.

use crate::by_ordinal::{Recalled, Remembered};
use crate::context::Context;
use crate::error::ExecError;

/// What no text begins with, since UTF-8 has no byte `FF`.
const UNKNOWN: u128 = u128::MAX;
/// What is known of words; each is read once.
pub struct KnownWords(Remembered<u128>);

impl Default for KnownWords {
    /// None yet.
    fn default() -> Self {
        Self(Remembered::new(UNKNOWN))
    }
}

impl KnownWords {
    /// The word of a term, which `read` reads.
    #[inline]
    pub fn word(
        &mut self,
        id: u64,
        cx: &Context,
        read: impl FnOnce() -> Result<u128, ExecError>,
    ) -> Result<u128, ExecError> {
        match self.0.recall(id, cx) {
            Recalled::Known(word) => Ok(word),
            Recalled::Never => read(),
            Recalled::Unknown => {
                let word = read()?;
                self.0.keep(id, word, cx);
                Ok(word)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::ExecOptions;
    use basalt_rdf::TermId;
    use basalt_rdf::term_id::tag;
    use basalt_store::Snapshot;

    /// How many of so many words are read.
    fn read(asked: u64, texts: u64) -> usize {
        let cx = Context::new(Snapshot::empty(), ExecOptions::default(), 0);
        let (mut known, mut read) = (KnownWords::default(), 0);
        for number in 0..asked {
            let text = number * 7919 % texts;
            let id = TermId::new(tag::STRING, text).0;
            let word = known.word(id, &cx, || {
                read += 1;
                Ok(u128::from(text))
            });
            assert_eq!(word.expect("it is read"), u128::from(text));
        }
        read
    }

    #[test]
    fn what_repeats_is_read_once() {
        assert_eq!(read(2000, 1), 2000);
        assert_eq!(
            read(100_000, 10_000),
            Remembered::<u128>::FIRST - 1 + 10_000
        );
        assert_eq!(read(200_000, 200_000), 200_000);
    }
}
