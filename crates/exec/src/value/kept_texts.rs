//! `KeptTexts`: the texts of terms that rows have again and again, by ordinal, so that each is read once.
//!
//! To find a text in the dictionary takes some hundred nanoseconds where texts follow each other in no order; what is joined of texts, as GROUP_CONCAT
//! does, mostly has each of them many times.
//!
//! Invariant: a text is that which was read of the same id. Memory: the texts, up to a mebibyte, and eight bytes for each, see
//! `Remembered`; counted as a cache of the query's; given up where texts hardly repeat.

use super::Reader;
use crate::by_ordinal::{Recalled, Remembered};
use crate::context::Context;
use crate::error::ExecError;
use crate::held_memory::HeldMemory;

/// Bytes of all texts: what a second-level cache holds.
const BYTES_MAX: usize = 1 << 20;
/// Bytes of one text; to read a longer one is most of what it takes.
const TEXT_BYTES_MAX: usize = 256;

/// Where a text is among those that are kept.
#[derive(Clone, Copy, PartialEq)]
struct Span {
    start: u32,
    bytes: u32,
}

const UNKNOWN: Span = Span {
    start: u32::MAX,
    bytes: 0,
};

/// Texts that were read before, up to some bytes.
pub struct KeptTexts {
    spans: Remembered<Span>,
    texts: String,
    held: HeldMemory,
}

impl Default for KeptTexts {
    /// None yet.
    fn default() -> Self {
        Self {
            spans: Remembered::new(UNKNOWN),
            texts: String::new(),
            held: HeldMemory::default(),
        }
    }
}

impl KeptTexts {
    /// As [`Reader::text`].
    #[inline]
    pub fn text<'t>(
        &'t mut self,
        id: u64,
        reader: &'t mut Reader<'_>,
    ) -> Result<Option<&'t str>, ExecError> {
        let cx = reader.context();
        match self.spans.recall(id, cx) {
            Recalled::Known(span) => {
                let start = span.start as usize;
                Ok(self.texts.get(start..start + span.bytes as usize))
            }
            Recalled::Unknown => {
                let text = reader.text(id)?;
                if let Some(text) = text {
                    self.keep(id, text, cx);
                }
                Ok(text)
            }
            Recalled::Never => {
                if self.spans.is_given_up() && !self.texts.is_empty() {
                    self.texts = String::new();
                    self.held.release();
                }
                reader.text(id)
            }
        }
    }

    fn keep(&mut self, id: u64, text: &str, cx: &Context) {
        let (start, end) = (self.texts.len(), self.texts.len() + text.len());
        if text.len() > TEXT_BYTES_MAX || end > BYTES_MAX {
            return;
        }
        if end > self.texts.capacity() {
            let capacity = end.next_power_of_two();
            // While they move they are there twice.
            if !self.held.grow_cache_to(capacity + start, "Expression", cx) {
                return;
            }
            self.texts.reserve_exact(capacity - start);
        }
        self.texts.push_str(text);
        let span = Span {
            start: start as u32,
            bytes: text.len() as u32,
        };
        self.spans.keep(id, span, cx);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::ExecOptions;
    use crate::value::Value;
    use basalt_store::Snapshot;

    /// Asks so often for texts of so many bytes, of which there are so many; how many were kept.
    fn ask(asked: usize, texts: usize, bytes: usize) -> usize {
        let cx = Context::new(Snapshot::empty(), ExecOptions::default(), 0);
        let text = |number: usize| format!("{number:0bytes$}");
        let ids: Vec<u64> = (0..texts)
            .map(|number| Value::String(text(number)).to_id(&cx))
            .collect();
        let (mut kept, reader) = (KeptTexts::default(), &mut Reader::new(&cx));
        for number in (0..asked).map(|number| number * 7919 % texts) {
            let read = kept.text(ids[number], reader).expect("it can be read");
            assert_eq!(read, Some(text(number).as_str()));
        }
        kept.texts.len() / bytes
    }

    #[test]
    fn each_text_is_kept_once_there_are_many_rows() {
        assert_eq!(ask(2_000, 10, 20), 0);
        assert_eq!(ask(20_000, 1_000, 20), 1_000);
        assert_eq!(ask(20_000, 1_000, TEXT_BYTES_MAX + 1), 0);
        // There is room for some.
        let some = BYTES_MAX / TEXT_BYTES_MAX;
        assert_eq!(ask(30_000, 8_000, TEXT_BYTES_MAX), some);
        // Texts that are all different are forgotten.
        assert_eq!(ask(80_000, 80_000, 8), 0);
    }
}
